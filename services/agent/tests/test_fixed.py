"""The fixed flow on a real database: one read, one transaction, four languages, and never another customer's order."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.adapters.store import save_owner
from agent.core.state import ConversationState, Memory
from agent.fixed import FixedFlow
from agent.handlers import HANDLERS
from agent.intake import Intake
from common.clock import SystemClock
from common.consumer import Received
from common.errors import OutcomeUnknown, Transient
from common.ids import OrderIds


class CollectingProducer:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def start_event(self, _topic: Any, _key: str, event: Any, **_: Any) -> "asyncio.Future[None]":
        self.sent.append(event)
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


def received(work: Any, event_id: str = "ev_1") -> Received[Any]:
    return Received(work, event_id, work.message.conversation_id, datetime.now(UTC), {})


@pytest.fixture
def make_flow(make_bench: Any) -> Any:
    def make() -> tuple[Any, FixedFlow, CollectingProducer]:
        bench, producer = make_bench(), CollectingProducer()
        any_producer: Any = producer
        flow = FixedFlow(
            pool=bench.pool,
            runs=bench.parts.runs,
            tools=bench.parts.tools,
            ledger=bench.parts.ledger,
            sessions=bench.parts.sessions,
            customers=bench.parts.customers,
            producer=any_producer,
            order_ids=OrderIds(),
            clock=SystemClock(),
        )
        return bench, flow, producer

    return make


def tracking(make_work: Any, text: str = "Where is my order 4417028?", **over: Any) -> Any:
    return make_work(text, route="fixed", intent="where_is_my_order", **over)


async def test_a_tracking_question_is_answered_in_one_transaction(make_flow: Any, make_work: Any) -> None:
    bench, flow, producer = make_flow()
    await flow.on_work([received(tracking(make_work))])
    assert [e.event for e in producer.sent] == ["status"]
    assert [e["event"] for e in await bench.events()] == ["token", "done"]
    done = await bench.done()
    assert done["reply"] == "Order 4417028 is marked as delivered."
    assert done["route"] == "fixed"
    assert await bench.pool.fetchval("select status from runs") == "done"
    said = await bench.pool.fetch("select sender, text from messages order by id")
    assert [row["sender"] for row in said] == ["customer", "agent"]


async def test_a_second_delivery_of_the_same_event_says_nothing_twice(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    work = tracking(make_work)
    await flow.on_work([received(work)])
    await flow.on_work([received(work)])
    await bench.done()


@pytest.mark.parametrize(
    ("language", "word"), [("en", "can't find"), ("es", "No encuentro"), ("fr", "trouve pas"), ("de", "finde")]
)
async def test_a_foreign_and_a_missing_order_read_alike(
    make_flow: Any, make_work: Any, language: str, word: str
) -> None:
    bench, flow, _ = make_flow()
    await flow.on_work([received(tracking(make_work, "order 99999999?", language=language))])
    reply = (await bench.done())["reply"]
    assert word in reply
    assert "99999999" in reply


async def test_a_visitor_is_asked_to_log_in_and_no_order_is_read(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    await flow.on_work([received(tracking(make_work, customer_id=None))])
    assert "log in" in (await bench.done())["reply"]
    assert bench.tools.calls == []


@pytest.mark.parametrize("trouble", [Transient("down"), {"status": "blocked", "result": {}}], ids=["down", "blocked"])
async def test_while_the_look_up_is_down_the_worker_asks_again_and_in_the_end_says_so(
    make_flow: Any, make_work: Any, trouble: Any
) -> None:
    bench, flow, _ = make_flow()
    bench.tools.answers["get_order"] = [trouble, trouble]
    await flow.on_work([received(tracking(make_work))])
    assert await bench.events() == []
    await replace(flow, patience_s=0.0).play(await bench.claim(routes=("fixed",)))
    assert "can't look up orders" in (await bench.done())["reply"]


async def test_a_look_up_that_comes_back_in_seconds_is_answered_as_if_nothing_had_been(
    make_flow: Any, make_work: Any
) -> None:
    bench, flow, _ = make_flow()
    bench.tools.look_up = failing_twice(bench.tools.look_up)
    await flow.on_work([received(tracking(make_work))])
    await flow.play(await bench.claim(routes=("fixed",)))
    assert (await bench.done())["reply"] == "Order 4417028 is marked as delivered."


def failing_twice(look_up: Any) -> Any:
    left = [Transient("restarting"), OutcomeUnknown("cut off")]

    async def try_to(*args: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return await look_up(*args, **named)

    return try_to


async def test_eight_seconds_after_the_message_a_look_up_that_hangs_ends_in_an_honest_sentence(
    make_flow: Any, make_work: Any, quick_time: Any
) -> None:
    bench, flow, _ = make_flow()
    flow, tries = replace(flow, clock=quick_time), hanging(bench)
    arrived_at = quick_time.now()
    await flow.on_work([received(tracking(make_work, received_at=arrived_at))])
    assert (quick_time.now() - arrived_at).total_seconds() < 1.5, "the topic waits behind one look-up"
    assert await bench.events() == []
    await flow.play(await bench.claim(routes=("fixed",)))
    assert "can't look up orders" in (await bench.done())["reply"]
    assert 7.0 < (quick_time.now() - arrived_at).total_seconds() < 8.5
    assert len(tries) == 3


async def test_a_conversations_messages_behind_a_look_up_that_hangs_do_not_each_wait_for_their_own(
    make_flow: Any, make_work: Any, quick_time: Any
) -> None:
    bench, flow, _ = make_flow()
    flow, tries = replace(flow, clock=quick_time), hanging(bench)
    began_s = quick_time.monotonic()
    await flow.on_work([received(tracking(make_work, message_id=f"msg_{n}", seq=n), f"ev_{n}") for n in (1, 2, 3)])
    assert quick_time.monotonic() - began_s < 1.5
    assert len(tries) == 1
    assert await bench.pool.fetchval("select count(*) from runs where status = 'queued'") == 3


async def test_a_message_that_waited_its_turn_longer_than_that_still_gets_one_look_up(
    make_flow: Any, make_work: Any, quick_time: Any
) -> None:
    bench, flow, _ = make_flow()
    tries = hanging(bench)
    await bench.arrive(tracking(make_work, received_at=quick_time.now() - timedelta(seconds=50)))
    began_s = quick_time.monotonic()
    await replace(flow, clock=quick_time).play(await bench.claim(routes=("fixed",)))
    assert 3.5 < quick_time.monotonic() - began_s < 4.5
    assert len(tries) == 1


def hanging(bench: Any) -> list[str]:
    """Have every look-up hang; returns the list that each one is noted in."""
    tries: list[str] = []

    async def hang(name: str, *_: Any) -> None:
        tries.append(name)
        await asyncio.Event().wait()

    bench.tools.look_up = hang
    return tries


async def test_asking_for_a_person_opens_one_handoff_at_once(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    work = make_work("I want a human", route="human", intent="asks_for_human")
    await flow.on_work([received(work)])
    await flow.on_work([received(work)])
    done = await bench.done()
    assert (done["handoff"], done["handoff_reason"], done["route"]) == (True, "asked", "human")
    assert await bench.pool.fetchval("select count(*) from handoffs") == 1
    assert await bench.pool.fetchval("select count(*) from outbox where topic = 'support.handoffs.v1'") == 1


@pytest.mark.parametrize(
    ("probabilities", "queue", "priority"),
    [
        ({"legal": 0.4}, "legal", "high"),
        ({"account_security": 0.5}, "security", "critical"),
        ({"safety": 0.3}, "safety", "critical"),
    ],
)
async def test_sensitive_topics_go_to_their_own_queue(
    make_flow: Any, make_work: Any, probabilities: dict[str, float], queue: str, priority: str
) -> None:
    bench, flow, _ = make_flow()
    await flow.on_work([received(make_work("…", route="human", intent="other", probabilities=probabilities))])
    row = await bench.pool.fetchrow("select reason, queue, priority from handoffs")
    assert tuple(row) == ("sensitive", queue, priority)


async def test_while_a_person_owns_it_the_agent_says_nothing(make_flow: Any, make_work: Any) -> None:
    bench, flow, producer = make_flow()
    await flow.on_work([received(make_work("a human please", route="human", intent="asks_for_human"))])
    await flow.on_work([received(tracking(make_work, message_id="msg_2", seq=2), "ev_2")])
    assert (await bench.done("msg_2")) == {
        "message_id": "msg_2",
        "route": "human",
        "handoff": True,
        "citations": [],
        "reply": "",
    }
    assert bench.tools.calls == []
    assert producer.sent[-1].owner_version == 2


async def test_a_person_who_takes_over_during_the_look_up_is_not_talked_over(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    await flow.on_work([received(tracking(make_work))])
    look_up = bench.tools.look_up

    async def taken_over_meanwhile(*args: Any, **named: Any) -> Any:
        async with bench.pool.acquire() as conn:
            await save_owner(conn, "conv_1", 1, "dana", "with_person")
        return await look_up(*args, **named)

    bench.tools.look_up = taken_over_meanwhile
    await flow.on_work([received(tracking(make_work, message_id="msg_2", seq=2), "ev_2")])
    done = await bench.done("msg_2")
    assert (done["route"], done["reply"]) == ("human", "")
    said = await bench.pool.fetch("select sender from messages where message_id = 'msg_2'")
    assert [row["sender"] for row in said] == ["customer"]


async def test_a_message_behind_an_open_one_waits_and_is_answered_by_the_worker(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    await bench.arrive(make_work())
    await flow.on_work([received(tracking(make_work, message_id="msg_2", seq=2), "ev_2")])
    assert await bench.events("msg_2") == []
    first = await bench.claim()
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
        await bench.parts.runs.leave(first, datetime.now(UTC))
        await save_owner(conn, "conv_1", 2, "agent", "active")
    await flow.play(await bench.claim(routes=("fixed",)))
    assert (await bench.done("msg_2"))["reply"] == "Order 4417028 is marked as delivered."


@pytest.mark.parametrize("before", ["waiting_approval", "active"])
async def test_an_answer_that_waited_its_turn_leaves_a_waiting_row_waiting(
    make_flow: Any, make_work: Any, before: str
) -> None:
    bench, flow, _ = make_flow()
    await bench.arrive(tracking(make_work))
    await bench.pool.execute("update conversations set status = $1", before)
    await flow.play(await bench.claim(routes=("fixed",)))
    await bench.done()
    assert await bench.pool.fetchval("select status from conversations") == before


@pytest.mark.parametrize(("row", "after"), [("awaiting_approval", "waiting_approval"), ("succeeded", "active")])
async def test_a_closed_conversation_opens_again_as_its_rows_stand(
    make_flow: Any, make_work: Any, row: str, after: str
) -> None:
    bench, flow, _ = make_flow()
    await flow.on_work([received(tracking(make_work))])
    state = ConversationState(memory=Memory(actions={"refund:1:L1": {"key": "refund:1:L1", "status": row}}))
    await bench.pool.execute(
        "update conversations set status = 'closed', run_state = $1", state.model_dump(mode="json")
    )
    await flow.on_work([received(tracking(make_work, message_id="msg_2", seq=2), "ev_2")])
    assert (await bench.done("msg_2"))["reply"]
    assert await bench.pool.fetchval("select status from conversations") == after


async def test_ten_messages_of_ten_conversations_are_answered_side_by_side(make_flow: Any, make_work: Any) -> None:
    bench, flow, _ = make_flow()
    works = [tracking(make_work, conversation_id=f"conv_{n}", message_id=f"msg_{n}") for n in range(10)]
    await asyncio.gather(*(flow.on_work([received(work, f"ev_{n}")]) for n, work in enumerate(works)))
    assert await bench.pool.fetchval("select count(*) from runs where status = 'done'") == 10


async def test_among_ten_side_by_side_the_one_taken_over_and_the_redelivered_one_go_their_own_way(
    make_flow: Any, make_work: Any
) -> None:
    bench, flow, _ = make_flow()
    works = [tracking(make_work, conversation_id=f"conv_{n}", message_id=f"msg_{n}") for n in range(10)]
    await asyncio.gather(*(flow.on_work([received(work, f"ev_{n}")]) for n, work in enumerate(works[:4])))
    look_up, looked_up = bench.tools.look_up, asyncio.Barrier(10)

    async def all_have_looked(*args: Any, **named: Any) -> Any:
        found = await look_up(*args, **named)
        async with bench.pool.acquire() as conn:
            await save_owner(conn, "conv_1", 1, "dana", "with_person")
        await looked_up.wait()
        return found

    bench.tools.look_up = all_have_looked
    again = [
        tracking(make_work, conversation_id=f"conv_{n}", message_id=f"msg_{n}_2", seq=2) if n in (1, 2) else work
        for n, work in enumerate(works)
    ]
    await asyncio.gather(
        *(flow.on_work([received(work, f"ev_{work.message.message_id}")]) for work in again[1:3]),
        *(flow.on_work([received(work, f"ev_{n}")]) for n, work in enumerate(again) if n not in (1, 2)),
    )
    assert (await bench.done("msg_1_2"))["route"] == "human"
    assert (await bench.done("msg_2_2"))["route"] == "fixed"
    for n in (0, 3, *range(4, 10)):
        assert (await bench.done(f"msg_{n}"))["route"] == "fixed"
    assert await bench.pool.fetchval("select count(*) from runs") == 12
    assert await bench.pool.fetchval("select count(*) from messages where sender = 'agent'") == 11


async def test_agent_work_becomes_a_queued_run_with_a_status_at_once(make_flow: Any, make_work: Any) -> None:
    """BB-KAF-01."""
    bench, _, producer = make_flow()
    any_producer: Any = producer
    intake = Intake("agent-loop", bench.pool, bench.parts.runs, any_producer, SystemClock())
    await intake.on_work([received(make_work())])
    await intake.on_work([received(make_work())])
    assert await bench.pool.fetchval("select status from runs") == "queued"
    assert {(e.event, e.seq) for e in producer.sent} == {("status", 1)}


def test_every_deployment_has_its_handlers() -> None:
    assert set(HANDLERS) == {"fixed", "rag", "loop"}
