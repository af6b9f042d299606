"""What model calls use up: in the process's metrics, and in the meter of whoever they are made for.

A meter is found by the task that asks, and by the tasks it starts, as a trace is: so a guard that asks a model while a
run is played is counted with that run, and is held to the same limit, without knowing of either.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from prometheus_client import Counter

from common.models.costs import cost_usd
from common.models.errors import TokensSpent
from common.models.turns import Usage

_TOKENS = Counter("model_tokens_total", "Tokens by provider, model and kind", ["provider", "model", "kind"])
_COST = Counter("model_cost_usd_total", "Dollars by provider and model at list prices", ["provider", "model"])


@dataclass(slots=True)
class Meter:
    """Tokens, and dollars at list prices, since it was last read; ``room`` tokens are left, None: no limit."""

    room: int | None = None
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def count(self, usage: Usage, cost: Decimal) -> None:
        self.tokens += usage.total
        self.cost_usd += cost
        if self.room is not None:
            self.room -= usage.total

    def read(self) -> tuple[int, Decimal]:
        """Return tokens and dollars since the last time."""
        found = self.tokens, self.cost_usd
        self.tokens, self.cost_usd = 0, Decimal(0)
        return found


_METER: ContextVar[Meter | None] = ContextVar("model_meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Count every model call made inside on ``meter``."""
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def require_room() -> None:
    """Raise TokensSpent when whoever asks has used up what they may; to be asked before every call."""
    meter = _METER.get()
    if meter is not None and meter.room is not None and meter.room <= 0:
        raise TokensSpent("the conversation's tokens are used up")


def account(provider: str, model: str, usage: Usage) -> None:
    """Book what one call used, also one that broke off, as far as its provider told."""
    if usage.total == 0:
        return
    cost, (*tokens, dollars) = cost_usd(model, usage), _books(provider, model)
    counts = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    for counter, count in zip(tokens, counts, strict=True):
        counter.inc(count)
    dollars.inc(float(cost))
    meter = _METER.get()
    if meter is not None:
        meter.count(usage, cost)


@lru_cache(maxsize=64)
def _books(provider: str, model: str) -> tuple[Counter, ...]:
    """Return the counters of one model's tokens, by kind, and of its dollars; finding them costs more than counting."""
    kinds = ("input", "output", "cache_read", "cache_write")
    return (*(_TOKENS.labels(provider, model, kind) for kind in kinds), _COST.labels(provider, model))
