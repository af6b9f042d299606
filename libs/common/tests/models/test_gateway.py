"""The model gateway: failover, breakers, one budget, and turns that are whole or no turns at all."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from common.clock import FixedClock, SystemClock
from common.models import (
    Breaker,
    BudgetSpent,
    ModelFault,
    ModelGateway,
    ModelRefused,
    ModelRequest,
    ModelsDown,
    ModelTurn,
    RetryPlan,
    Usage,
    cost_usd,
)
from common.models.assembly import Assembly
from common.models.quotas import RedisQuotas
from common.models.retry_after import CAP_S, retry_after_s

REQUEST = ModelRequest("system", ({"role": "user", "content": "hi"},))
FAST = RetryPlan(tries=2, first_wait_s=0.0)


def turn(provider: str) -> ModelTurn:
    return ModelTurn("hello", (), "end_turn", Usage(10, 5), provider, "m")


class Scripted:
    def __init__(self, name: str, *answers: Any) -> None:
        self.name, self.answers, self.asked = name, list(answers), 0

    async def ask(self, request: ModelRequest, hearer: Any = None) -> ModelTurn:
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else ModelFault("down")
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await asyncio.Event().wait()
        return turn(self.name)

    async def close(self) -> None:
        return None


async def test_a_passing_fault_is_tried_again_at_the_same_provider() -> None:
    first, second = Scripted("first", ModelFault("overloaded_error"), "ok"), Scripted("second", "ok")
    answered = await ModelGateway([first, second], SystemClock(), plan=FAST).ask(REQUEST, 5)
    assert (answered.provider, first.asked, second.asked) == ("first", 2, 0)


async def test_a_provider_that_stays_down_is_left_for_the_second_and_then_not_asked_at_all() -> None:
    first, second = Scripted("first"), Scripted("second", *["ok"] * 10)
    gateway = ModelGateway([first, second], SystemClock(), plan=FAST, breaker_threshold=3, breaker_rest_s=60)
    for _ in range(5):
        assert (await gateway.ask(REQUEST, 5)).provider == "second"
    assert first.asked == 3


async def test_a_refused_request_is_not_repeated_but_the_second_provider_may_take_it() -> None:
    first, second = Scripted("first", ModelRefused("400")), Scripted("second", "ok")
    assert (await ModelGateway([first, second], SystemClock(), plan=FAST).ask(REQUEST, 5)).provider == "second"
    assert first.asked == 1


async def test_when_nobody_answers_the_caller_is_told_so() -> None:
    with pytest.raises(ModelsDown):
        await ModelGateway([Scripted("a"), Scripted("b")], SystemClock(), plan=FAST).ask(REQUEST, 5)
    with pytest.raises(ModelsDown):
        await ModelGateway([], SystemClock()).ask(REQUEST, 5)


async def test_the_budget_holds_for_all_tries_together() -> None:
    with pytest.raises(BudgetSpent):
        await ModelGateway([Scripted("a", "hang")], SystemClock()).ask(REQUEST, 0.05)


async def test_calls_dropped_by_their_caller_do_not_rest_the_provider_but_those_out_of_time_do() -> None:
    hanging = Scripted("a", *["hang"] * 3, "ok", *["hang"] * 3)
    gateway = ModelGateway([hanging], SystemClock(), breaker_threshold=3, breaker_rest_s=60)
    for n in range(1, 4):
        dropped = asyncio.create_task(gateway.ask(REQUEST, 5))
        while hanging.asked < n:  # noqa: ASYNC110 - the script has no event
            await asyncio.sleep(0)
        dropped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
    assert (await gateway.ask(REQUEST, 5)).provider == "a"
    for _ in range(3):
        with pytest.raises(BudgetSpent):
            await gateway.ask(REQUEST, 0.01)
    with pytest.raises(ModelsDown, match="resting"):
        await gateway.ask(REQUEST, 5)


async def test_a_long_retry_after_moves_on_to_the_second_provider() -> None:
    first, second = Scripted("first", ModelFault("429", retry_after_s=10.0)), Scripted("second", "ok")
    async with asyncio.timeout(2):
        assert (await ModelGateway([first, second], SystemClock()).ask(REQUEST, 5)).provider == "second"


def test_an_open_breaker_lets_one_probe_through_each_rest() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    breaker = Breaker(clock, threshold=2, rest_s=10)
    for _ in range(2):
        breaker.failed()
    assert not breaker.allows()
    clock.at = datetime(2026, 1, 1, 0, 0, 11, tzinfo=UTC)
    assert breaker.allows()
    assert not breaker.allows()
    breaker.succeeded()
    assert breaker.allows()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("30", CAP_S),
        ("1e9", CAP_S),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("abc", None),
        ("Wed, 21 Oct 2099 07:28:00 GMT", CAP_S),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_read_within_reason(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_a_stream_without_a_stop_reason_is_no_turn() -> None:
    assembly = Assembly("p", "m")
    assembly.add_text("half an ans")
    with pytest.raises(ModelFault):
        assembly.finish()


def test_arguments_of_a_block_that_never_closed_parse_to_nothing() -> None:
    assembly = Assembly("p", "m")
    assembly.open_call(0, "id", "issue_refund")
    assembly.add_input(0, '{"amount": "45"}')
    assembly.stop_reason = "tool_use"
    assert assembly.finish().calls[0].strict_input() is None


def test_an_unlisted_model_costs_as_the_dearest_does() -> None:
    used = Usage(input_tokens=1_000_000)
    assert cost_usd("somebody-new", used) == cost_usd("claude-sonnet-5-5", used)
    assert cost_usd("claude-haiku-5-5", used) < cost_usd("claude-sonnet-5-5", used)


class Continuing:
    """Asks each try to go on from what the tries before it said."""

    def __init__(self) -> None:
        self.tries = 0

    async def begin(self, request: ModelRequest) -> ModelRequest:
        self.tries += 1
        return ModelRequest(f"{request.system}, try {self.tries}", request.messages)

    def hear(self, text: str) -> None:
        raise AssertionError(text)

    def hear_tool(self) -> None:
        raise AssertionError


class Asked(Scripted):
    async def ask(self, request: ModelRequest, hearer: Any = None) -> ModelTurn:
        self.requests = [*getattr(self, "requests", []), request.system]
        return await super().ask(request, hearer)


async def test_every_try_at_either_provider_is_sent_what_the_listener_makes_of_the_request() -> None:
    first, second = Asked("first", ModelFault("cut"), ModelFault("cut")), Asked("second", "ok")
    await ModelGateway([first, second], SystemClock(), plan=FAST).ask(REQUEST, 5, "live", Continuing())
    assert first.requests == ["system, try 1", "system, try 2"]
    assert second.requests == ["system, try 3"]


class DeadRedis:
    async def eval(self, *_: object) -> int:
        raise OSError


async def test_without_redis_each_worker_keeps_to_its_own_share() -> None:
    redis: Any = DeadRedis()
    quotas = RedisQuotas(redis, per_minute=40, workers=4)
    taken = [await quotas.take("live") for _ in range(12)]
    assert 10 <= sum(taken) <= 20
    assert not await quotas.take("evals")
