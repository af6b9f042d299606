"""The store's orders and customers as this service reads them, and what of them an answer may show."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from common.errors import Malformed
from common.links import shown_link
from common.money import BadAmount, UnknownCurrency, parse_amount


def _text_only(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("money travels as text")  # noqa: TRY004 - pydantic turns only this one into its own error
    return value


class OrderLine(BaseModel):
    """One line; ``paid`` is what was really paid for it, discounts shared out by the store."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    line_id: str
    title: str = ""
    quantity: int = 1
    paid: Annotated[str, BeforeValidator(_text_only)]


class Order(BaseModel):
    """An order as the commerce port gives it; its free-text note is never read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    order_id: str
    customer_id: str
    status: str
    currency: str
    placed_at: str | None = None
    shipped_at: str | None = None
    delivered_at: datetime | None = None
    address: dict[str, Any] = {}
    tracking_url: str | None = None
    lines: tuple[OrderLine, ...] = ()
    version: int | None = None
    # What the payment provider calls the payment, where the store records it (Stripe: the payment intent).
    payment_id: str | None = None

    def paid_for(self, line_id: str) -> Decimal | None:
        """Return what was paid for a line in the order's currency, or None when there is no such line."""
        found = next((line for line in self.lines if line.line_id == line_id), None)
        return None if found is None else self._money(found.paid)

    def paid_total(self) -> Decimal:
        """Return what was paid for all lines."""
        return sum((self._money(line.paid) for line in self.lines), Decimal(0))

    def _money(self, text: str) -> Decimal:
        try:
            return parse_amount(text, self.currency)
        except (BadAmount, UnknownCurrency) as e:
            raise Malformed("the order system wrote an amount that can't be read") from e


class Customer(BaseModel):
    """A customer's record, as far as rules and packets read it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    customer_id: str | None = None
    name: str | None = None
    email: str | None = None
    phone: str | None = None
    address: dict[str, Any] | None = None
    tier: str = "standard"
    fraud_score: float | None = None
    lifetime_value: str | float | int = "0.00"
    open_tickets: tuple[Any, ...] = ()
    locale: str | None = None


def trimmed(order: Order, link_hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return what an answer needs of an order: no owner, no free-text note, nothing unset.

    A tracking link names its host in ASCII; one to a host that is none of ``link_hosts`` (where there are any) is left
    out.
    """
    shown: dict[str, Any] = {
        "order_id": order.order_id,
        "status": order.status,
        "currency": order.currency,
        "placed_at": order.placed_at,
        "shipped_at": order.shipped_at,
        "delivered_at": order.delivered_at.isoformat().replace("+00:00", "Z") if order.delivered_at else None,
        "tracking_url": shown_link(order.tracking_url, link_hosts) if order.tracking_url else None,
        "address": order.address or None,
        "lines": [
            {"line_id": line.line_id, "title": line.title, "quantity": line.quantity, "paid": line.paid}
            for line in order.lines
        ],
    }
    return {name: value for name, value in shown.items() if value is not None}
