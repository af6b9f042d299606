"""Whom a person meets: every handoff's packet names the verified customer, however it came about (SPEC §8)."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import REGISTRY

from agent.adapters import store
from agent.core.state import ConversationState, Memory
from agent.fixed import FixedFlow
from agent.loop.play import play_agent_run
from agent.outcomes import Outcomes
from agent.owner_api import OwnerChange, _set_owner
from agent.rag import PolicyAnswers
from common.clock import SystemClock
from common.consumer import Received
from common.events import ActionChanged
from common.ids import OrderIds
from common.models import ModelsDown

Json = dict[str, Any]
BIG: Json = {"name": "Big Corp", "tier": "enterprise", "lifetime_value": "52300.00", "open_tickets": ["T-1"]}
FIELDS = ["name", "tier", "lifetime_value", "open_tickets"]


class SilentProducer:
    async def start_event(self, *_: Any, **__: Any) -> "asyncio.Future[None]":
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


def received(event: Any, event_id: str = "ev_1") -> Received[Any]:
    return Received(event, event_id, "k", datetime.now(UTC), {})


def flow_of(bench: Any) -> FixedFlow:
    producer: Any = SilentProducer()
    p, ids, clock = bench.parts, OrderIds(), SystemClock()
    return FixedFlow(bench.pool, p.runs, p.tools, p.ledger, p.sessions, p.customers, producer, ids, clock)


def tracking(make_work: Any, **over: Any) -> Any:
    return make_work("Where is my order 4417028?", route="fixed", intent="where_is_my_order", **over)


def asking(make_work: Any, **over: Any) -> Any:
    return make_work("I want a human", route="human", intent="asks_for_human", **over)


async def ask_first(bench: Any, make_work: Any, **over: Any) -> None:
    await flow_of(bench).on_work([received(asking(make_work, **over))])


async def ask_behind_an_open_message(bench: Any, make_work: Any, **over: Any) -> None:
    await bench.arrive(make_work(**over))
    await flow_of(bench).on_work([received(asking(make_work, message_id="msg_2", seq=2, **over))])
    await bench.pool.execute("update runs set status = 'done' where message_id = 'msg_1'")
    await flow_of(bench).play(await bench.claim(routes=("human",)))


async def be_upset_on_rag(bench: Any, make_work: Any, **over: Any) -> None:
    nothing: Any = None
    answers = PolicyAnswers(
        pool=bench.pool,
        runs=bench.parts.runs,
        customers=bench.parts.customers,
        ledger=bench.parts.ledger,
        index=nothing,
        models=nothing,
        tokens=bench.parts.tokens,
        guard=nothing,
        is_grounded=lambda *_: True,
        clock=SystemClock(),
        small_model="s",
    )
    await bench.arrive(make_work("Can I return it?", route="rag", intent="policy_question", sentiment=-0.9, **over))
    await answers.play(await bench.claim(routes=("rag",)))


async def find_no_model(bench: Any, make_work: Any, **over: Any) -> None:
    bench.models.turns = [ModelsDown("both down")]
    await bench.arrive(make_work(**over))
    await play_agent_run(bench.parts, await bench.claim())


def returned_by_the_bank(**over: Any) -> ActionChanged:
    return ActionChanged(
        **{
            "key": "refund:4417028:L2", "version": 3, "kind": "refund", "customer_id": "C-1001",
            "conversation_id": "conv_1", "order_id": "4417028", "line_id": "L2", "amount": "64.00", "currency": "USD",
            "status": "failed", "verdict": "auto", "policy_version": "1", "policy_reason": "auto",
            "changed_at": datetime.now(UTC), "cause": "bank_returned",
        } | over
    )  # fmt: skip


async def have_a_refund_returned(bench: Any, make_work: Any, **over: Any) -> None:
    await flow_of(bench).on_work([received(tracking(make_work, **over))])
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([received(returned_by_the_bank(), "ev_l")])


async def be_taken_over(bench: Any, make_work: Any, **over: Any) -> None:
    await flow_of(bench).on_work([received(tracking(make_work, **over))])
    told = None if bench.tools.customer is None or bench.tools.hanging else {"customer_id": "C-1001", **BIG}
    change = OwnerChange.model_validate({"action": "takeover", "staff": "dana", "customer": told})
    await _set_owner(bench.pool, "conv_1", change, SystemClock())


Way = Callable[..., Awaitable[None]]
WAYS = (
    ask_first,
    ask_behind_an_open_message,
    be_upset_on_rag,
    find_no_model,
    have_a_refund_returned,
    be_taken_over,
)
every_way = pytest.mark.parametrize("come_to_a_person", WAYS, ids=lambda way: way.__name__)


async def handoff_of(bench: Any) -> Any:
    rows = await bench.pool.fetch("select reason, queue, priority, packet from handoffs")
    assert len(rows) == 1
    return rows[0]


@every_way
async def test_every_packet_names_the_verified_customer_and_queue_and_priority_follow_the_tier(
    make_bench: Any, make_work: Any, come_to_a_person: Way
) -> None:
    bench = make_bench(customer=BIG)
    await come_to_a_person(bench, make_work)
    row = await handoff_of(bench)
    assert row["packet"]["customer"] == {
        "customer_id": "C-1001",
        "name": "Big Corp",
        "tier": "enterprise",
        "lifetime_value": "52300.00",
        "not_loaded": [],
    }
    assert row["packet"]["open_tickets"] == ["T-1"]
    assert row["packet"]["verified_fields"] == ["login"]
    assert (row["queue"], row["priority"]) == ("vip", "high")


@every_way
async def test_a_store_system_that_never_answers_holds_no_handoff_up_and_the_packet_says_what_is_missing(
    make_bench: Any, make_work: Any, come_to_a_person: Way
) -> None:
    bench = make_bench(customer=BIG)
    bench.tools.hanging = True
    async with asyncio.timeout(5):
        await come_to_a_person(bench, make_work)
    row = await handoff_of(bench)
    assert row["packet"]["customer"] == {
        "customer_id": "C-1001", "name": None, "tier": None, "lifetime_value": None, "not_loaded": FIELDS,
    }  # fmt: skip
    assert row["queue"] in ("general", "billing")
    assert row["packet"]["verified_fields"] == ["login"]


@every_way
async def test_what_the_conversation_knew_before_is_used_and_nobody_is_asked_again(
    make_bench: Any, make_work: Any, come_to_a_person: Way
) -> None:
    bench = make_bench(customer=None)
    async with bench.pool.acquire() as conn:
        await store.save_arrival(conn, make_work(message_id="msg_0"))
        known = ConversationState(memory=Memory(customer=BIG)).model_dump(mode="json")
        await store.save_state(conn, "conv_1", known)
    await come_to_a_person(bench, make_work)
    row = await handoff_of(bench)
    assert (row["packet"]["customer"]["name"], row["queue"]) == ("Big Corp", "vip")
    assert bench.tools.customer_asked == []


@every_way
async def test_a_handoff_remembers_the_customer_for_the_next_one(
    make_bench: Any, make_work: Any, come_to_a_person: Way
) -> None:
    bench = make_bench(customer=BIG)
    await come_to_a_person(bench, make_work)
    assert await store.load_customer(bench.pool, "conv_1") == BIG


@every_way
async def test_every_handoff_is_counted_once_by_its_reason(
    make_bench: Any, make_work: Any, come_to_a_person: Way
) -> None:
    bench = make_bench(customer=BIG)
    before = {m.labels["reason"]: m.value for m in counted()}
    await come_to_a_person(bench, make_work)
    reason = (await handoff_of(bench))["reason"]
    grown = {m.labels["reason"]: m.value - before.get(m.labels["reason"], 0.0) for m in counted()}
    assert {name: rise for name, rise in grown.items() if rise} == {reason: 1.0}


def counted() -> list[Any]:
    return [s for m in REGISTRY.collect() if m.name == "handoffs" for s in m.samples if s.name == "handoffs_total"]


async def test_a_second_delivery_is_not_counted_again(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(customer=BIG)
    await ask_first(bench, make_work)
    before = sum(m.value for m in counted())
    await ask_first(bench, make_work)
    assert sum(m.value for m in counted()) == before


async def test_a_visitor_has_no_record_that_could_be_missing(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(customer=BIG)
    await ask_first(bench, make_work, customer_id=None)
    packet = (await handoff_of(bench))["packet"]
    assert (packet["customer"]["customer_id"], packet["customer"]["not_loaded"]) == (None, [])
    assert packet["verified_fields"] == []
    assert bench.tools.customer_asked == []


async def test_a_statement_of_another_conversation_opens_nobodys_record(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(customer=BIG)
    foreign = make_work(conversation_id="conv_other").message.assertion
    work = asking(make_work)
    await flow_of(bench).on_work(
        [received(work.model_copy(update={"message": work.message.model_copy(update={"assertion": foreign})}))]
    )
    packet = (await handoff_of(bench))["packet"]
    assert bench.tools.customer_asked == []
    assert (packet["customer"]["name"], packet["verified_fields"]) == (None, [])


async def test_a_record_of_another_customer_is_not_taken_into_a_takeovers_packet(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    change = OwnerChange.model_validate(
        {"action": "takeover", "staff": "dana", "customer": {"customer_id": "C-2002", **BIG}}
    )
    await _set_owner(bench.pool, "conv_1", change, SystemClock())
    assert (await handoff_of(bench))["packet"]["customer"]["not_loaded"] == FIELDS


async def test_the_loop_starts_without_a_record_that_does_not_come_and_asks_again_at_the_handoff(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(ModelsDown("both down"), customer=BIG)
    bench.tools.hanging = True
    ask = bench.models.ask

    async def back_again(*args: Any, **named: Any) -> Any:
        bench.tools.hanging = False
        return await ask(*args, **named)

    bench.models.ask = back_again
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim())
    assert (await handoff_of(bench))["queue"] == "vip"
    assert len(bench.tools.customer_asked) == 2


async def test_what_was_proved_last_stands_in_the_packet_also_after_an_answer_on_the_spot(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    flow = flow_of(bench)
    await flow.on_work([received(tracking(make_work))])
    await flow.on_work([received(tracking(make_work, message_id="msg_2", seq=2, customer_id=None), "ev_2")])
    assert await bench.pool.fetchval("select verified_fields from conversations") == ["login"]
