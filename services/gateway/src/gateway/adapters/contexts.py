"""`context:{customer_id}:active`: a hint in Redis which conversation the customer is in. PostgreSQL is the truth."""

import time
from collections import OrderedDict

from redis.asyncio import Redis
from redis.exceptions import RedisError

_TTL_S = 86_400
_REST_S = 5.0
_REMEMBERED = 20_000


class Contexts:
    """Reads and writes the hint; without Redis there is none, and nothing else changes."""

    def __init__(self, redis: "Redis | None", prefix: str = "") -> None:
        self._redis, self._prefix = redis, prefix
        self._resting_until = 0.0
        self._written: OrderedDict[str, str] = OrderedDict()

    async def active(self, customer_id: str) -> str | None:
        """Return the cached conversation id, if any."""
        if self._redis is None or time.monotonic() < self._resting_until:
            return None
        try:
            value = await self._redis.get(self.key_of(customer_id))
        except (RedisError, OSError, TimeoutError):
            self._resting_until = time.monotonic() + _REST_S
            return None
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    async def remember(self, customer_id: str, conversation_id: str) -> None:
        """Note where the customer is; a repetition of what this process last wrote costs nothing."""
        if self._redis is None or self._written.get(customer_id) == conversation_id:
            return
        if time.monotonic() < self._resting_until:
            return
        try:
            await self._redis.set(self.key_of(customer_id), conversation_id, ex=_TTL_S)
        except (RedisError, OSError, TimeoutError):
            self._resting_until = time.monotonic() + _REST_S
            return
        self._written[customer_id] = conversation_id
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def key_of(self, customer_id: str) -> str:
        return f"{self._prefix}context:{customer_id}:active"
