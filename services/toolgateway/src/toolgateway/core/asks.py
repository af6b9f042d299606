"""An ask with everything gathered that its policy reads; it answers twins and judges itself, purely."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import AwareDatetime

from common.events.model import ActionKind
from common.money import format_amount, to_minor
from toolgateway.core import keys
from toolgateway.core.actions import Action
from toolgateway.core.changes import (
    CancelFacts,
    Doubts,
    LabelFacts,
    decide_account_change,
    decide_address_change,
    decide_cancel,
    decide_return_label,
)
from toolgateway.core.digests import canonical_json
from toolgateway.core.judgments import Judgment
from toolgateway.core.money_facts import MoneyFacts
from toolgateway.core.orders import Order, trimmed
from toolgateway.core.policy import Policy
from toolgateway.core.refunds import RefundAsk, RefundFacts, decide_refund, decide_staff_refund, refundable
from toolgateway.core.transitions import BINDING
from toolgateway.core.twins import By, Number, Read, answer_counted, answer_once


@dataclass(frozen=True)
class Standing:
    """What the ledger holds, read under the locks: the fact's and the order's rows, and the customer's window."""

    rows: tuple[Action, ...]
    refunds_in_window: int = 0
    sum_in_window: Decimal = Decimal(0)

    def newest_of(self, fact: str) -> Action | None:
        """Return the fact's newest row: the highest number, then the highest generation."""
        return max((r for r in self.rows if r.fact == fact), key=lambda r: (r.n, r.generation), default=None)

    def binding(self, kind: str) -> bool:
        """Say whether an open or succeeded row of ``kind`` binds the order."""
        return any(row.kind == kind and row.status in BINDING for row in self.rows)


@dataclass(frozen=True)
class Ask(ABC):
    """What somebody wants done. ``ceiling`` is an asking member of staff's own; None is a lead's, without limit."""

    kind: ClassVar[ActionKind]
    customer_id: str
    doubts: Doubts
    ceiling: Decimal | None = None

    @property
    @abstractmethod
    def fact(self) -> keys.Fact: ...

    @property
    @abstractmethod
    def args(self) -> dict[str, Any]:
        """The canonical arguments; equal asks have equal arguments."""

    @abstractmethod
    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:
        """Return the judgment and the facts it was based on."""

    order_id: str | None = None
    line_id: str | None = None
    currency: str | None = None

    @property
    def money(self) -> Decimal | None:
        """The amount that moves, in ``currency``."""
        return None

    @property
    def minor_units(self) -> int | None:
        """The amount that moves in minor units."""
        return None if self.money is None or self.currency is None else to_minor(self.money, self.currency)

    @property
    def by(self) -> By:
        """Whose rules of repetition hold."""
        return "staff" if self.doubts.by_staff else "agent"

    def same_as(self, row: Action) -> bool:
        """Say whether the row is about this very wish."""
        return self.args == row.args

    def answer_twin(self, standing: Standing) -> Read | Number:
        """Say what an earlier row of the same fact means for this ask."""
        newest = standing.newest_of(self.fact.name)
        same = newest is not None and self.same_as(newest)
        if self.fact.counted:
            return answer_counted(newest, same=same, by=self.by)
        return answer_once(newest, same=same, more_possible=self.more_possible(standing), by=self.by)

    def more_possible(self, standing: Standing) -> bool:  # noqa: ARG002 - a refund's answer depends on it
        """Say whether a different ask for the same fact could still be granted in part."""
        return False

    def request(self, key: str) -> str:  # noqa: ARG002 - a refund's bytes name the key
        """Return the request's frozen bytes."""
        return canonical_json(self.args)


@dataclass(frozen=True, kw_only=True)
class RefundOfLine(Ask):
    """Money back for one line."""

    kind = "refund"
    order: Order
    line: str
    amount: Decimal
    reason: str
    paid_back: MoneyFacts | None
    fraud_score: float | None
    own_key: str | None = None

    @property
    def fact(self) -> keys.Fact:
        return keys.refund(self.order.order_id, self.line)

    @property
    def args(self) -> dict[str, Any]:
        text = format_amount(self.amount, self.order.currency)
        return {"order_id": self.order.order_id, "line_id": self.line, "amount": text, "reason": self.reason}

    @property
    def money(self) -> Decimal | None:
        return self.amount

    def same_as(self, row: Action) -> bool:
        # A twin is the same money for the same line; the words for why may differ.
        return row.amount == self.amount

    def more_possible(self, standing: Standing) -> bool:
        return (refundable(self._facts(standing)) or Decimal(0)) > 0

    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:
        facts = self._facts(standing)
        recorded = {
            "order": order_snapshot(self.order)
            | {"line_refunded": _text(facts.line_refunded, facts.currency), "disputed": facts.disputed},
            "refunds_in_window": facts.refunds_in_window,
            "sum_in_window": _text(facts.sum_in_window, facts.currency),
            "order_rest": _text(facts.order_rest, facts.currency),
            "fraud_score": _score(facts.fraud_score),
            "guard": facts.guard,
            "intent_confidence": _score(facts.intent_confidence),
        }
        if self.paid_back is None:
            return Judgment("handoff", "payment_facts_unavailable"), recorded
        ask = RefundAsk(self.line, self.amount, self.reason)
        if self.doubts.by_staff:
            return decide_staff_refund(ask, facts, policy, self.ceiling), recorded
        return decide_refund(ask, facts, policy), recorded

    def request(self, key: str) -> str:
        return canonical_json(
            {
                "order_id": self.order.order_id,
                "line_id": self.line,
                "amount_minor": to_minor(self.amount, self.order.currency),
                "currency": self.order.currency,
                "metadata": {"ledger_key": key},
            }
        )

    def _facts(self, standing: Standing) -> RefundFacts:
        money = self.paid_back
        # A payment in another currency than the order's can't be weighed against it: nothing is refundable.
        usable = money is not None and money.currency == self.order.currency
        return RefundFacts(
            currency=self.order.currency,
            order_status=self.order.status,
            line_paid=self.order.paid_for(self.line),
            line_refunded=money.line_refunded(self.line, standing.rows, self.own_key) if money and usable else None,
            order_rest=money.rest(standing.rows, self.own_key, past_dispute=True) if money and usable else None,
            refunds_in_window=standing.refunds_in_window,
            sum_in_window=standing.sum_in_window,
            fraud_score=self.fraud_score,
            disputed=money.disputed if money else None,
            guard=self.doubts.guard,
            intent_confidence=self.doubts.intent_confidence,
            open_cancel=standing.binding("cancel"),
        )


@dataclass(frozen=True, kw_only=True)
class Cancellation(Ask):
    """A whole order, before it leaves."""

    kind = "cancel"
    order: Order
    reason: str
    paid_back: MoneyFacts | None

    @property
    def fact(self) -> keys.Fact:
        return keys.cancel(self.order.order_id)

    @property
    def args(self) -> dict[str, Any]:
        return {"order_id": self.order.order_id, "reason": self.reason}

    @property
    def money(self) -> Decimal | None:
        amount = self._returned()
        return amount if amount else None

    def same_as(self, row: Action) -> bool:  # noqa: ARG002 - an order is cancelled or not
        return True

    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:
        amount = self._returned()
        disputed = self.paid_back.disputed if self.paid_back else None
        recorded = {
            "order": order_snapshot(self.order)
            | {"returned": _text(amount, self.order.currency), "disputed": disputed},
            "guard": self.doubts.guard,
            "intent_confidence": _score(self.doubts.intent_confidence),
        }
        facts = CancelFacts(self.order.currency, self.order.status, amount, standing.binding("refund"), disputed)
        if self.paid_back is None and self.order.status in policy.cancel.order_statuses:
            return Judgment("handoff", "payment_facts_unavailable"), recorded
        return decide_cancel(facts, self.doubts, policy, self.ceiling), recorded

    def _returned(self) -> Decimal | None:
        if self.paid_back is None:
            return None
        rest = self.paid_back.rest((), past_dispute=True)
        return max(Decimal(0), min(rest, self.order.paid_total()))


@dataclass(frozen=True, kw_only=True)
class AddressChange(Ask):
    """Another delivery address, before the order leaves."""

    kind = "address_change"
    order: Order
    address: dict[str, str]

    @property
    def fact(self) -> keys.Fact:
        return keys.address_change(self.order.order_id)

    @property
    def args(self) -> dict[str, Any]:
        return {"order_id": self.order.order_id, "address": self.address}

    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:
        recorded = {"order": order_snapshot(self.order), "guard": self.doubts.guard}
        if standing.binding("cancel"):
            return Judgment("deny", "order_cancelled"), recorded
        return decide_address_change(self.order.status, self.doubts, policy), recorded


@dataclass(frozen=True, kw_only=True)
class ReturnLabel(Ask):
    """A label for lines of a delivered order."""

    kind = "return_label"
    order: Order
    line_ids: tuple[str, ...]
    reason: str
    now: AwareDatetime

    @property
    def fact(self) -> keys.Fact:
        return keys.return_label(self.order.order_id, self.line_ids)

    @property
    def args(self) -> dict[str, Any]:
        return {"order_id": self.order.order_id, "line_ids": list(self.line_ids), "reason": self.reason}

    def same_as(self, row: Action) -> bool:
        return bool(row.args["line_ids"] == list(self.line_ids))

    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:  # noqa: ARG002
        known = all(self.order.paid_for(line) is not None for line in self.line_ids)
        facts = LabelFacts(self.order.status, self.order.delivered_at, known)
        recorded = {"order": order_snapshot(self.order), "guard": self.doubts.guard}
        return decide_return_label(facts, self.doubts, policy, self.now), recorded


@dataclass(frozen=True, kw_only=True)
class AccountChange(Ask):
    """One field of the customer's own record."""

    kind = "account_change"
    field: str
    value: str | dict[str, str]
    stepped_up: bool

    @property
    def fact(self) -> keys.Fact:
        return keys.account_change(self.customer_id, self.field)

    @property
    def args(self) -> dict[str, Any]:
        return {"field": self.field, "value": self.value}

    def judge(self, standing: Standing, policy: Policy) -> tuple[Judgment, dict[str, Any]]:  # noqa: ARG002
        recorded: dict[str, Any] = {"order": {}, "guard": self.doubts.guard, "stepped_up": self.stepped_up}
        return decide_account_change(self.field, self.doubts, policy, stepped_up=self.stepped_up), recorded


def order_snapshot(order: Order) -> dict[str, Any]:
    """Return what of an order an approval is bound to: whatever a person would decide differently about."""
    return {name: value for name, value in trimmed(order).items() if name != "tracking_url"}


def _text(amount: Decimal | None, currency: str) -> str | None:
    return None if amount is None else format_amount(amount, currency)


def _score(value: float | None) -> str | None:
    # As text: a digest must not hang on how some program prints a float, and NaN has no JSON form.
    return None if value is None else f"{value:.4f}"
