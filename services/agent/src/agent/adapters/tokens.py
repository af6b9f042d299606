"""The shared counter of a conversation's model tokens; PostgreSQL's checkpoint is the floor under it."""

import asyncio
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

# One script: a counter must not be left without an expiry by a crash in between (BB-RED-01).
_ADD = """
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n < tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[2]) n = tonumber(ARGV[2]) end
redis.call('EXPIRE', KEYS[1], 604800)
return n
"""


class TokenCounter(Protocol):
    async def add(self, conversation_id: str, tokens: int, known: int) -> int:
        """Book ``tokens``; ``known`` is what the checkpoint holds including them. Returns the larger count."""
        ...


class RedisTokenCounter:
    """Counts across workers; without Redis the checkpoint's own count is used, which can't be lost."""

    def __init__(self, redis: Redis, timeout_s: float = 0.25) -> None:
        self._redis, self._timeout_s = redis, timeout_s

    async def add(self, conversation_id: str, tokens: int, known: int) -> int:
        try:
            async with asyncio.timeout(self._timeout_s):
                counted = await self._redis.eval(_ADD, 1, f"tokens:{conversation_id}", str(tokens), str(known))
        except (RedisError, OSError, TimeoutError):
            return known
        return max(known, int(counted))
