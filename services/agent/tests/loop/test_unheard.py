"""How a write ended whose asker was lost: told once, by the run that looked for it or by the ledger's topic."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.core.state import ConversationState, SavedTurn
from agent.loop.play import play_agent_run
from agent.loop.tools import book_unseen_rows
from agent.outcomes import Outcomes
from common.clock import SystemClock
from common.consumer import Received
from common.errors import OutcomeUnknown
from common.events import ActionChanged
from common.models import ModelTurn, ToolCall, Usage

REFUND_ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
REFUND = ("issue_refund", json.dumps(REFUND_ARGS))
EMAIL = ("update_account_field", '{"field": "email", "value": "new@example.org"}')
REFUND_ROW: dict[str, Any] = {
    "key": "refund:4417028:L2",
    "kind": "refund",
    "customer_id": "C-1001",
    "conversation_id": "conv_1",
    "message_id": "msg_1",
    "order_id": "4417028",
    "line_id": "L2",
    "amount": "64.00",
    "currency": "USD",
    "status": "pending",
    "reference": None,
    "version": 1,
    "verdict": "auto",
    "policy_version": "1",
    "policy_reason": "within limits",
}
EMAIL_ROW = REFUND_ROW | {
    "key": "account_change:C-1001:email:1",
    "kind": "account_change",
    "order_id": None,
    "line_id": None,
    "amount": None,
    "currency": None,
}
WRITES = [pytest.param(REFUND, REFUND_ROW, id="refund"), pytest.param(EMAIL, EMAIL_ROW, id="account_change")]


class KilledError(Exception):
    """Stands for kill -9: nothing after it runs."""


def calls(*tools: tuple[str, str]) -> ModelTurn:
    made = tuple(ToolCall(f"toolu_{name}_{n}", name, raw) for n, (name, raw) in enumerate(tools))
    return ModelTurn("", made, "tool_use", Usage(100, 20), "fake", "fake-large")


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


def repeated(row: dict[str, Any]) -> dict[str, Any]:
    result = {f: row[f] for f in ("key", "status", "amount", "currency", "reference")}
    return {"status": row["status"], "result": {**result, "reason": None, "repeated": True}}


class Topic:
    """The ledger settles a row while it still believes that its caller listens, and says so on its topic."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())

    async def settle(self, row: dict[str, Any]) -> None:
        row |= {"status": "succeeded", "version": row["version"] + 1}
        known = {name: value for name, value in row.items() if name in ActionChanged.model_fields}
        event = ActionChanged(**known, previous_status="pending", changed_at=datetime.now(UTC), cause="settled",
                              inline=True)  # fmt: skip
        await self.outcomes.on_action_changed([Received(event, "ev_1", event.key, event.changed_at, {})])

    async def shown(self) -> list[tuple[bool, str]]:
        """Return the ``action`` events that left: whether on the agent's own account, and the status."""
        rows = await self.bench.pool.fetch("select payload from outbox where topic = 'support.replies.v1' order by id")
        events = [json.loads(row["payload"]) for row in rows]
        return [(e.get("proactive", False), e["data"]["status"]) for e in events if e["event"] == "action"]


@pytest.mark.parametrize(("write", "ledgers"), WRITES)
@pytest.mark.parametrize("is_remembered", [False, True])
async def test_what_is_still_under_way_when_its_asker_is_lost_is_told_when_it_ends(
    make_bench: Any, make_work: Any, write: tuple[str, str], ledgers: dict[str, Any], is_remembered: bool
) -> None:
    row = dict(ledgers)
    bench = make_bench(calls(write), says("Which item arrived broken?"))
    bench.tools.answers[write[0]] = [repeated(row)]
    bench.tools.ledger[row["key"]] = row
    noted: list[int] = []

    async def look(_conversation_id: str) -> list[Any]:
        noted.append(
            await bench.pool.fetchval("select jsonb_array_length(run_state #> '{memory,unheard}') from conversations")
        )
        return [row]

    await bench.arrive(make_work())
    run = await bench.claim()
    if is_remembered:
        run.state.memory.actions[row["key"]] = dict(row)
    bench.tools.list_actions = look
    await play_agent_run(bench.parts, run)
    # Saved before the look, so that one of the two hears how it ended.
    assert noted[-1] == 1
    topic = Topic(bench)
    await topic.settle(row)
    assert (True, "succeeded") in await topic.shown()


async def test_a_row_under_way_that_a_dead_worker_asked_for_is_told_after_the_handoff(
    make_bench: Any, make_work: Any
) -> None:
    row = dict(REFUND_ROW)
    bench = make_bench(calls(REFUND))
    bench.tools.ledger[row["key"]] = row
    await bench.arrive(make_work())
    run = await bench.claim()
    run.attempts = 2
    progress = run.state.run_for(run.message_id)
    call = {"id": "toolu_1", "name": "issue_refund", "input": REFUND_ARGS}
    progress.started_at = datetime.now(UTC).isoformat()
    progress.turn = SavedTurn(text="", calls=[call], stop_reason="tool_use")
    await book_unseen_rows(bench.parts, run)
    saved = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    assert [fact["line_id"] for fact in saved.memory.unheard] == ["L2"]
    topic = Topic(bench)
    await topic.settle(row)
    assert await topic.shown() == [(True, "succeeded")]


@pytest.mark.parametrize("is_lost", [True, False])
async def test_what_the_topic_has_told_is_not_shown_again_by_the_look_for_it(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown, is_lost: bool
) -> None:
    row = dict(REFUND_ROW)
    bench = make_bench(calls(REFUND), says("Which item arrived broken?"))
    bench.tools.answers["issue_refund"] = [unknown_outcome if is_lost else repeated(row)]
    topic, settled = Topic(bench), False

    async def look(_conversation_id: str) -> list[Any]:
        nonlocal settled
        if not settled:
            settled = True
            await topic.settle(row)
        return [row]

    bench.tools.list_actions = look
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim())
    assert settled
    assert await topic.shown() == [(True, "succeeded")]
    state = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    assert state.memory.actions[row["key"]]["status"] == "succeeded"


async def test_a_repeated_call_of_the_next_worker_shows_nothing_that_the_topic_has_told(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    """The first worker died with its look, then the row was settled."""
    row = dict(REFUND_ROW)
    bench = make_bench(calls(REFUND), says("Which item arrived broken?"))
    bench.tools.answers["issue_refund"] = [unknown_outcome]
    topic = Topic(bench)

    async def die(_conversation_id: str) -> list[Any]:
        raise KilledError

    live, bench.tools.list_actions = bench.tools.list_actions, die
    await bench.arrive(make_work())
    with pytest.raises(KilledError):
        await play_agent_run(bench.parts, await bench.claim(ttl_s=0.0))
    bench.tools.list_actions, bench.tools.ledger[row["key"]] = live, row
    await topic.settle(row)
    await play_agent_run(bench.parts, await bench.claim())
    assert len(bench.tools.calls) == 2
    assert await topic.shown() == [(True, "succeeded")]


async def test_a_handoff_does_not_say_again_what_the_topic_has_told(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    row = dict(REFUND_ROW)
    bench = make_bench(calls(REFUND, ("hand_to_person", '{"reason": "asked"}')))
    bench.tools.answers["issue_refund"] = [unknown_outcome]
    topic = Topic(bench)

    async def look(_conversation_id: str) -> list[Any]:
        if row["status"] == "pending":
            await topic.settle(row)
        return [row]

    bench.tools.list_actions = look
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim())
    done = await bench.done()
    assert done["handoff"]
    assert "64.00" not in done["reply"]
    packet = await bench.pool.fetchval("select packet from handoffs")
    assert packet["actions"][0]["status"] == "succeeded"
