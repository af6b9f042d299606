"""By voice a "yes" confirms what was read back just before it, on whichever route the messages in between went."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.fixed import FixedFlow
from agent.housekeeping import Housekeeping
from agent.loop.play import play_agent_run
from agent.owner_api import OwnerChange, _set_owner
from common.clock import SystemClock
from common.consumer import Received
from common.ids import OrderIds
from common.models import ModelTurn, ToolCall, Usage

ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
VOICE: dict[str, Any] = {"channel": "voice", "read_back": True}


class QuietProducer:
    async def start_event(self, *_: Any, **__: Any) -> "asyncio.Future[None]":
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


async def on_the_spot(bench: Any, work: Any) -> None:
    producer: Any = QuietProducer()
    parts = bench.parts
    flow = FixedFlow(
        parts.pool, parts.runs, parts.tools, parts.sessions, parts.customers, producer, OrderIds(), SystemClock()
    )
    await flow.on_work([Received(work, "ev_2", "conv_1", datetime.now(UTC), {})])


async def move(bench: Any, *actions: Any) -> None:
    for action in actions:
        await _set_owner(bench.pool, "conv_1", OwnerChange(action=action, staff="dana"), SystemClock())


async def ask_a_person(bench: Any, make_work: Any) -> int:
    await on_the_spot(
        bench,
        make_work("No, I want a human", route="human", intent="asks_for_human", message_id="msg_2", seq=2, **VOICE),
    )
    await move(bench, "claim", "return")
    return 3


async def ask_where_it_is(bench: Any, make_work: Any) -> int:
    tracking = {"route": "fixed", "intent": "where_is_my_order"}
    await on_the_spot(bench, make_work("Where is order 4417028?", message_id="msg_2", seq=2, **tracking, **VOICE))
    return 3


async def have_a_person_step_in(bench: Any, _make_work: Any) -> int:
    await move(bench, "takeover", "return")
    return 2


async def be_asked_if_all_is_settled(bench: Any, _make_work: Any) -> int:
    await bench.pool.execute("update conversations set updated_at = now() - interval '2 hours'")
    await Housekeeping(bench.pool, SystemClock(), 3_600, 86_400).tidy()
    return 2


@pytest.mark.parametrize(
    "meanwhile", [ask_a_person, ask_where_it_is, have_a_person_step_in, be_asked_if_all_is_settled]
)
async def test_a_yes_to_something_else_moves_nothing(make_bench: Any, make_work: Any, meanwhile: Any) -> None:
    refund = ToolCall("toolu_1", "issue_refund", json.dumps(ARGS))
    wish = ModelTurn("", (refund,), "tool_use", Usage(100, 20), "fake", "fake-large")
    answer = ModelTurn("What may I do for you?", (), "end_turn", Usage(100, 20), "fake", "fake-large")
    bench = make_bench(wish, answer)
    await bench.arrive(make_work(**VOICE))
    await play_agent_run(bench.parts, await bench.claim())
    assert (await bench.done())["reply"].endswith("?")
    seq = await meanwhile(bench, make_work)
    yes = make_work("Yes.", message_id=f"msg_{seq}", seq=seq, intent="other", **VOICE)
    await bench.arrive(yes)
    await play_agent_run(bench.parts, await bench.claim())
    assert bench.tools.paid == []
    assert (await bench.done(f"msg_{seq}"))["reply"] == "What may I do for you?"
    memory = (await bench.pool.fetchval("select run_state from conversations"))["memory"]
    assert memory["held_call"] is None
