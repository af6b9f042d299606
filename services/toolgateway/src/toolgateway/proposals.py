"""Ledger before money: one transaction judges an ask under its locks and writes the row with its events (R2, R6)."""

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import asyncpg
from prometheus_client import Counter

from common import db
from common.money import from_minor
from toolgateway.adapters import operations, store
from toolgateway.asking import Asker, Asking, Context
from toolgateway.core.actions import Action
from toolgateway.core.asks import Ask, Standing
from toolgateway.core.digests import approval_digest
from toolgateway.core.judgments import AutomaticMoney, Judgment, tightened_by_switch
from toolgateway.core.policy import Policy
from toolgateway.core.transitions import Status
from toolgateway.core.twins import Number, Read

_VERDICTS = Counter("policy_verdicts_total", "What the policies answered", ["kind", "verdict", "reason"])


@dataclass(frozen=True)
class Written:
    """A new row: claimed and ready to run when ``pending``."""

    action: Action


@dataclass(frozen=True)
class Turned:
    """No row: denied, or a person's case."""

    judgment: Judgment
    policy_version: str


@dataclass(frozen=True)
class Stopped:
    """The operator has stopped all changes."""


Proposal: TypeAlias = Written | Read | Turned | Stopped


class Proposals:
    """Judges asks and writes rows."""

    def __init__(self, pool: db.Database, asking: Asking, *, claim_s: float, approval_s: float) -> None:
        self._pool, self._asking = pool, asking
        self._claim_s, self._approval_s = claim_s, approval_s

    async def propose(self, ask: Ask, asker: Asker, context: Context) -> Proposal:
        """Return the new row, the earlier one that answers, or why there is none."""
        policy = self._asking.policy_for(ask.customer_id)

        async def inside(conn: db.Connection) -> Proposal:
            return await self._propose(conn, ask, asker, context, policy)

        try:
            return await store.committed(self._pool, "propose", inside)
        except asyncpg.UniqueViolationError:
            # A twin that got past the locks (a fail-over) still loses on the key, and reads the winner's row.
            return await store.committed(self._pool, "propose", inside)

    async def _propose(self, conn: db.Connection, ask: Ask, asker: Asker, context: Context, policy: Policy) -> Proposal:
        await store.lock_subjects(conn, ask.order_id or ask.fact.name, ask.customer_id)
        rows = await store.load_standing(conn, ask.fact.name, ask.order_id)
        window = await store.load_window(conn, ask.customer_id, policy.refund.window_days, ask.currency)
        standing = Standing(tuple(rows), window.refunds, window.total)
        numbered = ask.answer_twin(standing)
        if isinstance(numbered, Read):
            return numbered
        if window.mode == "stop":
            return Stopped()
        judgment, facts = ask.judge(standing, policy)
        judgment, reservation = await self._automatic(conn, ask, judgment, policy, window)
        _VERDICTS.labels(ask.kind, judgment.verdict, judgment.reason).inc()
        if judgment.verdict in ("deny", "handoff"):
            await _audit_turned(conn, ask, asker, judgment, policy)
            return Turned(judgment, policy.version)
        new = self._row(
            ask, asker, context, number=numbered, judgment=judgment, facts=facts, policy=policy, reservation=reservation
        )
        action = await store.insert_action(conn, new)
        await store.publish(conn, action, None, inline=asker.waits)
        return Written(action)

    async def _automatic(
        self, conn: db.Connection, ask: Ask, judgment: Judgment, policy: Policy, window: store.Window
    ) -> tuple[Judgment, store.Reservation | None]:
        """Take an automatic row's share of the hour's money, or turn it into one for approval."""
        minor, currency = ask.minor_units, ask.currency
        if judgment.verdict != "auto" or minor is None or currency is None:
            return judgment, None
        held = await store.reserve_automatic(conn, currency, minor)
        hour, day = _ceilings(policy, window, currency)
        before = AutomaticMoney(
            from_minor(held.this_hour - minor, currency), from_minor(held.this_day - minor, currency), hour, day
        )
        tightened = tightened_by_switch(judgment, window.mode, before, ask.money)
        if tightened.verdict == "auto":
            return judgment, held
        await store.release_automatic(conn, currency, held.hour, minor)
        return tightened, None

    def _row(
        self,
        ask: Ask,
        asker: Asker,
        context: Context,
        *,
        number: Number,
        judgment: Judgment,
        facts: dict[str, object],
        policy: Policy,
        reservation: store.Reservation | None,
    ) -> store.NewAction:
        key = ask.fact.key(n=number.n, generation=number.generation)
        status: Status = "awaiting_approval" if judgment.verdict == "approval" else "pending"
        money, currency = ask.money, ask.currency
        digest = approval_digest(
            key=key,
            generation=number.generation,
            version=1,
            kind=ask.kind,
            customer_id=ask.customer_id,
            currency=currency,
            minor_units=ask.minor_units,
            args=ask.args,
            policy_version=policy.version,
            facts=facts,
        )
        return store.NewAction(
            key=key,
            fact=ask.fact.name,
            n=number.n,
            generation=number.generation,
            kind=ask.kind,
            customer_id=ask.customer_id,
            conversation_id=asker.conversation_id,
            order_id=ask.order_id,
            line_id=ask.line_id,
            amount=money,
            currency=currency,
            minor_units=ask.minor_units,
            args=ask.args,
            request=ask.request(key),
            status=status,
            verdict=judgment.verdict,
            policy_version=policy.version,
            policy_reason=judgment.reason,
            approved_by=asker.person.staff if asker.person and judgment.verdict == "staff" else None,
            external_ref=None,
            requested_by=asker.name,
            requested_staff=asker.person.staff if asker.person else None,
            facts=facts,
            digest=digest,
            context=context.recorded or {},
            leads_only=judgment.leads_only,
            expires_s=self._approval_s if status == "awaiting_approval" else None,
            claim_s=self._claim_s if status == "pending" else None,
            reserved_hour=reservation.hour if reservation else None,
        )


def _ceilings(policy: Policy, window: store.Window, currency: str) -> tuple[Decimal | None, Decimal | None]:
    """Return the hour's and the day's ceiling: an operator's own where one is set, else the policy's."""
    shipped = policy.automatic_money.get(currency)
    chosen = window.ceilings.get(currency) or (shipped.model_dump() if shipped else None)
    return (Decimal(chosen["hour"]), Decimal(chosen["day"])) if chosen else (None, None)


async def _audit_turned(conn: db.Connection, ask: Ask, asker: Asker, judgment: Judgment, policy: Policy) -> None:
    await operations.save_audit(
        conn,
        ask.kind,
        asker.name,
        customer_id=ask.customer_id,
        conversation_id=asker.conversation_id,
        order_id=ask.order_id,
        verdict=judgment.verdict,
        reason=judgment.reason,
        policy_version=policy.version,
        details={"args": ask.args} if ask.kind != "account_change" else {"field": ask.args["field"]},
    )
