"""The rules of everything that isn't a refund: cancellation, address, return label, account."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from toolgateway.core.judgments import Judgment
from toolgateway.core.policy import Policy
from toolgateway.core.refunds import doubt


@dataclass(frozen=True)
class Doubts:
    """What the caller says of its input; ``by_staff`` when a person asks, whose word needs no guard."""

    guard: str | None
    intent_confidence: float | None
    by_staff: bool = False


@dataclass(frozen=True)
class CancelFacts:
    """An order as a cancellation sees it; ``amount`` is what was paid less what was refunded."""

    currency: str
    order_status: str
    amount: Decimal | None
    open_refund: bool
    disputed: bool | None = False


def decide_cancel(  # noqa: PLR0911 - one return for each rule, in their order
    facts: CancelFacts, doubts: Doubts, policy: Policy, ceiling: Decimal | None = None
) -> Judgment:
    """Judge a cancellation: before shipping only, automatic up to the currency's handoff limit.

    ``ceiling`` is the asking member of staff's own, None for a lead's; it is read only when ``doubts.by_staff``.
    """
    if facts.order_status not in policy.cancel.order_statuses:
        return Judgment("deny", "already_shipped" if facts.order_status != "cancelled" else "already_cancelled")
    if facts.open_refund:
        return Judgment("deny", "order_has_refund")
    if facts.amount is None:
        return Judgment("deny", "refundable_unknown")
    if facts.disputed is not False:
        return Judgment("deny" if doubts.by_staff else "handoff", "dispute_open")
    limits = policy.limits(facts.currency)
    if doubts.by_staff:
        if ceiling is not None and facts.amount > ceiling:
            return Judgment("approval", "above_own_ceiling", leads_only=limits is None)
        return Judgment("staff", "own_authority")
    if limits is None:
        return Judgment("approval", "currency_without_limits", leads_only=True)
    if facts.amount > limits[1]:
        return Judgment("approval", "above_handoff_limit")
    return _doubted(doubts, policy.cancel.confidence_below)


def decide_address_change(order_status: str, doubts: Doubts, policy: Policy) -> Judgment:
    """Judge a new delivery address: only while the parcel is still here."""
    if order_status not in policy.address_change.order_statuses:
        return Judgment("deny", "already_shipped")
    return _doubted(doubts, policy.address_change.confidence_below)


@dataclass(frozen=True)
class LabelFacts:
    """An order as a return label sees it; ``lines_known`` is false when a line isn't of this order."""

    order_status: str
    delivered_at: datetime | None
    lines_known: bool


def decide_return_label(facts: LabelFacts, doubts: Doubts, policy: Policy, now: datetime) -> Judgment:
    """Judge a return label: delivered, known lines, inside the return window."""
    if not facts.lines_known:
        return Judgment("deny", "unknown_line")
    if facts.order_status not in policy.return_label.order_statuses:
        return Judgment("deny", "order_not_delivered")
    window = timedelta(days=policy.return_label.window_days)
    if facts.delivered_at is None or now - facts.delivered_at > window:
        return Judgment("deny", "return_window_over")
    return _doubted(doubts, policy.return_label.confidence_below)


def decide_account_change(field: str, doubts: Doubts, policy: Policy, *, stepped_up: bool) -> Judgment:
    """Judge a change of the customer's record: known field, and a one-time code consumed by code, not claimed."""
    if field not in policy.account_change.fields:
        return Judgment("deny", "field_not_changeable")
    if not stepped_up and not doubts.by_staff:
        return Judgment("deny", "step_up_required")
    return _doubted(doubts, policy.account_change.confidence_below)


def _doubted(doubts: Doubts, confidence_below: float) -> Judgment:
    if doubts.by_staff:
        return Judgment("staff", "own_authority")
    found = doubt(doubts.guard, doubts.intent_confidence, confidence_below)
    return found or Judgment("auto", "within_rules")
