"""Bodies of the controls and store systems, with limits that keep every bad one a clear 4xx."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from common.clock import SystemClock
from common.money import BadAmount, UnknownCurrency, exponent, parse_amount
from sandbox.core.faults import FaultKind, Target, can_suffer

# Any id a store may use (``#1001``, ``W1234567``), but nothing that can't stand in a path or a log line.
Id = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20/?\x7f]{1,128}$")]
Text = Annotated[str, StringConstraints(max_length=20_000)]
Line = Annotated[str, StringConstraints(max_length=500)]
Json = dict[str, Any]
_DELAY_MS_MAX = 24 * 3600 * 1000


class Body(BaseModel):
    """A request body; unknown members are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Customer(Body):
    """``PUT /_sandbox/customers/{id}``."""

    name: Line
    email: Line
    phone: Line | None = None
    tier: Literal["standard", "enterprise"] = "standard"
    lifetime_value: Line | int | float = "0.00"
    fraud_score: float = Field(default=0.0, ge=0, le=1)
    open_tickets: list[Any] = Field(default_factory=list, max_length=1000)
    address: Json | None = None
    locale: Line | None = None


class OrderLine(Body):
    """One line of an order; ``paid`` in the order's currency, such as "64.00"."""

    line_id: Id
    title: Line
    quantity: int = Field(default=1, ge=1, le=1_000_000)
    paid: str


class Order(Body):
    """``PUT /_sandbox/orders/{order_id}``."""

    customer_id: Id
    status: Literal["processing", "shipped", "delivered", "lost", "cancelled"]
    currency: str
    placed_at: AwareDatetime = Field(default_factory=lambda: SystemClock().now())
    shipped_at: AwareDatetime | None = None
    delivered_at: AwareDatetime | None = None
    address: Json = Field(default_factory=dict)
    tracking_url: Line | None = None
    note: Text = ""
    lines: list[OrderLine] = Field(min_length=1, max_length=1000)

    @field_validator("currency")
    @classmethod
    def _known(cls, currency: str) -> str:
        return _checked_currency(currency)

    @model_validator(mode="after")
    def _fits(self) -> "Order":
        for line in self.lines:
            _checked_amount(line.paid, self.currency)
        if len({line.line_id for line in self.lines}) != len(self.lines):
            raise ValueError("line_id must be unique in an order")
        return self


class OutsideRefund(Body):
    """``POST /_sandbox/refunds``: made by somebody else, at the provider's dashboard."""

    order_id: Id
    line_id: Id | None = None
    amount: str
    currency: str

    @model_validator(mode="after")
    def _fits(self) -> "OutsideRefund":
        _checked_currency(self.currency)
        _checked_amount(self.amount, self.currency)
        return self


class FaultBody(Body):
    """``POST /_sandbox/faults``; without ``times`` once, an outage without ``times`` until cleared."""

    target: Target
    kind: FaultKind
    times: int | None = Field(default=None, ge=1, le=1_000_000)
    delay_ms: int | None = Field(default=None, ge=0, le=_DELAY_MS_MAX)
    order_id: Id | None = None

    @model_validator(mode="after")
    def _sensible(self) -> "FaultBody":
        if not can_suffer(self.target, self.kind):
            raise ValueError(f"{self.target} can't suffer {self.kind}")
        return self

    def lasting(self) -> int | None:
        """Return how many calls it hits; None for an outage that lasts until cleared."""
        return self.times if self.times is not None or self.kind == "down" else 1


class Mail(Body):
    """``POST /mail``."""

    to: Line
    channel: Line
    subject: Line | None = None
    text: Text


class GuardAsk(Body):
    """``POST /guard``."""

    text: Annotated[str, StringConstraints(max_length=200_000)]
    where: Literal["customer", "tool_result", "reply"] = "customer"


class AccountChange(Body):
    """``PATCH /commerce/customers/{id}``."""

    field: Literal["email", "name", "phone", "address"]
    value: Line | Json


class LabelAsk(Body):
    """``POST /commerce/orders/{id}/labels``."""

    line_ids: list[Id] = Field(min_length=1, max_length=1000)


class RefundAsk(Body):
    """``POST /payments/v1/refunds``; the amount in minor units."""

    order_id: Id
    line_id: Id | None = None
    amount_minor: int = Field(gt=0, le=10**15, strict=True)
    currency: str
    metadata: Json = Field(default_factory=dict)


def _checked_currency(currency: str) -> str:
    try:
        exponent(currency)
    except UnknownCurrency as error:
        raise ValueError(str(error)) from None
    return currency


def _checked_amount(amount: str, currency: str) -> None:
    try:
        parse_amount(amount, currency)
    except (BadAmount, UnknownCurrency) as error:
        raise ValueError(str(error)) from None
