"""By voice a "yes" confirms what was read back just before it, on whichever route the messages in between went."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from agent.housekeeping import Housekeeping
from agent.loop.play import play_agent_run
from common.clock import SystemClock
from common.models import ModelTurn, ToolCall, Usage

ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
VOICE: dict[str, Any] = {"channel": "voice", "read_back": True}


@dataclass
class Meanwhile:
    """What may lie between the question and the "yes"; each returns that message's place in the conversation."""

    bench: Any
    make_work: Any
    beside: Any

    async def a_person_is_asked_for(self) -> int:
        asking = {"route": "human", "intent": "asks_for_human"}
        words = "No, I want a human"
        await self.beside.on_the_spot(self.bench, self.make_work(words, message_id="msg_2", seq=2, **asking, **VOICE))
        await self.beside.move(self.bench, "claim", "return")
        return 3

    async def the_parcel_is_asked_for(self) -> int:
        tracking = {"route": "fixed", "intent": "where_is_my_order"}
        words = "Where is order 4417028?"
        await self.beside.on_the_spot(self.bench, self.make_work(words, message_id="msg_2", seq=2, **tracking, **VOICE))
        return 3

    async def a_person_steps_in(self) -> int:
        await self.beside.move(self.bench, "takeover", "return")
        return 2

    async def we_ask_if_all_is_settled(self) -> int:
        await self.bench.pool.execute("update conversations set updated_at = now() - interval '2 hours'")
        await Housekeeping(self.bench.pool, SystemClock(), 3_600, 86_400).tidy()
        return 2


def turn(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


def wish() -> ModelTurn:
    refund = ToolCall("toolu_1", "issue_refund", json.dumps(ARGS))
    return ModelTurn("", (refund,), "tool_use", Usage(100, 20), "fake", "fake-large")


@pytest.fixture
def meanwhile(make_bench: Any, make_work: Any, beside: Any) -> Meanwhile:
    return Meanwhile(make_bench(wish(), turn("What may I do for you?")), make_work, beside)


THINGS = ["a_person_is_asked_for", "the_parcel_is_asked_for", "a_person_steps_in", "we_ask_if_all_is_settled"]


@pytest.mark.parametrize("thing", THINGS)
async def test_a_yes_to_something_else_moves_nothing(meanwhile: Meanwhile, make_work: Any, thing: str) -> None:
    bench = meanwhile.bench
    await bench.arrive(make_work(**VOICE))
    await play_agent_run(bench.parts, await bench.claim())
    assert (await bench.done())["reply"].endswith("?")
    seq = await getattr(meanwhile, thing)()
    yes = make_work("Yes.", message_id=f"msg_{seq}", seq=seq, intent="other", **VOICE)
    await bench.arrive(yes)
    await play_agent_run(bench.parts, await bench.claim())
    assert bench.tools.paid == []
    assert (await bench.done(f"msg_{seq}"))["reply"] == "What may I do for you?"
    memory = (await bench.pool.fetchval("select run_state from conversations"))["memory"]
    assert memory["held_call"] is None


async def test_a_yes_is_good_for_its_own_message_only(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(wish(), turn("I can't refund that yet."), wish())
    bench.tools.answers["issue_refund"] = [{"status": "denied", "result": {"reason": "not delivered"}}]
    for seq, text in enumerate(("It arrived broken", "Yes.", "It is still broken"), start=1):
        await bench.arrive(make_work(text, message_id=f"msg_{seq}", seq=seq, **VOICE))
        await play_agent_run(bench.parts, await bench.claim())
    assert len(bench.tools.calls) == 1
    assert (await bench.done("msg_3"))["reply"] == (await bench.done("msg_1"))["reply"]
