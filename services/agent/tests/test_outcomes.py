"""Ledger changes nobody told the customer yet: one message each, in their language, and a person when it went wrong."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.store import save_state, save_waiting
from agent.core.state import ConversationState, Memory
from agent.outcomes import Outcomes
from common.clock import SystemClock
from common.consumer import Received
from common.events import ActionChanged, ReplyEvent

KEY = "refund:4417028:L2"


def change(**over: Any) -> ActionChanged:
    facts = {
        "key": KEY,
        "version": 3,
        "kind": "refund",
        "customer_id": "C-1001",
        "conversation_id": "conv_1",
        "order_id": "4417028",
        "line_id": "L2",
        "amount": "64.00",
        "currency": "USD",
        "status": "succeeded",
        "verdict": "approval",
        "policy_version": "1",
        "policy_reason": "amount",
        "changed_at": datetime.now(UTC),
        "cause": "settled",
    }
    return ActionChanged(**(facts | over))


def received(event: Any, event_id: str = "ev_l1") -> Received[Any]:
    return Received(event, event_id, "k", datetime.now(UTC), {})


@pytest.fixture
async def bench(make_bench: Any, make_work: Any) -> Any:
    made = make_bench()
    await made.arrive(make_work(language="de"))
    return made


async def proactive(bench: Any) -> list[dict[str, Any]]:
    import json

    rows = await bench.pool.fetch("select payload from outbox where topic = 'support.replies.v1' order by id")
    return [json.loads(row["payload"]) for row in rows]


async def test_an_approved_refund_is_told_once_in_the_conversations_language(bench: Any) -> None:
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    for _ in range(2):
        await outcomes.on_action_changed([received(change())])
    events = await proactive(bench)
    assert [(e["seq"], e["event"]) for e in events] == [(1, "action"), (2, "token"), (3, "done")]
    assert all(e["proactive"] for e in events)
    assert "Erstattung von 64.00 USD" in events[2]["data"]["reply"]
    assert events[0]["data"]["status"] == "succeeded"


async def test_what_the_tool_call_already_answered_is_not_told_again(bench: Any) -> None:
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock()).on_action_changed(
        [received(change(inline=True))]
    )
    assert await proactive(bench) == []


@pytest.mark.parametrize(
    ("over", "queue"),
    [
        ({"status": "failed", "cause": "refused"}, "billing"),
        ({"status": "failed", "cause": "bank_returned"}, "billing"),
        ({"status": "awaiting_approval", "cause": "overdue"}, "leads"),
    ],
)
async def test_what_went_wrong_is_told_and_opens_a_handoff(bench: Any, over: dict[str, Any], queue: str) -> None:
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock()).on_action_changed(
        [received(change(**over))]
    )
    row = await bench.pool.fetchrow("select reason, queue, packet from handoffs")
    assert (row["reason"], row["queue"]) == ("policy", queue)
    assert row["packet"]["actions"][0]["key"] == KEY
    events = await proactive(bench)
    assert events[-1]["data"]["handoff"] is True
    assert events[-1]["owner_version"] == 2


async def test_a_change_of_another_customers_row_is_never_told_here(bench: Any) -> None:
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock()).on_action_changed(
        [received(change(customer_id="C-2002"))]
    )
    assert await proactive(bench) == []


async def test_the_conversation_waits_while_a_row_waits_for_approval(bench: Any) -> None:
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(change(status="awaiting_approval", cause="proposed", version=1))])
    assert await bench.pool.fetchval("select status from conversations") == "waiting_approval"
    await outcomes.on_action_changed([received(change(status="rejected", cause="decided"), "ev_l2")])
    assert await bench.pool.fetchval("select status from conversations") == "active"


async def test_the_conversation_waits_until_the_last_of_its_rows_is_decided(bench: Any) -> None:
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    other, statuses = "refund:4417028:L1", []
    bench.tools.ledger_down = True
    for n, (key, status, version) in enumerate(
        [
            (KEY, "awaiting_approval", 1),
            (other, "awaiting_approval", 1),
            (KEY, "rejected", 2),
            (KEY, "awaiting_approval", 1),  # replayed from the dead letters
            (other, "pending", 2),
        ]
    ):
        cause = "proposed" if status == "awaiting_approval" else "decided"
        event = change(key=key, status=status, version=version, cause=cause)
        await outcomes.on_action_changed([received(event, f"ev_l{n}")])
        statuses.append(await bench.pool.fetchval("select status from conversations"))
    assert statuses == ["waiting_approval"] * 4 + ["active"]


async def test_a_row_remembered_as_waiting_though_it_was_decided_keeps_nobody_waiting(bench: Any) -> None:
    other = "refund:4417028:L1"
    old = {"key": other, "kind": "refund", "status": "awaiting_approval", "version": 1}
    bench.tools.ledger[other] = old | {"status": "rejected", "version": 2}
    async with bench.pool.acquire() as conn:
        state = ConversationState(memory=Memory(actions={other: old}))
        await save_state(conn, "conv_1", state.model_dump(mode="json"))
        await save_waiting(conn, "conv_1", waiting=True)
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(change())])
    assert await bench.pool.fetchval("select status from conversations") == "active"


async def test_staff_words_are_kept_in_the_transcript(bench: Any) -> None:
    event = ReplyEvent(
        conversation_id="conv_1",
        message_id="msg_staff",
        channel="chat",
        owner_version=2,
        seq=2,
        event="done",
        data={"reply": "Hello, Dana here."},
        writer="approvals",
    )
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock()).on_reply([received(event)])
    said = await bench.pool.fetchrow("select sender, text from messages where message_id = 'msg_staff'")
    assert tuple(said) == ("staff", "Hello, Dana here.")


@pytest.mark.parametrize("known", [None, "pending"])
async def test_how_a_write_ended_whose_answer_was_lost_is_told_though_it_was_the_answer_to_a_call(
    bench: Any, known: str | None
) -> None:
    lost = {"kind": "refund", "order_id": "4417028", "line_id": "L2", "besides": []}
    rows = {} if known is None else {KEY: {"key": KEY, "kind": "refund", "status": known}}
    state = ConversationState(memory=Memory(unheard=[lost], actions=rows))
    await bench.pool.execute("update conversations set run_state = $1", state.model_dump(mode="json"))
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    opened = change(status="pending", version=1, inline=True)
    await outcomes.on_action_changed([received(opened, "ev_l0"), received(change(inline=True))])
    assert [e["event"] for e in await proactive(bench)] == ["action", "token", "done"]


async def test_an_answer_that_was_found_in_the_ledger_is_not_told_a_second_time(bench: Any) -> None:
    lost = {"kind": "refund", "order_id": "4417028", "line_id": "L2", "besides": []}
    known = {KEY: {"key": KEY, "kind": "refund", "status": "succeeded"}}
    state = ConversationState(memory=Memory(unheard=[lost], actions=known))
    await bench.pool.execute("update conversations set run_state = $1", state.model_dump(mode="json"))
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock()).on_action_changed(
        [received(change(inline=True))]
    )
    assert await proactive(bench) == []


async def test_an_answer_that_is_found_while_its_telling_is_prepared_is_not_told_a_second_time(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = {"kind": "refund", "order_id": "4417028", "line_id": "L2", "besides": []}
    known = {KEY: {"key": KEY, "kind": "refund", "status": "succeeded"}}

    async def remember(memory: Memory) -> None:
        state = ConversationState(memory=memory).model_dump(mode="json")
        await bench.pool.execute("update conversations set run_state = $1", state)

    gather = Outcomes._gather

    async def found_meanwhile(self: Outcomes, event: ActionChanged) -> Any:
        await remember(Memory(actions=known))
        return await gather(self, event)

    await remember(Memory(unheard=[lost]))
    monkeypatch.setattr(Outcomes, "_gather", found_meanwhile)
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(change(inline=True))])
    assert await proactive(bench) == []
