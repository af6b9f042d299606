"""How every outside system is called: rate limit, circuit breaker, timeout, bounded retry with jitter, audit line."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiolimiter import AsyncLimiter
from prometheus_client import Histogram
from purgatory import AsyncCircuitBreakerFactory
from purgatory.domain.model import OpenedState
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from common.errors import OutcomeUnknown, Refused, Transient, Verdict
from common.http import Reply, ServiceClient
from common.telemetry import get_logger

_T = TypeVar("_T")
_SECONDS = Histogram("outside_call_seconds", "Calls to outside systems", ["system", "operation", "outcome"])
_log = get_logger()


class Missing(Refused):
    """The other side says that there is no such thing."""


class StoredFailure(OutcomeUnknown):
    """A server error: the effect may have happened; ``reason`` is the same text for the same failure."""


class KeyInUse(OutcomeUnknown):
    """The same key is being worked on right now: wait, look, ask again."""


class KeyMismatch(Refused):
    """The key was used before with other parameters (R2)."""


class Caller:
    """Calls one outside system; reads are repeated, an effect is sent once: its caller decides about a second time."""

    def __init__(
        self, system: str, client: ServiceClient, *, per_second: float, tries: int, breaker_after: int = 10,
        breaker_rest_s: float = 5.0,
    ) -> None:  # fmt: skip
        self._system, self._client = system, client
        # A refusal is an answer: only lost and failed calls say that the system is in trouble.
        self._breakers = AsyncCircuitBreakerFactory(
            default_threshold=breaker_after, default_ttl=breaker_rest_s, exclude=[Refused]
        )
        self._limiter = AsyncLimiter(max(1.0, per_second), 1.0)
        self._seconds: dict[tuple[str, str], Histogram] = {}
        self._again = (
            AsyncRetrying(
                retry=retry_if_exception_type((Transient, OutcomeUnknown)),
                stop=stop_after_attempt(tries - 1),
                wait=wait_random_exponential(multiplier=0.05, max=0.5),
                reraise=True,
            )
            if tries > 1
            else None
        )

    async def close(self) -> None:
        """Close the pooled connections."""
        await self._client.close()

    async def read(self, operation: str, path: str, **request: Any) -> Any:
        """Return the JSON body of a GET, tried a few times; raises Missing, Refused, Transient or OutcomeUnknown."""
        try:
            return await self._once(operation, "GET", path, request)
        except (Transient, OutcomeUnknown):
            if self._again is None:
                raise
        # Only now: the retrying machinery costs as much as a small request, and nearly every read works at once.
        await asyncio.sleep(random.uniform(0.02, 0.1))  # noqa: S311 - jitter, not a secret
        return await self._again(self._once, operation, "GET", path, request)

    async def effect(self, operation: str, method: str, path: str, **request: Any) -> Any:
        """Send one request that may change something, once, and return its JSON body."""
        return await self._once(operation, method, path, request)

    async def guarded(self, operation: str, call: Callable[[], Awaitable[_T]]) -> _T:
        """Run any outside call under this system's limit, breaker and audit line."""
        started, outcome = time.perf_counter(), "done"
        try:
            async with self._limiter, await self._breakers.get_breaker(self._system):
                return await call()
        except OpenedState as e:
            outcome = "breaker_open"
            raise Transient(f"{self._system} is resting after failures") from e
        except Verdict as e:
            outcome = type(e).__name__
            raise
        except BaseException:
            outcome = "broken"
            raise
        finally:
            seconds = time.perf_counter() - started
            self._timer(operation, outcome).observe(seconds)
            _log.info(
                "outside call", system=self._system, operation=operation, outcome=outcome, ms=round(seconds * 1e3, 1)
            )

    def _timer(self, operation: str, outcome: str) -> Histogram:
        if (timer := self._seconds.get((operation, outcome))) is None:
            timer = self._seconds[operation, outcome] = _SECONDS.labels(self._system, operation, outcome)
        return timer

    async def _once(self, operation: str, method: str, path: str, request: dict[str, Any]) -> Any:
        async def send() -> Any:
            return _judge(await self._client.call(method, path, **request), f"{self._system} {operation}")

        return await self.guarded(operation, send)


def _judge(reply: Reply, what: str) -> Any:
    """Turn an HTTP answer into its body or into one of the verdicts."""
    if reply.status < 300:
        if isinstance(reply.body, dict | list):
            return reply.body
        raise OutcomeUnknown(f"{what} answered without JSON")
    code = _code_of(reply.body)
    if reply.status == 404:
        raise Missing(f"{what}: not found")
    if reply.status == 429:
        raise Transient(f"{what}: too many requests")
    if code == "idempotency_mismatch":
        raise KeyMismatch("idempotency_mismatch")
    if reply.status == 409 and code in _KEY_CONFLICTS:
        raise KeyInUse(f"{what}: the key is in use")
    if reply.status >= 500:
        raise StoredFailure(f"{what}: {reply.status} {code}".strip())
    raise Refused(code or f"refused_{reply.status}")


# A 409 that is about the key: the same request is running. Any other is about the order, and final.
_KEY_CONFLICTS = frozenset({"", "conflict", "idempotency_key_in_use", "lock_timeout"})


def _code_of(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    error = body.get("error")
    found = error.get("code") if isinstance(error, dict) else body.get("code") or error
    return str(found or "")[:100]
