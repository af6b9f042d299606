"""Sends turns at a steady rate or from a fixed number of clients and times what comes back."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Timing:
    """One turn, in seconds from its sending."""

    first: float
    done: float


@dataclass
class Outcome:
    """What a load brought: timings of the turns that ended, the errors of those that didn't."""

    timings: list[Timing] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Turns that ended, a second."""
        return len(self.timings) / self.seconds if self.seconds else 0.0

    def line(self) -> str:
        """Return p50/p95/p99 of done and of the first event, in ms."""
        if not self.timings:
            return f"no turn ended; {len(self.errors)} errors: {self.errors[:1]}"
        done, first = [t.done for t in self.timings], [t.first for t in self.timings]
        return (
            f"{self.per_second:7.1f}/s   done {_three(done)}   first event {_three(first)}   "
            f"n={len(self.timings)} errors={len(self.errors)}"
        )


Turn = Callable[[int], Awaitable[Timing]]


def percentile(values: list[float], q: float) -> float:
    """Return the q-th percentile, in the values' unit."""
    return statistics.quantiles(values, n=1000, method="inclusive")[round(q * 10) - 1] if len(values) > 1 else values[0]


def _three(values: list[float]) -> str:
    return "/".join(f"{percentile(values, q) * 1e3:.1f}" for q in (50, 95, 99)) + " ms"


async def steady(turn: Turn, per_second: float, seconds: float) -> Outcome:
    """Start ``per_second`` turns each second, whatever became of the earlier ones (an open load)."""
    outcome, started = Outcome(), time.perf_counter()
    tasks = []
    for n in range(int(per_second * seconds)):
        await asyncio.sleep(max(0.0, started + n / per_second - time.perf_counter()))
        tasks.append(asyncio.create_task(_one(turn, n, outcome)))
    await asyncio.gather(*tasks)
    outcome.seconds = time.perf_counter() - started
    return outcome


async def saturated(turn: Turn, clients: int, turns: int) -> Outcome:
    """Run ``turns`` turns from ``clients`` clients that each send as soon as they have their answer (a closed load)."""
    outcome, numbers, started = Outcome(), iter(range(turns)), time.perf_counter()

    async def client() -> None:
        for n in numbers:
            await _one(turn, n, outcome)

    await asyncio.gather(*(client() for _ in range(clients)))
    outcome.seconds = time.perf_counter() - started
    return outcome


async def _one(turn: Turn, n: int, outcome: Outcome) -> None:
    try:
        async with asyncio.timeout(60):
            outcome.timings.append(await turn(n))
    except Exception as e:  # noqa: BLE001 - a failed turn is a figure of its own
        outcome.errors.append(f"{type(e).__name__}: {e}"[:200])
