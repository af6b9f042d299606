"""Shares of the model quota by priority: live chat may use all of it, email less, evals least."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.clock import Clock, SystemClock
from common.models.turns import Priority

# What a priority may bring the counter up to, in percent of a minute's calls, before it has to wait.
SHARES_PERCENT: dict[Priority, int] = {"live": 100, "email": 70, "evals": 30}
# A counter that nobody has booked on for so long is empty, and one that is gone says the same.
_EMPTY_AFTER_MS = 60_000
# A call books one; bookings drain evenly through the minute, so that there is no turn of the minute at which whoever
# waits takes all there is. A refused call books nothing: asking again must not keep others out. Redis' own clock
# counts, and one script decides and books (R6). A counter left without an expiry, by somebody else's version or a
# restored dump, is given one even by a refusal, so that no state of it lasts (BB-RED-01).
_TAKE = f"""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local saved = redis.call('HMGET', KEYS[1], 'booked', 'at')
local since = math.max(0, now - (saved[2] or now))
local booked = math.max(0, (saved[1] or 0) - since * ARGV[1] / 60) + 1
if booked > tonumber(ARGV[2]) then
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], {_EMPTY_AFTER_MS}) end
  return 0
end
redis.call('HSET', KEYS[1], 'booked', string.format('%.6f', booked), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], {_EMPTY_AFTER_MS})
return 1
"""


class Quotas(Protocol):
    async def take(self, priority: Priority) -> bool:
        """Book one call; False, and nothing booked, means that this priority's share is used up for now."""
        ...


class Unlimited:
    """No quota: for tests and for stores that have none."""

    async def take(self, priority: Priority) -> bool:  # noqa: ARG002 - the port's signature
        return True


@dataclass
class LocalQuotas:
    """The rule by itself, for one process: ``per_minute`` calls, draining evenly."""

    per_minute: float
    clock: Clock = field(default_factory=SystemClock)
    _booked: float = field(default=0.0, init=False)
    _at_s: float = field(default=0.0, init=False)

    async def take(self, priority: Priority) -> bool:
        return self.book(priority)

    def book(self, priority: Priority) -> bool:
        """Book one call if there is a place for it."""
        now_s = self.clock.monotonic()
        drained = (now_s - self._at_s) * self.per_minute / 60
        self._booked, self._at_s = max(0.0, self._booked - drained), now_s
        if self._booked + 1 > _ceiling(self.per_minute, priority):
            return False
        self._booked += 1
        return True


@dataclass
class RedisQuotas:
    """Counts calls of all workers in one key; without Redis each worker allows its own even share."""

    redis: Redis
    per_minute: int
    workers: int = 4
    timeout_s: float = 0.25
    key: str = "models:calls"
    _alone: LocalQuotas = field(init=False)

    def __post_init__(self) -> None:
        self._alone = LocalQuotas(self.per_minute / self.workers)

    async def take(self, priority: Priority) -> bool:
        ceiling = _ceiling(self.per_minute, priority)
        try:
            async with asyncio.timeout(self.timeout_s):
                return bool(await self.redis.eval(_TAKE, 1, self.key, str(self.per_minute), str(ceiling)))
        except (RedisError, OSError, TimeoutError):
            return self._alone.book(priority)


def _ceiling(per_minute: float, priority: Priority) -> float:
    return per_minute * SHARES_PERCENT[priority] / 100
