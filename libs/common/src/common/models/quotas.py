"""Shares of the model quota by priority: live chat may use all of it, email less, evals least."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.models.turns import Priority

# Of one minute's calls: what a priority may bring the shared counter up to before it has to wait.
SHARES: dict[Priority, float] = {"live": 1.0, "email": 0.7, "evals": 0.3}
# One script, so that a counter can't be left without an expiry by a crash in between; and one that somebody else's
# version, or a restored dump, left without is given one here (BB-RED-01).
_TAKE = """
local n = redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n
"""


class Quotas(Protocol):
    async def take(self, priority: Priority) -> bool:
        """Book one call; False means that this priority's share of the minute is used up."""
        ...


class Unlimited:
    """No quota: for tests and for stores that have none."""

    async def take(self, priority: Priority) -> bool:  # noqa: ARG002 - the port's signature
        return True


@dataclass
class RedisQuotas:
    """Counts calls of all workers in one key a minute; without Redis each worker allows its own even share."""

    redis: Redis
    per_minute: int
    workers: int = 4
    timeout_s: float = 0.25
    _minute: int = 0
    _alone: int = 0

    async def take(self, priority: Priority) -> bool:
        minute = int(time.time() // 60)
        try:
            async with asyncio.timeout(self.timeout_s):
                taken = int(await self.redis.eval(_TAKE, 1, f"models:calls:{minute}", "120000"))
        except (RedisError, OSError, TimeoutError):
            return self._take_alone(minute, priority)
        return taken <= self.per_minute * SHARES[priority]

    def _take_alone(self, minute: int, priority: Priority) -> bool:
        if minute != self._minute:
            self._minute, self._alone = minute, 0
        self._alone += 1
        return self._alone <= self.per_minute * SHARES[priority] / self.workers
