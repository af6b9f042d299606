"""Payment webhooks: each is a hint to look at the provider, whose list then says what is true (R3)."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from common import db
from common.errors import Transient
from common.inbox import first_time
from common.telemetry import get_logger
from toolgateway.adapters import operations, store
from toolgateway.adapters.payments import PaymentEvent, Payments, ProviderRefund
from toolgateway.core.actions import Action

_GROUP = "payments-hook"
Work: TypeAlias = Callable[[db.Connection, PaymentEvent], Awaitable[None]]
_log = get_logger()


class Hooks:
    """Takes checked webhooks once each; twice, early and out of order they lead to the same row."""

    def __init__(self, pool: db.Database, payments: Payments) -> None:
        self._pool, self._payments = pool, payments

    async def on_payment_event(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """Return whether the event was news. Raises Malformed for a bad signature, Transient to have it sent again."""
        event = self._payments.read_event(headers, body, now)
        if event.type == "dispute.created":
            return await self._once(event, self._dispute)
        if event.order_id is None:
            return False
        refunds = {r.key: r for r in await self._payments.list_refunds(event.order_id) if r.key}

        async def apply(conn: db.Connection, _: PaymentEvent) -> None:
            for key, refund in refunds.items():
                await self._apply(conn, key, refund)

        return await self._once(event, apply)

    async def _once(self, event: PaymentEvent, work: Work) -> bool:
        async def inside(conn: db.Connection) -> bool:
            if not await first_time(conn, _GROUP, [event.event_id]):
                return False
            await work(conn, event)
            return True

        return await store.committed(self._pool, "hook", inside)

    async def _apply(self, conn: db.Connection, key: str, refund: ProviderRefund) -> None:
        row = await store.load_action(conn, key)
        if row is None or (row.minor_units, row.currency) != (refund.amount_minor, refund.currency):
            await operations.open_task(conn, refund.refund_id, "refund_without_row", {"order_id": refund.order_id})
            return
        # Whoever holds the claim is about to write this very outcome: the provider sends the event again later.
        if row.status == "pending" and await store.is_claimed(conn, key):
            raise Transient("the row is being worked on")
        await self._follow(conn, row, refund)

    async def _follow(self, conn: db.Connection, row: Action, refund: ProviderRefund) -> None:
        """Bring the row to where the provider is; a step the row's life doesn't have is no step."""
        match (row.status, refund.status):
            case ("succeeded", "failed") if row.external_ref == refund.refund_id:
                await store.finish(conn, row, "failed", "bank_returned", error="returned_by_bank")
                if row.conversation_id is None:
                    # Nobody talks with the customer any more, so nobody would hear of it.
                    await operations.open_task(conn, row.key, "returned_by_bank", {})
            case ("pending", "failed"):
                await store.finish(conn, row, "failed", "refused", error="returned_by_bank")
            case ("pending", "succeeded"):
                await store.finish(conn, row, "succeeded", "adopted", reference=refund.refund_id)
            case ("failed", "succeeded") if row.cause != "bank_returned":
                await store.finish(conn, row, "succeeded", "adopted", reference=refund.refund_id)
            case _:
                return

    async def _dispute(self, conn: db.Connection, event: PaymentEvent) -> None:
        """A charge-back after a refund is money out twice: nothing here can mend it, a person has to know."""
        about = event.order_id or event.event_id
        await operations.open_task(conn, about, "dispute", {"event": event.event_id})
        await operations.save_audit(conn, "dispute", "provider", order_id=event.order_id, reason="dispute_open")
