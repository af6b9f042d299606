"""Words and packets speak of the ledger as it is now: rows move behind the agent's back, and the ledger may be away."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.ledger import Ledger
from agent.core.claims.wordings import OFFER, UNREAD
from agent.core.state import ConversationState
from agent.fixed import FixedFlow
from agent.loop.play import play_agent_run
from agent.outcomes import Outcomes
from agent.owner_api import OwnerChange, _set_owner
from agent.rag import PolicyAnswers
from common.clock import SystemClock
from common.consumer import Received
from common.events import ActionChanged
from common.ids import OrderIds
from common.models import ModelsDown, ModelTurn, ToolCall, Usage

KEY = "refund:4417028:L2"
ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
DONE = "I have refunded 64.00 USD for the blender of order 4417028."
WENT_THROUGH = "Yes, the refund of 64.00 USD for order 4417028 has been completed."
NOTHING = "Nothing has been refunded for order 4417028."
ASKED = {"message_id": "msg_2", "seq": 2, "intent": "other"}


def refund(status: str = "succeeded", key: str = KEY, **over: Any) -> dict[str, Any]:
    row = {"key": key, "kind": "refund", "status": status, "order_id": "4417028", "line_id": "L2"}
    return row | {"amount": "64.00", "currency": "USD", "reference": "re_1"} | over


def asks_refund() -> ModelTurn:
    return ModelTurn("", (ToolCall("toolu_1", "issue_refund", json.dumps(ARGS)),), "tool_use", Usage(9, 9), "f", "m")


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(9, 9), "fake", "fake-large")


async def play(bench: Any, work: Any) -> str:
    await bench.arrive(work)
    await play_agent_run(bench.parts, await bench.claim())
    done = await bench.done(work.message.message_id)
    return str(done["reply"])


async def packet(bench: Any) -> dict[str, Any]:
    found: dict[str, Any] = await bench.pool.fetchval("select packet from handoffs order by opened_at desc limit 1")
    return found


async def remember(bench: Any, make_work: Any, row: dict[str, Any]) -> None:
    """An earlier message left the row in the conversation's memory."""
    await bench.arrive(make_work())
    await bench.pool.execute("update runs set status = 'done'")
    state = ConversationState()
    state.memory.actions[row["key"]] = row
    await bench.pool.execute("update conversations set run_state = $1", state.model_dump(mode="json"))


async def test_a_refund_that_staff_made_meanwhile_may_be_told(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(says(WENT_THROUGH))
    await bench.arrive(make_work("Was my blender refunded?", intent="other"))
    bench.tools.ledger[KEY] = refund()
    await play_agent_run(bench.parts, await bench.claim())
    assert (await bench.done())["reply"] == WENT_THROUGH


@pytest.mark.parametrize("words", [NOTHING, "Your refund was never made.", "No refund was issued so far."])
async def test_a_refund_that_staff_made_meanwhile_is_not_denied(make_bench: Any, make_work: Any, words: str) -> None:
    bench = make_bench(says(words), says(words))
    bench.tools.ledger[KEY] = refund()
    reply = await play(bench, make_work("Was my blender refunded?", intent="other"))
    assert "64.00 USD for order 4417028 (reference re_1) has been completed" in reply


async def test_a_refund_that_the_bank_returned_is_not_told_as_done(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(asks_refund(), says(DONE), says(WENT_THROUGH), says(WENT_THROUGH))
    await play(bench, make_work())
    bench.tools.ledger[KEY]["status"] = "failed"
    reply = await play(bench, make_work("Did my refund go through?", **ASKED))
    assert "has failed" in reply
    assert "completed" not in reply


@pytest.mark.parametrize(("after", "status"), [("succeeded", "active"), ("awaiting_approval", "waiting_approval")])
async def test_what_is_decided_while_the_model_speaks_of_something_else_waits_no_longer(
    make_bench: Any, make_work: Any, after: str, status: str
) -> None:
    bench = make_bench(says("You are welcome."))
    waiting = refund("awaiting_approval", version=1)
    await remember(bench, make_work, waiting)
    bench.tools.ledger[KEY] = waiting
    real = bench.models.ask

    async def ask(*args: Any, **more: Any) -> Any:
        bench.tools.ledger[KEY] = refund(after, version=2)
        return await real(*args, **more)

    bench.models.ask = ask
    assert await play(bench, make_work("Thank you!", **ASKED)) == "You are welcome."
    assert await bench.pool.fetchval("select status from conversations") == status


@pytest.mark.parametrize("after", ["succeeded", "failed"])
async def test_what_settles_while_the_model_hangs_is_told_and_packed_as_settled(
    make_bench: Any, make_work: Any, after: str
) -> None:
    bench = make_bench(asks_refund(), ModelsDown("both down"))
    bench.tools.status = "pending"
    real = bench.models.ask

    async def ask(*args: Any, **more: Any) -> Any:
        if bench.models.requests:
            bench.tools.ledger[KEY]["status"] = after
        return await real(*args, **more)

    bench.models.ask = ask
    reply = await play(bench, make_work())
    assert ("has been completed" if after == "succeeded" else "has failed") in reply
    assert "processed" not in reply
    packed = await packet(bench)
    assert [row["status"] for row in packed["actions"]] == [after]
    assert not packed["next_step"].startswith("Wait")
    assert packed["reason"]["rows_current"] is True


@pytest.mark.parametrize("remembered", ["succeeded", "pending", "awaiting_approval", "failed"])
@pytest.mark.parametrize(
    "words",
    [
        WENT_THROUGH,
        NOTHING,
        "Your refund is still being processed.",
        "Your refund of 64.00 USD is waiting for approval.",
        "Your refund has failed.",
    ],
)
async def test_with_the_ledger_away_nothing_remembered_is_told_or_denied(
    make_bench: Any, make_work: Any, remembered: str, words: str
) -> None:
    bench = make_bench(says(words))
    await remember(bench, make_work, refund(remembered))
    bench.tools.ledger_down = True
    reply = await play(bench, make_work("What about my refund?", **ASKED))
    assert reply == f"{UNREAD['en']} {OFFER['en']}"


async def test_with_the_ledger_away_what_was_done_in_this_very_message_is_told(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(asks_refund(), says(DONE))
    bench.tools.ledger_down = True
    assert await play(bench, make_work()) == DONE


async def test_with_ledger_and_models_away_an_open_row_is_not_spoken_of_and_the_packet_says_it_may_be_old(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(asks_refund(), ModelsDown("both down"))
    bench.tools.status, bench.tools.ledger_down = "pending", True
    reply = await play(bench, make_work())
    assert reply.startswith("I can't answer this myself just now.")
    packed = await packet(bench)
    assert packed["next_step"].startswith("Look at the ledger first")
    assert packed["reason"]["rows_current"] is False


async def test_with_the_ledger_away_harmless_words_still_leave(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(says("Which item arrived broken?"))
    bench.tools.ledger_down = True
    assert await play(bench, make_work()) == "Which item arrived broken?"


async def test_a_ledger_that_never_answers_holds_up_a_handoff_only_briefly(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(ModelsDown("both down"))

    async def hang(_conversation_id: str) -> Any:
        await asyncio.Event().wait()

    bench.tools.list_actions = hang
    async with asyncio.timeout(10):
        assert "colleague" in await play(bench, make_work())


@pytest.mark.parametrize(
    ("turns", "reads"), [([says("Which item arrived broken?")], 0), ([asks_refund(), says(DONE)], 1)]
)
async def test_only_a_turn_that_speaks_of_a_deed_reads_the_ledger_and_once(
    make_bench: Any, make_work: Any, turns: list[ModelTurn], reads: int
) -> None:
    bench = make_bench(*turns)
    await play(bench, make_work())
    assert bench.tools.listed == reads


def flow_of(bench: Any) -> FixedFlow:
    class Silent:
        async def start_event(self, *_args: Any, **_more: Any) -> Any:
            sent = asyncio.get_running_loop().create_future()
            sent.set_result(None)
            return sent

    silent: Any = Silent()
    p, ids, clock = bench.parts, OrderIds(), SystemClock()
    return FixedFlow(bench.pool, p.runs, p.tools, p.ledger, p.sessions, p.customers, silent, ids, clock)


def received(event: Any, event_id: str = "ev_2") -> Received[Any]:
    return Received(event, event_id, "conv_1", datetime.now(UTC), {})


def asking(make_work: Any) -> Any:
    return make_work("I want a human", message_id="msg_2", seq=2, route="human", intent="asks_for_human")


async def ask_on_the_spot(bench: Any, make_work: Any) -> None:
    await flow_of(bench).on_work([received(asking(make_work))])


async def ask_behind_an_open_message(bench: Any, make_work: Any) -> None:
    await bench.arrive(asking(make_work))
    await flow_of(bench).play(await bench.claim(routes=("human",)))


async def be_upset_on_rag(bench: Any, make_work: Any) -> None:
    nothing: Any = None
    p = bench.parts
    answers = PolicyAnswers(
        bench.pool, p.runs, p.customers, p.ledger, nothing, nothing, p.tokens, nothing, nothing, SystemClock(), "s"
    )
    await bench.arrive(make_work(message_id="msg_2", seq=2, route="rag", sentiment=-0.9))
    await answers.play(await bench.claim(routes=("rag",)))


async def be_upset_in_the_loop(bench: Any, make_work: Any) -> None:
    await bench.arrive(make_work(message_id="msg_2", seq=2, sentiment=-0.9))
    await play_agent_run(bench.parts, await bench.claim())


async def be_taken_over(bench: Any, _make_work: Any) -> None:
    rows = await bench.parts.ledger.load_rows_of(bench.pool, "conv_1")
    await _set_owner(bench.pool, "conv_1", OwnerChange(action="takeover", staff="dana"), SystemClock(), rows)


async def have_another_row_fail(bench: Any, _make_work: Any) -> None:
    change = ActionChanged(
        key="refund:4417028:L3", version=3, kind="refund", customer_id="C-1001", conversation_id="conv_1",
        order_id="4417028", line_id="L3", amount="12.00", currency="USD", status="failed", verdict="auto",
        policy_version="1", policy_reason="r", changed_at=datetime.now(UTC), cause="refused",
    )  # fmt: skip
    bench.tools.ledger.setdefault(change.key, refund("failed", change.key, line_id="L3", amount="12.00"))
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(change)])


WAYS = [
    ask_on_the_spot,
    ask_behind_an_open_message,
    be_upset_on_rag,
    be_upset_in_the_loop,
    be_taken_over,
    have_another_row_fail,
]


@pytest.mark.parametrize("way", WAYS)
async def test_every_packet_shows_the_rows_as_the_ledger_has_them(make_bench: Any, make_work: Any, way: Any) -> None:
    bench = make_bench()
    await remember(bench, make_work, refund("pending"))
    bench.tools.ledger = {KEY: refund(), "cancel:4417029": refund("awaiting_approval", "cancel:4417029", kind="cancel")}
    await way(bench, make_work)
    packed = await packet(bench)
    seen = {row["key"]: row["status"] for row in packed["actions"]}
    assert (seen[KEY], seen["cancel:4417029"]) == ("succeeded", "awaiting_approval")
    assert packed["reason"]["rows_current"] is True
    assert not packed["next_step"].startswith(("Wait", "Look at the ledger"))


@pytest.mark.parametrize("way", WAYS)
async def test_a_packet_made_without_the_ledger_says_that_its_rows_may_be_old(
    make_bench: Any, make_work: Any, way: Any
) -> None:
    bench = make_bench()
    await remember(bench, make_work, refund("pending"))
    bench.tools.ledger_down = True
    await way(bench, make_work)
    packed = await packet(bench)
    assert packed["reason"]["rows_current"] is False
    assert packed["next_step"].startswith("Look at the ledger first")


async def test_an_outcome_is_remembered_for_the_next_message(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await remember(bench, make_work, refund("pending"))
    settled = ActionChanged(
        key=KEY, version=3, kind="refund", customer_id="C-1001", conversation_id="conv_1", order_id="4417028",
        line_id="L2", amount="64.00", currency="USD", status="succeeded", verdict="auto", policy_version="1",
        policy_reason="r", changed_at=datetime.now(UTC), cause="settled",
    )  # fmt: skip
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(settled)])
    state = await bench.pool.fetchval("select run_state from conversations")
    assert state["memory"]["actions"][KEY]["status"] == "succeeded"


async def test_a_row_of_another_conversation_is_asked_for_by_its_key(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(says(WENT_THROUGH), says(WENT_THROUGH))
    await remember(bench, make_work, refund())
    asked: list[str] = []

    async def no_rows_of_its_own(_conversation_id: str) -> list[Any]:
        return []

    async def load_action(key: str) -> dict[str, Any]:
        asked.append(key)
        return refund("failed")

    bench.tools.list_actions, bench.tools.load_action = no_rows_of_its_own, load_action
    reply = await play(bench, make_work("Did my refund go through?", **ASKED))
    assert set(asked) == {KEY}
    assert "has failed" in reply


async def test_a_remembered_row_that_the_ledger_does_not_have_is_forgotten(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(says(WENT_THROUGH), says(WENT_THROUGH))
    await remember(bench, make_work, refund())
    reply = await play(bench, make_work("Did my refund go through?", **ASKED))
    assert "completed" not in reply


async def test_a_read_serves_until_somebody_was_waited_for(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run, ledger = await bench.claim(), Ledger(bench.parts.tools, SystemClock())
    assert await ledger.refresh(run)
    assert await ledger.refresh(run)
    assert bench.tools.listed == 1
    run.rows_read_at = None
    assert await ledger.refresh(run)
    assert bench.tools.listed == 2
