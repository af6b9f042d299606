"""What stays of a message that a person took while it was in work, and what the people are shown of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.core.endings import begin_over, belongs_to_people
from agent.core.packet import Case, build_packet, with_rows
from agent.core.prompt import conversation_messages, said_since
from agent.core.replies import Address, cut_short
from agent.core.state import Memory, RunProgress, SavedTurn
from agent.core.steps import may_have_written
from common.events import CustomerMessage, WorkItem

Json = dict[str, Any]
ADDRESS = Address("conv_1", "msg_1", "chat", None, "C-1001", 3)


def row(line: str, status: str = "succeeded") -> Json:
    key = f"refund:4417028:{line}"
    return {"key": key, "kind": "refund", "status": status, "order_id": "4417028", "line_id": line, "amount": "64.00"}


@pytest.mark.parametrize(
    ("owner", "status", "theirs"),
    [
        ("people", "with_person", True),
        ("dana", "with_person", True),
        ("agent", "closed", True),
        ("agent", "active", False),
        ("agent", "waiting_approval", False),
    ],
)
def test_a_message_is_the_peoples_while_they_have_it_or_closed_it(owner: str, status: str, *, theirs: bool) -> None:
    assert belongs_to_people(owner, status) is theirs


def test_a_message_begun_over_keeps_what_the_customer_got_and_what_was_done_and_no_intention() -> None:
    run = RunProgress(
        message_id="msg_1", owner_version=1, started_at="2026-11-30T09:00:00+00:00", rounds=[{"role": "user"}],
        guard="clean", turn=SavedTurn(text="", calls=[{"id": "a"}], stop_reason="tool_use"), results={"a": {}},
        model_calls=7, seen_calls={"x": 2}, failed_calls=2, broken_turns=2, mended=True, next_seq=4,
        said=["One moment."], said_in_rounds=1, citations=[{"article_id": "a1"}], hand_reason="stuck",
        limit_hit="time", moved_rows=1, moved_keys=["refund:4417028:L2"], untold=[row("L2")],
    )  # fmt: skip
    assert begin_over(run) == RunProgress(
        message_id="msg_1", next_seq=5, said=["One moment."], citations=[{"article_id": "a1"}],
        moved_rows=1, moved_keys=["refund:4417028:L2"],
    )  # fmt: skip


def test_a_message_cut_short_shows_each_change_once_and_says_nothing_new() -> None:
    events = cut_short(ADDRESS, 3, [row("L1"), row("L2")], ["One moment."])
    assert [(e.seq, e.event, e.owner_version) for e in events] == [(3, "action", 3), (4, "action", 3), (5, "done", 3)]
    assert [e.data["key"] for e in events[:2]] == ["refund:4417028:L1", "refund:4417028:L2"]
    assert (events[2].data["route"], events[2].data["handoff"], events[2].data["reply"]) == (
        "human",
        True,
        "One moment.",
    )
    assert [(e.seq, e.data["reply"]) for e in cut_short(ADDRESS, 2, [], [])] == [(2, "")]


@pytest.mark.parametrize(
    ("calls", "results", "stop", "may"),
    [
        ([("a", "issue_refund")], [], "tool_use", True),
        ([("a", "issue_refund")], ["a"], "tool_use", False),
        ([("a", "get_order"), ("b", "cancel_order")], ["a"], "tool_use", True),
        ([("a", "get_order")], [], "tool_use", False),
        ([("a", "issue_refund")], [], "max_tokens", False),
        (None, [], "tool_use", False),
    ],
)
def test_only_a_write_of_a_whole_turn_without_its_result_may_have_run(
    calls: list[tuple[str, str]] | None, results: list[str], stop: str, *, may: bool
) -> None:
    made = [{"id": call_id, "name": name} for call_id, name in calls or []]
    turn = None if calls is None else SavedTurn(text="", calls=made, stop_reason=stop)
    run = RunProgress(message_id="msg_1", turn=turn, results={call_id: {} for call_id in results})
    assert may_have_written(run) is may


def test_a_packet_takes_in_rows_that_moved_after_it_was_opened_and_says_what_follows() -> None:
    case = Case("asked", "dana stepped in", "en", "other", "C-1001", rows_current=True)
    before = build_packet(case, Memory(actions={"refund:4417028:L1": row("L1", "pending")}), [])
    after = with_rows(before, [row("L1"), row("L2", "awaiting_approval")])
    assert [(a["key"], a["status"]) for a in after["actions"]] == [
        ("refund:4417028:L1", "succeeded"), ("refund:4417028:L2", "awaiting_approval"),
    ]  # fmt: skip
    assert [a["key"] for a in after["pending_approvals"]] == ["refund:4417028:L2"]
    assert before["next_step"].startswith("Wait for refund:4417028:L1")
    assert after["next_step"] == "Decide refund:4417028:L2: it waits for approval."
    changed = {"actions", "pending_approvals", "next_step"}
    assert {k: v for k, v in after.items() if k not in changed} == {k: v for k, v in before.items() if k not in changed}


@pytest.mark.parametrize("status", ["pending", "awaiting_approval"])
def test_a_packet_never_opens_a_row_again_that_it_shows_as_settled(status: str) -> None:
    case = Case("asked", "dana stepped in", "en", "other", "C-1001", rows_current=True)
    before = build_packet(case, Memory(actions={"refund:4417028:L1": row("L1")}), [])
    assert with_rows(before, [row("L1", status)]) == before


def test_a_packet_names_a_write_that_was_lost_after_it_was_opened_until_a_row_of_it_turns_up() -> None:
    case = Case("asked", "dana stepped in", "en", "other", "C-1001", rows_current=True)
    before = build_packet(case, Memory(), [])
    lost = [{"kind": "refund", "order_id": "4417028", "line_id": "L2", "besides": []}]
    assert with_rows(before, [], lost)["next_step"].startswith("Look in the ledger for refund:4417028:L2")
    found = with_rows(before, [row("L2", "pending")], lost)
    assert found["next_step"].startswith("Wait for refund:4417028:L2")


def entry(message_id: str, sender: str, text: str) -> Json:
    return {"message_id": message_id, "sender": sender, "text": text}


def test_what_a_colleague_wrote_after_the_message_stands_behind_it_in_the_models_view() -> None:
    transcript = [
        entry("msg_0", "customer", "Hello"), entry("msg_s0", "staff", "Hi, Dana here."),
        entry("msg_1", "customer", "My blender broke"), entry("msg_s1", "staff", "A new one is on its way."),
        entry("msg_2", "customer", "Thanks"),
    ]  # fmt: skip
    since = said_since("msg_1", transcript)
    assert [e["message_id"] for e in since] == ["msg_s1"]
    assert said_since("msg_9", transcript) == []
    message = CustomerMessage(
        conversation_id="conv_1", message_id="msg_1", seq=2, text="My blender broke", channel="chat",
        visitor=True, received_at=datetime(2026, 11, 30, tzinfo=UTC),
    )  # fmt: skip
    work = WorkItem(message=message, route="agent", intent="refund", confidence=0.9, language="en")
    turns = conversation_messages(work, transcript[:2], [e["text"] for e in since])
    assert [(turn["role"], turn["content"][0]["text"][:24]) for turn in turns[:-1]] == [
        ("user", "Hello"), ("assistant", "Hi, Dana here."), ("user", "My blender broke"),
        ("assistant", "A new one is on its way."),
    ]  # fmt: skip
    assert turns[-1]["role"] == "user"
    assert conversation_messages(work, transcript[:2]) == turns[:3]
