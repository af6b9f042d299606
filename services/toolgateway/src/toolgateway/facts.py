"""Gathers what the policies read, before any transaction is open; what can't be had comes back as None."""

import asyncio
from dataclasses import dataclass

from common.errors import Verdict
from toolgateway.adapters.commerce import Commerce
from toolgateway.adapters.old_addresses import OldAddresses
from toolgateway.adapters.payments import Payments
from toolgateway.core.actions import Action
from toolgateway.core.addressees import is_told, language_tag, old_addresses
from toolgateway.core.money_facts import MoneyFacts, Refunded
from toolgateway.core.orders import Customer, Order


@dataclass(frozen=True)
class RefundBackground:
    """Everything outside the ledger that a refund's policy reads."""

    money: MoneyFacts | None
    fraud_score: float | None


class Facts:
    """Reads the store's systems for the policies."""

    def __init__(self, commerce: Commerce, payments: Payments) -> None:
        self._commerce, self._payments = commerce, payments

    async def own_order(self, order_id: str, customer_id: str) -> Order | None:
        """Return the customer's own order; another's is None exactly as a missing one is, after the same look-up."""
        order = await self._commerce.load_order(order_id)
        return order if order is not None and order.customer_id == customer_id else None

    async def order(self, order_id: str) -> Order | None:
        """Return an order, whoever's it is: for rows whose customer is already known."""
        return await self._commerce.load_order(order_id)

    async def own_orders(self, customer_id: str) -> tuple[Order, ...]:
        """Return the customer's orders."""
        return await self._commerce.list_orders(customer_id)

    async def background(self, order_id: str, customer_id: str) -> RefundBackground:
        """Read payment, refunds and the customer's score side by side."""
        money, score = await asyncio.gather(self.money(order_id), self._fraud_score(customer_id))
        return RefundBackground(money, score)

    async def money(self, order_id: str) -> MoneyFacts | None:
        """Return what the provider says of an order's payment, or None when it can't say."""
        try:
            payment, refunds = await asyncio.gather(
                self._payments.load_payment(order_id), self._payments.list_refunds(order_id)
            )
        except Verdict:
            return None
        return MoneyFacts(
            currency=payment.currency,
            captured_minor=payment.captured_minor,
            refunded_minor=payment.refunded_minor,
            disputed=payment.disputed,
            refunds=tuple(Refunded(r.key, r.line_id, r.amount_minor) for r in refunds if r.status != "failed"),
        )

    async def customer(self, customer_id: str) -> Customer | None:
        """Return a customer's record, or None."""
        return await self._commerce.load_customer(customer_id)

    async def addresses_before(self, action: Action) -> OldAddresses | None:
        """Return where a row about to change an email or phone has to be told; None for any other row.

        Raises what the account system raises: without it nobody could be told.
        """
        if not is_told(action.kind, action.args):
            return None
        customer = await self._commerce.load_customer(action.customer_id)
        if customer is None:
            return None
        tell = old_addresses(action.args["field"], action.args["value"], customer)
        return OldAddresses(tell, language_tag(customer.locale))

    async def _fraud_score(self, customer_id: str) -> float | None:
        try:
            customer = await self._commerce.load_customer(customer_id)
        except Verdict:
            return None
        return customer.fraud_score if customer else None
