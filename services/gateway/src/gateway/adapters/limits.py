"""How fast one customer may write: a sliding window in Redis, in this process's memory while Redis is away."""

import time
from collections import OrderedDict
from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.telemetry import get_logger
from common.together import Together

# Redis must never make a customer wait for a limit that may be lost anyway.
_PATIENCE_S = 0.25
_REST_S = 5.0
_LOCAL_SUBJECTS = 20_000
_AWAY = (RedisError, OSError, TimeoutError)
_log = get_logger()

# Members name what is counted, so that a repeated Idempotency-Key counts once on whichever replica it lands.
# KEYS windows; ARGV limit, window in ms, then a member for each key. Returns for each 0 when taken, else milliseconds
# until there is room.
_TAKE = """
local t = redis.call('TIME')
local now, limit, window = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[1]), tonumber(ARGV[2])
local waits = {}
for i, key in ipairs(KEYS) do
  local member = ARGV[i + 2]
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  waits[i] = 0
  if not redis.call('ZSCORE', key, member) then
    if redis.call('ZCARD', key) >= limit then
      waits[i] = math.max(1, redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] + window - now)
    else
      redis.call('ZADD', key, now, member)
      redis.call('PEXPIRE', key, window)
    end
  end
  if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, window) end
end
return waits
"""


class Limiter:
    """At most ``limit`` distinct members of a subject within ``window_s``; calls that meet share one script."""

    def __init__(self, redis: "Redis | None", *, name: str, limit: int, window_s: float = 10.0) -> None:
        self._name, self._limit, self._window_s = name, limit, window_s
        self._script = redis.register_script(_TAKE) if redis is not None else None
        self._together = Together(self._take_all)
        self._resting_until = 0.0
        self._local: OrderedDict[str, dict[str, float]] = OrderedDict()

    async def take(self, subject: str, member: str) -> float:
        """Count ``member`` and return 0, or return the seconds until there is room; a counted member counts once."""
        if self._script is not None and time.monotonic() >= self._resting_until:
            try:
                return await self._together((subject, member))
            except _AWAY:
                pass
        return self._take_locally(subject, member)

    async def _take_all(self, asked: Sequence[tuple[str, str]]) -> list[float]:
        assert self._script is not None, "nothing is asked of a Redis that isn't there"
        if time.monotonic() < self._resting_until:
            raise TimeoutError("the calls before these had no answer")
        try:
            waits = await self._script(
                keys=[f"rate:{self._name}:{subject}" for subject, _ in asked],
                args=[self._limit, int(self._window_s * 1000), *(member for _, member in asked)],
            )
        except _AWAY as e:
            _log.warning("rate limit falls back to this process", error=type(e).__name__)
            self._resting_until = time.monotonic() + _REST_S
            raise
        return [float(wait_ms) / 1000 for wait_ms in waits]

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
