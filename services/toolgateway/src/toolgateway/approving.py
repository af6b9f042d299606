"""A person's decision about a waiting row: one conditional update, bound to version and digest (R13)."""

from dataclasses import dataclass
from typing import Any, Literal

from common import db
from common.errors import Transient, Verdict
from toolgateway.adapters import operations, store
from toolgateway.adapters.staff import StaffDirectory
from toolgateway.asking import Asking, OrderMissing, WrongAmount
from toolgateway.core.actions import Action
from toolgateway.core.asks import Ask, Standing
from toolgateway.core.ceilings import Decidable, Person, why_not
from toolgateway.core.digests import approval_digest
from toolgateway.core.judgments import Judgment, is_worse

Refusal = Literal["missing", "forbidden", "stale", "unavailable"]


@dataclass(frozen=True)
class Decided:
    """The row after the decision; a row that was approved is ``pending``, claimed, and has to be run by the caller."""

    action: Action


@dataclass(frozen=True)
class NotDecided:
    """Nothing was decided: 404, 403, 409 or 503 in HTTP's words."""

    why: Refusal
    reason: str


@dataclass(frozen=True)
class Decision:
    """What a person says of one version of a row; ``what`` is whatever was written, and only two words count."""

    version: int
    what: str | None
    note: str = ""
    digest: str | None = None


class Approving:
    """Decides rows, asks anew where the ground has moved, and hands overdue ones to the leads."""

    def __init__(
        self, pool: db.Database, asking: Asking, directory: StaffDirectory, *, claim_s: float, approval_s: float
    ) -> None:
        self._pool, self._asking, self._directory = pool, asking, directory
        self._claim_s, self._approval_s = claim_s, approval_s

    async def decide(
        self, person: Person, key: str, decision: Decision, credential: str | None = None
    ) -> Decided | NotDecided:
        """Apply a decision; anything but ``approve`` or ``reject`` decides nothing.

        ``credential`` is the person's own login token where they came past the console.
        """
        row = await store.load_action(self._pool, key)
        if row is None:
            return NotDecided("missing", "there is no such row")
        refusal = _out_of_date(row, decision.version, decision.digest) or self._not_allowed(person, row)
        if refusal is None and decision.what not in ("approve", "reject"):
            refusal = NotDecided("stale", "neither approve nor reject: nothing was decided")
        if refusal is not None:
            return await self._audited(row, person, decision.what, refusal)
        if decision.what == "reject":
            return await self._save(row, "rejected", person, decision.note, None)
        return await self._approve(row, person, decision.note, credential)

    async def _approve(self, row: Action, person: Person, note: str, credential: str | None) -> Decided | NotDecided:
        """Approve: the person as the staff table knows them now, and the facts as they are now."""
        known = await self._directory.load(person, credential)
        if known is None:
            return await self._audited(
                row, person, "approve", NotDecided("unavailable", "the staff table can't be read")
            )
        if not known.active:
            return await self._audited(row, person, "approve", NotDecided("forbidden", "you are not on duty any more"))
        refusal = self._not_allowed(known.person, row)
        if refusal is not None:
            return await self._audited(row, person, "approve", refusal)
        try:
            ask = await self._asking.of_row(row)
        except (OrderMissing, WrongAmount) as e:
            return await self._void(row, {"order": {}}, Judgment("deny", "order_changed"), person, e.reason)
        except Verdict as e:
            return NotDecided("unavailable", e.reason)
        return await self._save(row, "pending", person, note, ask)

    async def _save(
        self, row: Action, status: Literal["pending", "rejected"], person: Person, note: str, ask: Ask | None
    ) -> Decided | NotDecided:
        async def inside(conn: db.Connection) -> Action | tuple[Judgment, dict[str, Any]] | None:
            await store.lock_subjects(conn, row.order_id or row.fact, row.customer_id)
            if ask is not None:
                moved = await self._moved(conn, row, ask)
                if moved is not None:
                    return moved
            return await store.decide(conn, row, status, staff=person.staff, note=note, claim_s=self._claim_s)

        outcome = await store.committed(self._pool, "decide", inside)
        if outcome is None:
            return await self._audited(
                row, person, status, NotDecided("stale", "somebody else decided, or it is overdue")
            )
        if isinstance(outcome, Action):
            return Decided(outcome)
        judgment, facts = outcome
        if judgment.reason == "stopped_by_operator":
            return NotDecided("stale", "all changes are stopped by the operator")
        if judgment.reason == "payment_facts_unavailable":
            return NotDecided("unavailable", "the payment's facts can't be read; nothing was decided")
        return await self._void(row, facts, judgment, person, "the facts have changed since this was asked")

    async def _moved(self, conn: db.Connection, row: Action, ask: Ask) -> tuple[Judgment, dict[str, Any]] | None:
        """Return today's judgment and facts when the row may not run as it was asked for; call it under the locks."""
        policy = self._asking.policy_for(row.customer_id)
        window = await store.load_window(conn, row.customer_id, policy.refund.window_days, row.currency)
        if window.mode == "stop":
            return Judgment("deny", "stopped_by_operator"), row.facts
        rows = await store.load_standing(conn, row.fact, row.order_id)
        others = tuple(r for r in rows if r.key != row.key)
        judgment, facts = ask.judge(Standing(others, window.refunds, window.total), policy)
        if is_worse(judgment, "approval") or facts["order"] != row.facts.get("order") or ask.args != row.args:
            return judgment, facts
        if ask.minor_units != row.minor_units:
            return Judgment("deny", "amount_changed"), facts
        return None

    async def _void(
        self, row: Action, facts: dict[str, Any], judgment: Judgment, person: Person, why: str
    ) -> NotDecided:
        """Retire the version that was decided on and ask anew with today's facts."""
        reason = judgment.reason if is_worse(judgment, "approval") else row.policy_reason
        await self._reissue(row, "voided", facts, reason, leads_only=judgment.leads_only)
        return await self._audited(row, person, "approve", NotDecided("stale", f"{why}: {judgment.reason}; asked anew"))

    async def escalate_overdue(self, limit: int = 100) -> list[str]:
        """Retire the versions of overdue rows and ask the leads; returns the keys."""
        return [
            row.key
            for row in await store.list_overdue(self._pool, limit)
            if await self._reissue(row, "overdue", row.facts, row.policy_reason, leads_only=True)
        ]

    async def _reissue(
        self, row: Action, cause: str, facts: dict[str, Any], reason: str, *, leads_only: bool
    ) -> Action | None:
        policy = self._asking.policy_for(row.customer_id)
        digest = approval_digest(
            key=row.key,
            generation=row.generation,
            version=row.version + 1,
            kind=row.kind,
            customer_id=row.customer_id,
            currency=row.currency,
            minor_units=row.minor_units,
            args=row.args,
            policy_version=policy.version,
            facts=facts,
        )

        async def inside(conn: db.Connection) -> Action | None:
            return await store.reissue(
                conn,
                row,
                cause,
                digest=digest,
                facts=facts,
                policy_version=policy.version,
                policy_reason=reason,
                leads_only=leads_only,
                expires_s=self._approval_s,
            )

        return await store.committed(self._pool, "reissue", inside)

    def _not_allowed(self, person: Person, row: Action) -> NotDecided | None:
        policy = self._asking.policy_for(row.customer_id)
        reason = why_not(person, Decidable(row.amount, row.currency, row.leads_only, row.requested_staff), policy)
        return NotDecided("forbidden", reason) if reason else None

    async def _audited(self, row: Action, person: Person, decision: str | None, refusal: NotDecided) -> NotDecided:
        await operations.save_audit(
            self._pool,
            "decision",
            f"staff:{person.staff}",
            customer_id=row.customer_id,
            conversation_id=row.conversation_id,
            order_id=row.order_id,
            verdict=refusal.why,
            reason=refusal.reason,
            details={"key": row.key, "version": row.version, "decision": decision},
        )
        return refusal

    async def recheck(self, row: Action) -> Judgment | None:
        """Return what forbids a pending row that is about to be sent again, or None (R5)."""
        try:
            ask = await self._asking.of_row(row)
        except (OrderMissing, WrongAmount):
            return Judgment("deny", "order_changed")
        policy = self._asking.policy_for(row.customer_id)
        rows = await store.load_standing(self._pool, row.fact, row.order_id)
        judgment, _ = ask.judge(Standing(tuple(r for r in rows if r.key != row.key)), policy)
        if judgment.reason == "payment_facts_unavailable":
            raise Transient("payment facts are unavailable")
        # The handoff limit was weighed when the row was written; a dispute wasn't there to be weighed.
        return judgment if judgment.verdict == "deny" or judgment.reason.startswith("dispute") else None


def _out_of_date(row: Action, version: int, digest: str | None) -> NotDecided | None:
    if row.status != "awaiting_approval":
        return NotDecided("stale", f"already decided: {row.status}")
    if row.version != version or (digest is not None and digest != row.digest):
        return NotDecided("stale", "this version was replaced; read the row again")
    return None
