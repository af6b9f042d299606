"""What counts towards a handoff, message by message: failures in a row, turns, attempts, and when each starts anew."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.core.endings import begin_anew, close_turn, made_progress
from agent.core.facts import remember_answer
from agent.core.handoff import decide_handoff
from agent.core.situation import situation_of
from agent.core.state import Memory, RunProgress
from common.events import CustomerMessage, WorkItem

NOW = datetime(2026, 11, 29, tzinfo=UTC)
ENTERPRISE = {"tier": "enterprise"}


def work(text: str = "My blender is broken", **over: Any) -> WorkItem:
    message = CustomerMessage(conversation_id="c", message_id="m", seq=1, text=text, channel="chat", received_at=NOW)
    return WorkItem(
        message=message, **{"route": "agent", "intent": "refund", "confidence": 0.95, "language": "en"} | over
    )


def refund(status: str, key: str = "refund:4417028:L1") -> tuple[str, dict[str, Any], dict[str, Any]]:
    row = status in ("pending", "awaiting_approval", "succeeded", "rejected", "failed")
    result = {"key": key if row else None, "status": status if row else None}
    return "issue_refund", {"order_id": "4417028", "line_id": "L1"}, {"status": status, "result": result}


READ = ("get_order", {"order_id": "4417028"}, {"status": "ok", "result": {"order_id": "4417028"}})
MISSING = ("get_order", {"order_id": "1"}, {"status": "not_found", "result": {}})


def talk(memory: Memory, *answers: Any, elapsed_s: float = 5.0, **over: Any) -> RunProgress:
    """One message in which the tools answered so; books its end."""
    run = RunProgress(message_id="m")
    for answer in answers:
        remember_answer(*answer, memory, run)
    close_turn(work(**over), memory, run, elapsed_s=elapsed_s)
    return run


def due(memory: Memory, run: RunProgress | None = None, elapsed_s: float = 0.0, **over: Any) -> str | None:
    found = decide_handoff(situation_of(work(**over), memory, run or RunProgress(message_id="n"), elapsed_s=elapsed_s))
    return found.reason if found else None


@pytest.mark.parametrize(
    ("messages", "failed"),
    [
        ([[MISSING]], 1),
        ([[MISSING], [MISSING]], 2),
        ([[MISSING], [READ], [MISSING]], 1),
        ([[MISSING, READ]], 0),
        ([[READ, MISSING]], 1),
        ([[READ, MISSING], [MISSING]], 2),
        ([[MISSING], []], 1),
        ([[refund("denied")], [refund("denied")]], 0),
    ],
)
def test_failed_calls_count_in_a_row_across_messages(messages: list[Any], failed: int) -> None:
    memory = Memory()
    for answers in messages:
        talk(memory, *answers)
    assert memory.failed_calls == failed
    assert due(memory) == ("stuck" if failed >= 2 else None)


@pytest.mark.parametrize(
    ("answers", "attempts"),
    [
        ([refund("denied")], 1),
        ([refund("denied"), refund("invalid")], 2),
        ([refund("denied"), refund("succeeded")], 0),
        ([refund("denied"), refund("awaiting_approval")], 0),
        ([refund("denied"), refund("succeeded"), refund("denied")], 1),
        ([refund("rejected")], 1),
        ([READ], 0),
    ],
)
def test_an_enterprise_customers_attempts_count_since_the_last_thing_that_went_through(
    answers: list[Any], attempts: int
) -> None:
    memory, run = Memory(customer=ENTERPRISE), RunProgress(message_id="m")
    for answer in answers:
        remember_answer(*answer, memory, run)
    assert memory.attempts == attempts


def test_a_write_that_waits_for_a_code_is_no_failed_attempt() -> None:
    args = {"field": "email", "value": "new@example.org"}
    memory, run = Memory(customer=ENTERPRISE), RunProgress(message_id="m")
    memory.held_call = {"name": "update_account_field", "args": args, "for": "code"}
    denied = {"status": "denied", "result": {"reason": "a one-time code was sent; ask the customer for it"}}
    remember_answer("update_account_field", args, denied, memory, run)
    assert memory.attempts == 0
    remember_answer("update_account_field", args | {"value": "other"}, denied, memory, run)
    assert memory.attempts == 1


def test_an_enterprise_customer_gets_a_person_before_a_third_attempt_and_others_do_not() -> None:
    for customer, reason in ((ENTERPRISE, "stuck"), ({"tier": "standard"}, None)):
        memory = Memory(customer=customer)
        talk(memory, refund("denied"))
        assert due(memory) is None
        talk(memory, refund("denied"))
        assert due(memory) == reason


def test_a_definite_refusal_of_the_provider_fetches_a_person_in_the_same_turn() -> None:
    memory, run = Memory(), RunProgress(message_id="m")
    remember_answer(*refund("failed"), memory, run)
    assert due(memory, run) == "policy"


@pytest.mark.parametrize(("turns", "reason"), [(7, None), (8, "long"), (9, "long")])
def test_the_message_after_eight_unresolved_turns_goes_to_a_person(turns: int, reason: str | None) -> None:
    memory = Memory()
    for _ in range(turns):
        talk(memory, intent="other")
    assert due(memory, intent="other") == reason


@pytest.mark.parametrize(
    ("earlier_s", "now_s", "reason"),
    [(590.0, 9.0, None), (590.0, 10.0, None), (590.0, 10.1, "long"), (0.0, 601, "long")],
)
def test_seconds_add_up_over_messages(earlier_s: float, now_s: float, reason: str | None) -> None:
    memory = Memory()
    talk(memory, elapsed_s=earlier_s, intent="other")
    assert due(memory, elapsed_s=now_s, intent="other") == reason


def test_a_resolution_sets_turns_and_seconds_back_and_in_its_own_message_nothing_is_long() -> None:
    memory, run = Memory(turns=8, agent_seconds=700.0), RunProgress(message_id="m")
    assert due(memory) == "long"
    remember_answer(*refund("succeeded"), memory, run)
    assert due(memory, run, elapsed_s=30.0) is None
    close_turn(work(), memory, run, elapsed_s=30.0)
    assert (memory.turns, memory.agent_seconds) == (0, 0.0)


def test_three_turns_that_got_nothing_done_are_stuck_and_small_talk_is_not() -> None:
    memory = Memory()
    for _ in range(3):
        talk(memory)
    assert due(memory) == "stuck"
    talk(memory, intent="other")
    assert due(memory) is None


LABEL = ("create_return_label", {"order_id": "4417028"}, {"status": "denied", "result": {"reason": "outside_window"}})


@pytest.mark.parametrize(
    ("answers", "intent", "further"),
    [
        # a deed, or news of one
        ([refund("succeeded")], "refund", True),
        ([refund("awaiting_approval")], "refund", True),
        # a read is progress on the way to a deed …
        ([READ], "refund", True),
        ([MISSING], "refund", False),
        ([], "refund", False),
        ([], "policy_question", True),
        # … but not when the deed came to nothing, before or after, whatever the wish was taken for
        ([READ, refund("denied")], "refund", False),
        ([refund("denied"), READ], "refund", False),
        ([READ, refund("invalid")], "refund", False),
        ([READ, refund("not_found")], "refund", False),
        ([READ, refund("denied")], "other", False),
        ([READ, refund("denied"), LABEL], "refund", False),
        # what was denied and then done another way, or done before the next was denied, got somewhere
        ([READ, refund("denied"), refund("succeeded")], "refund", True),
        ([READ, refund("succeeded"), LABEL], "refund", True),
    ],
)
def test_a_turn_makes_progress_by_a_deed_or_by_what_leads_to_one(
    answers: list[Any], intent: str, further: bool
) -> None:
    memory, run = Memory(), RunProgress(message_id="m")
    for answer in answers:
        remember_answer(*answer, memory, run)
    assert made_progress(intent, run) is further


def test_a_deed_done_before_which_is_told_again_is_no_turn_without_progress() -> None:
    memory = Memory()
    talk(memory, refund("succeeded"))
    assert made_progress("refund", talk(memory, READ, refund("succeeded")))


def test_a_write_that_waits_for_its_code_takes_nothing_from_the_turns_progress() -> None:
    args = {"field": "email", "value": "new@example.org"}
    memory, run = (
        Memory(held_call={"name": "update_account_field", "args": args, "for": "code"}),
        RunProgress(message_id="m"),
    )
    remember_answer(*READ, memory, run)
    remember_answer("update_account_field", args, {"status": "denied", "result": {"reason": "a code"}}, memory, run)
    assert made_progress("account_update", run)


def test_three_turns_that_read_the_order_and_are_denied_the_refund_are_stuck() -> None:
    memory = Memory()
    for reason in (None, None, "stuck"):
        talk(memory, READ, refund("denied"))
        assert due(memory) == reason


def test_who_comes_back_from_a_person_starts_anew() -> None:
    memory = Memory(turns=12, agent_seconds=900.0, failed_calls=2, idle_turns=3, attempts=4, customer=ENTERPRISE)
    assert due(memory) is not None
    begin_anew(memory)
    assert due(memory) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I will sue you, my lawyer will write to you", "en"),
        ("Voy a demandarlos, mi abogado les escribirá", "es"),
        ("Je vais porter plainte, mon avocat vous écrira", "fr"),
        ("Ich werde Sie verklagen, mein Anwalt meldet sich", "de"),
        ("Someone hacked my account and ordered things", "en"),
        ("Han hackeado mi cuenta", "es"),
        ("Mon compte a été piraté", "fr"),
        ("Mein Konto wurde gehackt", "de"),
        ("The kettle caught fire and I was burned", "en"),
        ("El hervidor se incendió y me quemé", "es"),
        ("La bouilloire a pris feu et je me suis brûlé", "fr"),
        ("Der Wasserkocher hat Feuer gefangen und ich habe mich verbrannt", "de"),
    ],
)
def test_sensitive_words_count_whatever_the_router_made_of_them(text: str, language: str) -> None:
    assert due(Memory(), text=text, language=language, intent="other") == "sensitive"


@pytest.mark.parametrize(
    "text", ["I want to talk to a human", "Quiero hablar con una persona", "Je veux parler à un conseiller",
             "Ich möchte mit einem Menschen sprechen"],
)  # fmt: skip
def test_asking_for_a_person_counts_before_everything_else(text: str) -> None:
    assert due(Memory(turns=20), text=f"{text}, or my lawyer will write", sentiment=-1.0, intent="other") == "asked"
