"""Asks the first provider that is fit to answer, within one time budget for the whole turn."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from prometheus_client import Counter, Histogram

from common.clock import Clock
from common.crash import crash_point
from common.models.breaker import Breaker, worth_waiting_s
from common.models.errors import BudgetSpent, ModelFault, ModelRefused, ModelsDown
from common.models.hearing import FirstSign, Hearer
from common.models.metering import account, require_room
from common.models.quotas import Quotas, Unlimited
from common.models.turns import ModelRequest, ModelTurn, Priority
from common.telemetry import span

_CALLS = Counter("model_calls_total", "Model calls by provider and outcome", ["provider", "outcome"])
_SECONDS = Histogram(
    "model_call_seconds",
    "Time from question to whole answer",
    ["provider"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30),
)


# An answer takes at least this long: a wait that leaves less is for nothing.
_ANSWER_S = 3.0

# How long the first in line waits before it asks for a place again.
_NEXT_PLACE_S = 1.0

# Waits until the event, at most so many seconds.
Pause = Callable[[asyncio.Event, float], Awaitable[None]]


async def _pause(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class _Line:
    """Those who wait for a place in the quota: only the first asks again, the others follow in their order."""

    def __init__(self) -> None:
        self.length, self._first = 0, asyncio.Lock()

    async def __aenter__(self) -> None:
        self.length += 1
        try:
            await self._first.acquire()
        except BaseException:
            self.length -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self.length -= 1
        self._first.release()


class Provider(Protocol):
    """One model provider; ``ask`` raises ModelFault for what may pass and ModelRefused for what can't."""

    name: str

    async def ask(self, request: ModelRequest, hearer: Hearer | None = None) -> ModelTurn: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """How often one provider is tried and how long we wait in between (seconds, doubled each time, with jitter)."""

    tries: int = 2
    first_wait_s: float = 0.3
    longest_wait_s: float = 4.0


@dataclass(frozen=True, slots=True)
class _Question:
    """One request on its way through the tries: who listens, and the time all of them have together.

    ``patient_until`` (monotonic) is how long it waits while every provider rests.
    """

    request: ModelRequest
    hearer: Hearer | None
    budget: asyncio.Timeout
    patient_until: float


@dataclass
class ModelGateway:
    """Providers in order of preference, a breaker each; ``ask`` either returns a whole turn or raises ModelsDown.

    While every provider rests after failures, a question waits up to ``patience_s`` for the first probe: its own, or
    the outcome of somebody else's.
    """

    providers: Sequence[Provider]
    clock: Clock
    quotas: Quotas = field(default_factory=Unlimited)
    plan: RetryPlan = field(default_factory=RetryPlan)
    breaker_threshold: int = 3
    breaker_rest_s: float = 5.0
    # One rest and the time to hear the first word after it.
    patience_s: float = 8.0
    pause: Pause = _pause

    def __post_init__(self) -> None:
        # Set, and replaced by a fresh one, whenever a probe has an outcome.
        self._outcome = asyncio.Event()
        self._lines: dict[Priority, _Line] = {"live": _Line(), "email": _Line(), "evals": _Line()}
        self._breakers = {
            p.name: Breaker(self.clock, self.breaker_threshold, self.breaker_rest_s) for p in self.providers
        }

    async def ask(
        self, request: ModelRequest, budget_s: float, priority: Priority = "live", hearer: Hearer | None = None
    ) -> ModelTurn:
        """Return one whole turn within ``budget_s`` seconds; ``hearer`` follows every try at it while it streams.

        Raises BudgetSpent when time ran out, ModelsDown when no provider could answer or the quota is used up,
        TokensSpent when the meter it is counted on has no room for another try.
        """
        require_room()
        started = self.clock.monotonic()
        try:
            async with asyncio.timeout(budget_s) as budget:
                await self._wait_for_quota(priority)
                patient_until = started + min(self.patience_s, budget_s - _ANSWER_S)
                turn = await self._answer(_Question(request, hearer, budget, patient_until))
        except TimeoutError as error:
            raise BudgetSpent(f"no model answered within {budget_s:.1f} s") from error
        return replace(turn, waited_s=self.clock.monotonic() - started)

    async def close(self) -> None:
        for provider in self.providers:
            await provider.close()

    async def _wait_for_quota(self, priority: Priority) -> None:
        # Nobody who comes now overtakes those of the same priority who wait already.
        line = self._lines[priority]
        if line.length == 0 and await self.quotas.take(priority):
            return
        if priority == "live":
            raise ModelsDown("the model quota is used up")
        # Email and evals can wait; the turn's budget bounds the wait.
        async with line:
            while not await self.quotas.take(priority):
                await self.pause(asyncio.Event(), _NEXT_PLACE_S)

    async def _answer(self, question: _Question) -> ModelTurn:
        """Ask everybody; when every provider rests, once more after the next probe."""
        while True:
            # Taken before asking, so that no outcome in between is missed.
            outcome = self._outcome
            try:
                return await self._first_answer(question)
            except ModelsDown:
                resting = [breaker.outlook for breaker in self._breakers.values() if breaker.is_open]
                wait_s = worth_waiting_s(resting, question.patient_until - self.clock.monotonic())
                if wait_s is None or len(resting) < len(self._breakers):
                    raise
            await self.pause(outcome, wait_s)

    def _tell_outcome(self) -> None:
        self._outcome.set()
        self._outcome = asyncio.Event()

    async def _first_answer(self, question: _Question) -> ModelTurn:
        reasons: list[str] = []
        for provider in self.providers:
            try:
                return await self._ask_one(provider, question, is_last=provider is self.providers[-1])
            except (ModelFault, ModelRefused) as error:
                reasons.append(error.reason)
        raise ModelsDown("; ".join(reasons) or "no provider is configured")

    async def _ask_one(self, provider: Provider, question: _Question, *, is_last: bool) -> ModelTurn:
        breaker = self._breakers[provider.name]
        fault = ModelFault(f"{provider.name}: resting after failures")
        for attempt in range(self.plan.tries):
            # A try that broke off has used tokens too.
            require_room()
            if not breaker.allows():
                _CALLS.labels(provider.name, "resting").inc()
                break
            try:
                return await self._once(provider, question, breaker)
            except ModelFault as error:
                fault = error
                if attempt + 1 < self.plan.tries and not breaker.is_open:
                    wait_s = self._wait_s(attempt, error, is_last=is_last)
                    if wait_s is None:
                        break
                    await asyncio.sleep(wait_s)
        raise fault

    def _wait_s(self, attempt: int, error: ModelFault, *, is_last: bool) -> float | None:
        """Seconds to the next try here; None when the provider asks for longer than moving on takes."""
        own: float = min(self.plan.first_wait_s * 2**attempt, self.plan.longest_wait_s) * random.uniform(0.75, 1.0)  # noqa: S311 - jitter
        if error.retry_after_s is None:
            return own
        return None if error.retry_after_s > own and not is_last else max(own, error.retry_after_s)

    async def _once(self, provider: Provider, question: _Question, breaker: Breaker) -> ModelTurn:
        # An open breaker let this call through: it is the probe that others wait for.
        probe, hearer = breaker.is_open, question.hearer
        await crash_point("model.before_call")
        heard = FirstSign(hearer, partial(self._revive, breaker)) if probe else hearer
        try:
            # What the customer has already heard of an earlier try is part of the question to the next one.
            asked = question.request if hearer is None else await hearer.begin(question.request)
            with span(f"model {provider.name}"), _SECONDS.labels(provider.name).time():
                turn = await provider.ask(asked, heard)
            breaker.succeeded()
        except BaseException as error:
            _CALLS.labels(provider.name, _book_failure(breaker, question, error, probe=probe)).inc()
            raise
        finally:
            if probe:
                self._tell_outcome()
        _CALLS.labels(turn.provider, "answered").inc()
        account(turn.provider, turn.model, turn.usage)
        await crash_point("model.after_call")
        return turn

    def _revive(self, breaker: Breaker) -> None:
        breaker.revived()
        self._tell_outcome()


def _book_failure(breaker: Breaker, question: _Question, error: BaseException, *, probe: bool) -> str:
    """Tell the breaker what a call that failed says about the provider; returns the outcome's name."""
    if isinstance(error, ModelFault):
        breaker.failed(probe=probe)
        return "fault"
    if isinstance(error, ModelRefused):
        # Whoever says no is there.
        breaker.revived()
        return "refused"
    # A call that ran into the turn's budget is a failure of the provider too, else a hanging one is never left.
    # One whose run was taken away says nothing about the provider: a worker that drops its runs would rest it.
    if isinstance(error, asyncio.CancelledError) and question.budget.expired():
        breaker.failed(probe=probe)
    elif probe:
        breaker.dropped()
    return "cancelled"
