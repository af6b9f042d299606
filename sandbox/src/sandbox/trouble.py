"""How one call of a store system suffers a planned fault, and how a keyed write runs at most once around it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fastapi.responses import JSONResponse

from sandbox.adapters.answers import Answer, AnswerBook, KeyMode, Mismatch
from sandbox.adapters.database import Database
from sandbox.adapters.faults import Fault, FaultPlan
from sandbox.core.faults import ON_READ, ON_WRITE, FaultKind, Target

_SLOW_MS = 2_000


def refusal(status: int, code: str, message: str) -> Answer:
    """Return an error as the store's systems write them."""
    return Answer(status, {"error": {"code": code, "message": message}})


_DOWN = refusal(503, "unavailable", "the service is down")
_LOST = refusal(504, "timeout", "no answer in time")
_INTERNAL = refusal(500, "internal", "something went wrong on our side")
_BUSY = refusal(429, "rate_limited", "too many requests")
_IN_USE = refusal(409, "idempotency_key_in_use", "another request with this key is still running")
_MISMATCH = refusal(400, "idempotency_mismatch", "this key was used with other parameters")

_INSTEAD: dict[FaultKind, Answer] = {
    "down": _DOWN,
    "error_500": _INTERNAL,
    "error_429": _BUSY,
    "conflict_409": _IN_USE,
    "param_mismatch": _MISMATCH,
    "timeout_before_effect": _LOST,
}


@dataclass(frozen=True)
class Write:
    """One keyed write: whose fault plan it meets, its key's scope, and the body that must stay the same."""

    target: Target
    scope: str
    key: str
    body: object
    order_ids: frozenset[str]
    refused_status: int = 409
    key_mode: KeyMode = "stored"


class Trouble:
    """Runs reads and writes through the fault plan and the answer book."""

    def __init__(self, database: Database, faults: FaultPlan, answers: AnswerBook, hold_ms: int) -> None:
        self._database = database
        self._faults = faults
        self._answers = answers
        self._hold_ms = hold_ms

    async def read(
        self, target: Target, order_ids: frozenset[str] = frozenset(), kinds: frozenset[FaultKind] = ON_READ
    ) -> Answer | None:
        """Return the error this read must answer instead, or None."""
        fault = self._faults.take(target, kinds, order_ids)
        if fault is None:
            return None
        if fault.kind == "slow":
            await _pause(fault.delay_ms, _SLOW_MS)
        return await self._instead(fault)

    async def write(self, write: Write, act: Callable[[], Answer]) -> Answer:
        """Run ``act`` at most once per key (until the key is forgotten) and return its answer, or a fault's."""
        fault = self._faults.take(write.target, ON_WRITE, write.order_ids)
        instead = await self._instead(fault) if fault else None
        if instead is not None:
            return instead
        slot = (write.scope, write.key)
        if slot in self._answers.in_flight:
            return _IN_USE
        self._answers.in_flight.add(slot)
        try:
            if fault is not None and fault.kind == "slow":
                await _pause(fault.delay_ms, _SLOW_MS)
            answer = self._once(write, fault, act)
        finally:
            self._answers.in_flight.discard(slot)
        if fault is not None and fault.kind == "timeout_after_effect":
            await _pause(fault.delay_ms, self._hold_ms)
            return _LOST
        return answer

    def _once(self, write: Write, fault: Fault | None, act: Callable[[], Answer]) -> Answer:
        try:
            stored = self._answers.recall(write.scope, write.key, write.body, write.key_mode)
        except Mismatch:
            return _MISMATCH
        if stored is not None:
            return stored
        with self._database.transaction():
            if fault is not None and fault.kind == "stored_500":
                answer, keep = _INTERNAL, True
            elif fault is not None and fault.kind == "refuse":
                answer, keep = refusal(write.refused_status, "refused", "the request was declined"), True
            else:
                answer = act()
                # Final answers are replayed; what merely didn't fit (4xx but 402) may be tried again under the key.
                keep = answer.status < 300 or answer.status == 402
            if keep and not (write.key_mode == "success_only" and answer.status >= 300):
                self._answers.keep(write.scope, write.key, write.body, answer)
        return answer

    async def _instead(self, fault: Fault) -> Answer | None:
        """Return what a call answers that never gets to its effect, or None when the fault lets it through."""
        if fault.kind == "timeout_before_effect":
            await _pause(fault.delay_ms, self._hold_ms)
        return _INSTEAD.get(fault.kind)


def respond(answer: Answer) -> JSONResponse:
    """Send an answer as JSON, with Retry-After where it is a 429."""
    headers = {"retry-after": "1"} if answer.status == 429 else None
    return JSONResponse(answer.body, status_code=answer.status, headers=headers)


async def _pause(delay_ms: int | None, default_ms: int) -> None:
    await asyncio.sleep((default_ms if delay_ms is None else delay_ms) / 1000)
