"""The policy file as frozen values: every limit the tools obey, under one version that each row records."""

import hashlib
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.money import exponent, format_amount, parse_amount

Version = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\.[0-9]+$")]
Money = Annotated[str, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,3})?$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
OrderStatus = Literal["processing", "shipped", "delivered", "lost", "cancelled"]
AccountField = Literal["email", "name", "phone", "address"]


class Section(BaseModel):
    """A part of the file; a key nobody reads is a mistake somebody would rely on."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Section):
    """One currency's two lines: automatic up to the first, a person's case above the second."""

    automatic: Money
    handoff: Money


class Ceiling(Section):
    """How much may leave automatically in one currency, all customers together."""

    hour: Money
    day: Money


class RefundPolicy(Section):
    """SPEC §6's table in numbers."""

    reasons: tuple[str, ...]
    order_statuses: tuple[OrderStatus, ...]
    window_days: Annotated[int, Field(gt=0)]
    refunds_in_window: Annotated[int, Field(ge=0)]
    sum_in_window: dict[Currency, Money] = {}
    fraud_score_above: Annotated[float, Field(ge=0, le=1)]
    confidence_below: Annotated[float, Field(ge=0, le=1)]
    limits: dict[Currency, Limits]


class ChangePolicy(Section):
    """A change of an order that hasn't left yet: a cancellation or a new address."""

    order_statuses: tuple[OrderStatus, ...]
    confidence_below: Annotated[float, Field(ge=0, le=1)]


class LabelPolicy(Section):
    """A return label: delivered, and not too long ago."""

    order_statuses: tuple[OrderStatus, ...]
    window_days: Annotated[int, Field(gt=0)]
    confidence_below: Annotated[float, Field(ge=0, le=1)]


class AccountPolicy(Section):
    """A change of the customer's own record, after a one-time code."""

    fields: tuple[AccountField, ...]
    confidence_below: Annotated[float, Field(ge=0, le=1)]


class Policy(Section):
    """One reviewed version of all rules."""

    version: Version
    refund: RefundPolicy
    cancel: ChangePolicy
    address_change: ChangePolicy
    return_label: LabelPolicy
    account_change: AccountPolicy
    automatic_money: dict[Currency, Ceiling]

    @model_validator(mode="after")
    def _amounts_are_exact(self) -> "Policy":
        for currency, limits in self.refund.limits.items():
            if parse_amount(limits.automatic, currency) > parse_amount(limits.handoff, currency):
                raise ValueError(f"{currency}: the automatic limit is above the handoff limit")
        for currency, ceiling in self.automatic_money.items():
            parse_amount(ceiling.hour, currency), parse_amount(ceiling.day, currency)
        for currency, total in self.refund.sum_in_window.items():
            parse_amount(total, currency)
        return self

    def limits(self, currency: str) -> tuple[Decimal, Decimal] | None:
        """Return (automatic up to, handoff above) in ``currency``, or None where nothing is configured."""
        found = self.refund.limits.get(currency)
        return (Decimal(found.automatic), Decimal(found.handoff)) if found else None

    def window_sum(self, currency: str) -> Decimal | None:
        """Return the optional limit on one customer's refunds in the window."""
        total = self.refund.sum_in_window.get(currency)
        return Decimal(total) if total else None

    def scaled_ceiling(self, ceiling: Decimal, currency: str) -> Decimal | None:
        """Turn a person's ceiling, told in US dollars, into ``currency`` by the ratio of the handoff limits."""
        here, base = self.limits(currency), self.limits("USD")
        if here is None or base is None or base[1] == 0:
            return None
        scaled = (ceiling * here[1] / base[1]).quantize(Decimal(1).scaleb(-exponent(currency)), rounding="ROUND_DOWN")
        return Decimal(format_amount(scaled, currency))


class Rollout(BaseModel):
    """The version in force and, for a share of customers, the next one."""

    model_config = ConfigDict(frozen=True)

    current: Policy
    candidate: Policy | None = None
    percent: Annotated[int, Field(ge=0, le=100)] = 5

    def policy_for(self, customer_id: str) -> Policy:
        """Return the customer's policy: the same one in every chat, so that nobody shops for a laxer one."""
        if self.candidate is None:
            return self.current
        # The version is part of the hash, so that it isn't always the same customers who go first.
        digest = hashlib.sha256(f"{self.candidate.version}\x1f{customer_id}".encode()).digest()
        return self.candidate if int.from_bytes(digest[:4], "big") % 100 < self.percent else self.current

    def named(self, version: str) -> Policy | None:
        """Return the policy of a recorded version while it is still loaded."""
        return next((p for p in (self.current, self.candidate) if p is not None and p.version == version), None)
