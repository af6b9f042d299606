"""How fast one customer may write: a sliding window in Redis, in this process's memory while Redis is away."""

import time
from collections import OrderedDict

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.telemetry import get_logger

# Redis must never make a customer wait for a limit that may be lost anyway.
_PATIENCE_S = 0.25
_REST_S = 5.0
_LOCAL_SUBJECTS = 20_000
_log = get_logger()

# Members name what is counted, so that a repeated Idempotency-Key counts once on whichever replica it lands.
# KEYS[1] window; ARGV member, limit, window in ms. Returns 0 when taken, else milliseconds until there is room.
_TAKE = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, oldest[2] + ARGV[3] - now)
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0
"""


class Limiter:
    """At most ``limit`` distinct members of a subject within ``window_s``."""

    def __init__(self, redis: "Redis | None", *, name: str, limit: int, window_s: float = 10.0) -> None:
        self._name, self._limit, self._window_s = name, limit, window_s
        self._take = redis.register_script(_TAKE) if redis is not None else None
        self._resting_until = 0.0
        self._local: OrderedDict[str, dict[str, float]] = OrderedDict()

    async def take(self, subject: str, member: str) -> float:
        """Count ``member`` and return 0, or return the seconds until there is room; a counted member counts once."""
        if self._take is not None and time.monotonic() >= self._resting_until:
            try:
                wait_ms = await self._take(
                    keys=[f"rate:{self._name}:{subject}"], args=[member, self._limit, int(self._window_s * 1000)]
                )
                return float(wait_ms) / 1000
            except (RedisError, OSError, TimeoutError) as e:
                self._resting_until = time.monotonic() + _REST_S
                _log.warning("rate limit falls back to this process", error=type(e).__name__)
        return self._take_locally(subject, member)

    def _take_locally(self, subject: str, member: str) -> float:
        now = time.monotonic()
        window = self._local.setdefault(subject, {})
        self._local.move_to_end(subject)
        if len(self._local) > _LOCAL_SUBJECTS:
            self._local.popitem(last=False)
        for old in [m for m, at in window.items() if at <= now - self._window_s]:
            del window[old]
        if member in window:
            return 0.0
        if len(window) >= self._limit:
            return max(0.001, min(window.values()) + self._window_s - now)
        window[member] = now
        return 0.0


def open_redis(url: str) -> "Redis | None":
    """Return a client that gives up quickly, or None where no Redis is configured."""
    if not url:
        return None
    return Redis.from_url(url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S, max_connections=64)
