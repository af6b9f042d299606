"""Carries a claimed row out and writes down how it ended: no transaction is open while anything outside is asked."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from prometheus_client import Counter

from common import db
from common.crash import crash_point
from common.errors import Verdict
from common.telemetry import get_logger, span
from toolgateway.adapters import old_addresses, operations, store
from toolgateway.adapters.old_addresses import OldAddresses
from toolgateway.core.actions import Action
from toolgateway.core.judgments import Judgment
from toolgateway.core.transitions import Status
from toolgateway.effects import Accepted, Done, Effects, Mismatch, NotDone, NotSent, Outcome, Unknown

# The same stored failure this often, with empty look-ups over the settle time, is an answer (R4).
_SAME_FAILURES = 5
_OUTCOMES = Counter("ledger_outcomes_total", "How attempts ended", ["kind", "outcome"])
_log = get_logger()


@dataclass(frozen=True)
class Patience:
    """Times of the money path in seconds; the claim outlives every call made under it."""

    timeout_s: float
    tries: int
    claim_s: float
    key_retention_s: float
    settle_s: float


@dataclass
class Audience:
    """Whether a caller still waits for this very change as its answer."""

    waiting: bool = True


Recheck = Callable[[Action], Awaitable[Judgment | None]]
LookBefore = Callable[[Action], Awaitable[OldAddresses | None]]


class Runner:
    """Runs claimed rows. Every write names the claim's version: whoever lost the claim can change nothing."""

    def __init__(self, pool: db.Database, effects: Effects, patience: Patience, look_before: LookBefore) -> None:
        self._pool, self._effects, self._patience = pool, effects, patience
        self._look_before = look_before

    async def first_try(self, action: Action, audience: Audience) -> Action:
        """Send a freshly written or freshly approved row, whose facts were read a moment ago."""
        with span("ledger.execute", kind=action.kind):
            return await self._settle(action, await self._attempt(action), audience, cause="settled")

    async def resume(self, key: str, recheck: Recheck) -> tuple[Action | None, bool]:
        """Take up a pending row that nobody holds; returns the row and whether this call worked on it.

        The outcome is looked up before anything is sent again, at any age. A waiting row is never started.
        """
        action = await store.committed(
            self._pool, "resume.claim", lambda conn: store.claim_pending(conn, key, self._patience.claim_s)
        )
        if action is None:
            return await store.load_action(self._pool, key), False
        audience = Audience(waiting=False)
        try:
            await crash_point("resume.before_look_up")
            found = await self._effects.look_up(action)
            await crash_point("resume.after_look_up")
        except Verdict as e:
            if self._age(action) > self._half_retention:
                await operations.open_task(self._pool, key, "outcome_unknown", {"error": e.reason})
            return await self._settle(action, Unknown(f"look_up: {e.reason}"), audience, cause="settled"), True
        if found is not None:
            return await self._settle(action, found, audience, cause="adopted"), True
        return await self._not_there(action, recheck, audience), True

    async def _not_there(  # noqa: PLR0911 - one return for each rule of R4, in their order
        self, action: Action, recheck: Recheck, audience: Audience
    ) -> Action:
        """Decide about a row whose effect isn't at the provider: send the same bytes again, or give up to a person."""
        settled = self._age(action) >= timedelta(seconds=self._patience.settle_s)
        if action.same_errors >= _SAME_FAILURES and _since(action) >= self._patience.settle_s:
            return await self._fail(action, "gave_up", "same_failure_again", audience)
        if self._age(action) > self._half_retention:
            if settled:
                return await self._fail(action, "gave_up", "too_old_to_retry", audience)
            return await self._settle(action, NotSent("waiting_for_the_provider_to_settle"), audience, cause="settled")
        switch = await operations.load_controls(self._pool)
        if switch["mode"] == "stop" or (switch["mode"] != "on" and action.verdict == "auto" and action.minor_units):
            return await self._settle(action, NotSent("kill_switch"), audience, cause="settled")
        try:
            objection = await recheck(action)
        except Verdict as e:
            return await self._settle(action, NotSent(f"recheck: {e.reason}"), audience, cause="settled")
        if objection is not None:
            return await self._fail(action, "refused", objection.reason, audience)
        return await self._settle(action, await self._attempt(action), audience, cause="settled")

    async def _attempt(self, action: Action) -> Outcome:
        """Send the request; again only after an answer that says it was not taken, and a look in between."""
        try:
            # Stop before the claim ends, by our own monotonic clock: a paused worker must not start another call.
            async with asyncio.timeout(self._patience.timeout_s * self._patience.tries):
                return await self._tries(action)
        except TimeoutError:
            return Unknown("no answer in time")

    async def _tries(self, action: Action) -> Outcome:
        outcome: Outcome = NotSent("not tried")
        try:
            await self._keep_old_addresses(action)
        except Verdict as e:
            # Once the account is changed nobody could say whom to tell: the change waits until that can be read.
            return NotSent(f"old_address: {e.reason}")
        for n in range(self._patience.tries):
            if n:
                await asyncio.sleep(random.uniform(0.05, 0.2) * 2**n)  # noqa: S311 - jitter, not a secret
                try:
                    found = await self._effects.look_up(action)
                except Verdict:
                    return outcome
                if found is not None:
                    return found
            await crash_point("pay.before_call")
            outcome = await self._effects.perform(action)
            await crash_point("pay.after_call")
            if not isinstance(outcome, NotSent):
                return outcome
        return outcome

    async def _keep_old_addresses(self, action: Action) -> None:
        found = await self._look_before(action)
        if found is not None and found.tell:
            await store.committed(self._pool, "keep_old_address", lambda conn: old_addresses.keep(conn, action, found))

    async def _settle(self, action: Action, outcome: Outcome, audience: Audience, *, cause: str) -> Action:
        _OUTCOMES.labels(action.kind, type(outcome).__name__).inc()
        match outcome:
            case Done(reference):
                return await self._finish(action, "succeeded", cause, audience, reference=reference)
            case NotDone(reason):
                return await self._fail(action, "refused", reason, audience)
            case Mismatch(reason):
                return await self._mismatched(action, reason, audience)
            case Accepted(reference):
                return await self._let_go(action, "accepted, not final yet", reference=reference)
            case NotSent(reason):
                return await self._let_go(action, reason)
            case Unknown(reason, stored):
                return await self._let_go(action, reason, stored=stored)
            case _:
                assert_never(outcome)

    async def _mismatched(self, action: Action, reason: str, audience: Audience) -> Action:
        """What stands under our key isn't ours: look once more, then it is a person's (R2)."""
        await operations.open_task(self._pool, action.key, "key_mismatch", {"reason": reason})
        try:
            found = await self._effects.look_up(action)
        except Verdict:
            return await self._let_go(action, "key_mismatch")
        if isinstance(found, Done):
            return await self._finish(action, "succeeded", "adopted", audience, reference=found.reference)
        if found is not None:
            return await self._let_go(action, "key_mismatch")
        return await self._fail(action, "refused", "key_mismatch", audience)

    async def _fail(self, action: Action, cause: str, reason: str, audience: Audience) -> Action:
        return await self._finish(action, "failed", cause, audience, reason=reason)

    async def _finish(
        self,
        action: Action,
        status: Status,
        cause: str,
        audience: Audience,
        *,
        reference: str | None = None,
        reason: str | None = None,
    ) -> Action:
        async def save(conn: db.Connection) -> Action | None:
            return await store.finish(
                conn, action, status, cause, reference=reference, error=reason, inline=audience.waiting
            )

        return await store.committed(self._pool, "settle", save) or await self._as_it_stands(action)

    async def _let_go(
        self, action: Action, error: str, *, stored: bool = False, reference: str | None = None
    ) -> Action:
        async def save(conn: db.Connection) -> Action | None:
            return await store.save_tried(conn, action, error, stored=stored, reference=reference)

        return await store.committed(self._pool, "let_go", save) or await self._as_it_stands(action)

    async def _as_it_stands(self, action: Action) -> Action:
        """Somebody with a newer claim was faster: their row is the truth."""
        _log.warning("lost the claim", key=action.key, version=action.version)
        return await store.load_action(self._pool, action.key) or action

    @property
    def _half_retention(self) -> timedelta:
        return timedelta(seconds=self._patience.key_retention_s / 2)

    def _age(self, action: Action) -> timedelta:
        # Both times are the database's: the claim just set updated_at.
        return action.updated_at - (action.first_tried_at or action.created_at)


def _since(action: Action) -> float:
    since = action.same_error_since
    return 0.0 if since is None else (action.updated_at - since).total_seconds()
