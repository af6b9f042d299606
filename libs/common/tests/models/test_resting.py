"""Every provider rests: a question waits for the first probe if that fits, and one probe answers for all who wait."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from common.clock import SystemClock
from common.models import (
    Breaker,
    Hearer,
    ModelFault,
    ModelGateway,
    ModelRefused,
    ModelRequest,
    ModelsDown,
    ModelTurn,
    RetryPlan,
    Usage,
)
from common.models.breaker import Outlook, worth_waiting_s

REQUEST = ModelRequest("system", ({"role": "user", "content": "hi"},))
ONE_TRY = RetryPlan(tries=1, first_wait_s=0.0)


@pytest.mark.parametrize(
    ("outlooks", "room_s", "wait_s"),
    [
        ([], 8.0, None),
        ([Outlook(4.0)], 8.0, 4.0),
        ([Outlook(4.0), Outlook(1.5)], 8.0, 1.5),
        ([Outlook(4.0)], 4.0, 4.0),
        ([Outlook(4.0)], 3.9, None),
        ([Outlook(0.0)], 8.0, 0.0),
        ([Outlook(0.0)], 0.0, None),
        ([Outlook(4.0)], -1.0, None),
        ([Outlook(60.0)], 8.0, None),
        ([Outlook(4.5, probing=True)], 3.0, 3.0),
        ([Outlook(4.5, probing=True)], 6.0, 4.5),
        ([Outlook(4.5, probing=True), Outlook(2.0)], 3.0, 2.0),
        ([Outlook(60.0), Outlook(4.5, probing=True)], 3.0, 3.0),
        ([Outlook(4.5, probing=True)], 0.0, None),
    ],
)
def test_a_wait_is_as_long_as_the_next_chance_or_not_worth_it(
    outlooks: list[Outlook], room_s: float, wait_s: float | None
) -> None:
    assert worth_waiting_s(outlooks, room_s) == wait_s


@pytest.mark.parametrize(
    ("outcome", "may_go", "outlook"),
    [
        ("succeeded", True, None),
        ("revived", True, None),
        ("failed", False, Outlook(5.0)),
        ("strayed", False, Outlook(4.0, probing=True)),
        ("dropped", True, None),
    ],
)
def test_what_a_probe_brings_decides_about_the_next(
    make_time_line: Any, outcome: str, *, may_go: bool, outlook: Outlook | None
) -> None:
    time = make_time_line()
    breaker = Breaker(time, threshold=3, rest_s=5.0)
    for _ in range(3):
        breaker.failed()
    assert breaker.outlook == Outlook(5.0)
    time.seconds = 5.0
    assert breaker.allows()
    time.seconds = 6.0
    acts: dict[str, Callable[[], None]] = {
        "succeeded": breaker.succeeded,
        "revived": breaker.revived,
        "failed": lambda: breaker.failed(probe=True),
        "strayed": breaker.failed,
        "dropped": breaker.dropped,
    }
    acts[outcome]()
    if outlook is not None:
        assert breaker.outlook == outlook
    assert breaker.allows() is may_go


def test_failures_of_calls_from_before_the_rest_do_not_prolong_it(make_time_line: Any) -> None:
    time = make_time_line()
    breaker = Breaker(time, threshold=3, rest_s=5.0)
    for _ in range(3):
        breaker.failed()
    for second in range(1, 5):
        time.seconds = float(second)
        breaker.failed()
    assert breaker.outlook == Outlook(1.0)


def test_a_revived_provider_rests_again_after_its_next_failure(make_time_line: Any) -> None:
    breaker = Breaker(make_time_line(), threshold=3, rest_s=5.0)
    for _ in range(3):
        breaker.failed()
    breaker.revived()
    assert not breaker.is_open
    breaker.failed(probe=True)
    assert breaker.is_open


class Provider:
    """Fails until it is told that it is up; then its answers wait, after the first word, for ``finish``."""

    def __init__(self, name: str = "only") -> None:
        self.name, self.asked, self.is_up, self.refuses = name, 0, False, False
        self.speak, self.finish = asyncio.Event(), asyncio.Event()
        self.finish.set()

    async def ask(self, _request: ModelRequest, hearer: Hearer | None = None) -> ModelTurn:
        self.asked += 1
        await asyncio.sleep(0)
        if self.refuses:
            raise ModelRefused("400")
        if not self.is_up:
            raise ModelFault("down")
        await self.speak.wait()
        if hearer is not None:
            hearer.hear("hel")
        await self.finish.wait()
        return ModelTurn("hello", (), "end_turn", Usage(1, 1), self.name, "m")

    async def close(self) -> None:
        return None


async def resting(time: Any, *providers: Provider) -> ModelGateway:
    """A gateway whose providers all began to rest, for five seconds, at second 0."""
    gateway = ModelGateway(providers, time, plan=ONE_TRY, breaker_rest_s=5.0, patience_s=8.0, pause=time.pause)
    for _ in range(3):
        with pytest.raises(ModelsDown):
            await gateway.ask(REQUEST, 1.0)
    for provider in providers:
        assert provider.asked == 3
        provider.asked = 0
        provider.speak.set()
    return gateway


async def asking(gateway: ModelGateway, count: int) -> list["asyncio.Task[ModelTurn]"]:
    """Questions that have been asked and wait."""
    asked = [asyncio.create_task(gateway.ask(REQUEST, 60.0)) for _ in range(count)]
    await asyncio.sleep(0)
    return asked


async def test_a_question_waits_for_the_first_probe_and_is_answered_by_it(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    await time.go_to(2.0)
    (one,) = await asking(gateway, 1)
    await time.go_to(4.9)
    assert (provider.asked, one.done()) == (0, False)
    provider.is_up = True
    await time.go_to(5.0)
    assert (await one).text == "hello"
    assert provider.asked == 1
    assert time.pauses == 1, "it slept through to the probe"


async def test_two_hundred_that_wait_send_one_probe_and_follow_at_its_first_word(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    provider.is_up = True
    provider.speak.clear()
    provider.finish.clear()
    many = await asking(gateway, 200)
    await time.go_to(5.0)
    assert provider.asked == 1
    await time.go_to(7.5)
    assert provider.asked == 1, "the others wait for what the probe brings"
    provider.speak.set()
    await time.settle()
    assert provider.asked == 200, "its first word says that the provider is back"
    provider.finish.set()
    assert {turn.text for turn in await asyncio.gather(*many)} == {"hello"}
    assert time.pauses <= 2 * 200


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    async def begin(self, request: ModelRequest) -> ModelRequest:
        return request

    def hear(self, text: str) -> None:
        self.heard.append(text)

    def hear_tool(self) -> None:
        raise AssertionError("no tool was called")


async def test_a_probe_is_heard_like_any_other_turn(make_time_line: Any) -> None:
    time, provider, listener = make_time_line(), Provider(), Listener()
    gateway = await resting(time, provider)
    provider.is_up = True
    probe = asyncio.create_task(gateway.ask(REQUEST, 60.0, hearer=listener))
    await time.settle()
    await time.go_to(5.0)
    assert (await probe).text == "hello"
    assert listener.heard == ["hel"]


async def test_a_probe_that_fails_sends_all_who_wait_to_a_person_at_once(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    many = await asking(gateway, 50)
    await time.go_to(5.0)
    assert provider.asked == 1
    assert all(isinstance(e, ModelsDown) for e in await asyncio.gather(*many, return_exceptions=True))
    assert time.seconds == 5.0


async def test_a_late_question_still_has_the_patience_for_the_probe_after_a_failed_one(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    await time.go_to(4.0)
    (one,) = await asking(gateway, 1)
    await time.go_to(5.0)
    assert (provider.asked, one.done()) == (1, False)
    provider.is_up = True
    await time.go_to(10.0)
    assert (await one).text == "hello"
    assert provider.asked == 2


@pytest.mark.parametrize(("budget_s", "asks_at"), [(7.9, 0.0), (4.0, 3.0), (2.0, 4.9)])
async def test_without_the_time_for_probe_and_answer_nobody_waits(
    make_time_line: Any, budget_s: float, asks_at: float
) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    await time.go_to(asks_at)
    with pytest.raises(ModelsDown, match="resting"):
        await gateway.ask(REQUEST, budget_s)
    assert (provider.asked, time.pauses) == (0, 0)


async def test_the_provider_whose_probe_comes_first_is_the_one_waited_for(make_time_line: Any) -> None:
    time, first, second = make_time_line(), Provider("first"), Provider("second")
    gateway = await resting(time, first, second)
    await time.go_to(5.0)
    # The first one's probe fails now, so it rests until 10; the second's goes with the same question.
    with pytest.raises(ModelsDown):
        await gateway.ask(REQUEST, 1.0)
    await time.go_to(6.0)
    second.is_up = True
    (one,) = await asking(gateway, 1)
    await time.go_to(10.0)
    assert (await one).provider == "second"


async def test_a_probe_whose_caller_goes_away_is_taken_over_by_one_who_waits(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    provider.is_up = True
    provider.speak.clear()
    probe, other = await asking(gateway, 2)
    await time.go_to(5.0)
    assert provider.asked == 1
    probe.cancel()
    await time.settle()
    assert provider.asked == 2
    provider.speak.set()
    assert (await other).text == "hello"


async def test_a_probe_that_is_refused_shows_that_somebody_is_there(make_time_line: Any) -> None:
    time, provider = make_time_line(), Provider()
    gateway = await resting(time, provider)
    provider.refuses = True
    probe, other = await asking(gateway, 2)
    await time.go_to(5.0)
    with pytest.raises(ModelsDown, match="400"):
        await probe
    with pytest.raises(ModelsDown, match="400"):
        await other
    provider.refuses, provider.is_up = False, True
    assert (await gateway.ask(REQUEST, 5.0)).text == "hello"


async def test_real_time_ends_a_wait_too() -> None:
    provider = Provider()
    gateway = ModelGateway([provider], SystemClock(), plan=ONE_TRY, breaker_rest_s=0.2, patience_s=5.0)
    for _ in range(3):
        with pytest.raises(ModelsDown):
            await gateway.ask(REQUEST, 1.0)
    provider.is_up = True
    provider.speak.set()
    assert (await gateway.ask(REQUEST, 30.0)).text == "hello"
