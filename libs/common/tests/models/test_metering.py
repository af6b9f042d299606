"""What model calls use up: every try counts with whoever it is made for, and nobody calls beyond what they may."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from common.clock import SystemClock
from common.guard.model import ModelGuard
from common.models import (
    BudgetSpent,
    Meter,
    ModelFault,
    ModelGateway,
    ModelRequest,
    ModelTurn,
    RetryPlan,
    TokensSpent,
    Usage,
    cost_usd,
    metered,
)
from common.models.assembly import Assembly

REQUEST = ModelRequest("system", ({"role": "user", "content": "hi"},))
FAST = RetryPlan(tries=2, first_wait_s=0.0)
MODEL = "claude-haiku-5-5"
WHOLE, CUT = Usage(100, 20), Usage(100, 1)


class Streaming:
    """Streams as the real adapters do: an Assembly, which may break off or hang after it told of the input."""

    def __init__(self, name: str, *ways: str) -> None:
        self.name, self.ways, self.asked = name, list(ways), 0

    async def ask(self, _request: ModelRequest, hearer: Any = None) -> ModelTurn:
        self.asked += 1
        way = self.ways.pop(0) if self.ways else "whole"
        with Assembly(self.name, MODEL, hearer) as assembly:
            if way == "silent":
                raise ModelFault("never answered")
            assembly.usage = CUT
            assembly.add_text('{"verdict": "clean", ')
            await asyncio.sleep(3_600 if way == "hangs" else 0)
            if way == "whole":
                assembly.usage, assembly.stop_reason = WHOLE, "end_turn"
                assembly.add_text('"reasons": []}')
            return assembly.finish()

    async def close(self) -> None:
        return None


def gateway(*providers: Streaming) -> ModelGateway:
    return ModelGateway(providers, SystemClock(), plan=FAST)


async def test_a_call_is_counted_with_its_tokens_and_its_price_once() -> None:
    with metered(Meter()) as meter:
        await gateway(Streaming("first")).ask(REQUEST, 5)
    assert meter.read() == (WHOLE.total, cost_usd(MODEL, WHOLE))
    assert meter.read() == (0, Decimal(0))


async def test_tries_that_broke_off_are_counted_as_far_as_the_provider_told() -> None:
    first, second = Streaming("first", "cut", "silent"), Streaming("second", "cut", "whole")
    with metered(Meter()) as meter:
        await gateway(first, second).ask(REQUEST, 5)
    assert meter.read() == (2 * CUT.total + WHOLE.total, 2 * cost_usd(MODEL, CUT) + cost_usd(MODEL, WHOLE))


async def test_a_call_that_ran_out_of_time_is_counted_as_well() -> None:
    with metered(Meter()) as meter, pytest.raises(BudgetSpent):
        await gateway(Streaming("first", "hangs")).ask(REQUEST, 0.05)
    assert meter.tokens == CUT.total


async def test_a_guard_that_asks_a_model_counts_with_the_run_it_guards_and_in_its_own_tasks_too() -> None:
    guard = ModelGuard(gateway(Streaming("first")))
    with metered(Meter()) as meter:
        assert (await guard.check("hello", "customer")).verdict == "clean"
        await asyncio.create_task(guard.check("hello", "reply"))
    assert meter.tokens == 2 * WHOLE.total


async def test_runs_side_by_side_are_counted_apart() -> None:
    models = gateway(Streaming("first"))

    async def run(calls: int) -> int:
        with metered(Meter()) as meter:
            for _ in range(calls):
                await models.ask(REQUEST, 5)
                await asyncio.sleep(0)
        return meter.tokens

    assert await asyncio.gather(*map(run, (1, 2, 3))) == [WHOLE.total * n for n in (1, 2, 3)]
    await models.ask(REQUEST, 5)


@pytest.mark.parametrize(("room", "asked"), [(1, 1), (120, 1), (121, 2), (0, 0), (-5, 0), (None, 3)])
async def test_no_call_is_made_once_the_room_is_used_up(room: int | None, asked: int) -> None:
    provider = Streaming("first")
    with metered(Meter(room)):
        for _ in range(asked):
            await gateway(provider).ask(REQUEST, 5)
        if room is not None:
            with pytest.raises(TokensSpent):
                await gateway(provider).ask(REQUEST, 5)
    assert provider.asked == asked


async def test_no_second_try_is_made_when_the_first_used_up_the_room() -> None:
    first, second = Streaming("first", "cut"), Streaming("second")
    with metered(Meter(room=50)), pytest.raises(TokensSpent):
        await gateway(first, second).ask(REQUEST, 5)
    assert (first.asked, second.asked) == (1, 0)


async def test_without_room_a_model_guard_is_down_and_asks_nobody() -> None:
    provider = Streaming("first")
    with metered(Meter(room=0)):
        assert (await ModelGuard(gateway(provider)).check("hello", "customer")).verdict == "down"
    assert provider.asked == 0


async def test_a_refusal_for_want_of_room_takes_no_place_in_the_quota(make_time_line: Callable[[], Any]) -> None:
    class Never:
        async def take(self, _priority: str) -> bool:
            raise AssertionError

    with metered(Meter(room=0)), pytest.raises(TokensSpent):
        await ModelGateway([Streaming("first")], make_time_line(), Never()).ask(REQUEST, 5)
