"""The refund policy of SPEC §6: facts first, then judgment, in the table's own order.

A fact that can't be had counts at its worst: None stands for it everywhere here.
"""

from dataclasses import dataclass
from decimal import Decimal

from toolgateway.core.judgments import Judgment
from toolgateway.core.policy import Policy


@dataclass(frozen=True)
class RefundAsk:
    """What is wanted; ``amount`` is None when what was written isn't an amount in the order's currency."""

    line_id: str
    amount: Decimal | None
    reason: str


@dataclass(frozen=True)
class RefundFacts:
    """Everything the policy reads, in the order's currency; None is a fact that could not be had.

    ``line_paid`` None: the order has no such line. ``order_rest``: captured less refunded less disputed.
    """

    currency: str
    order_status: str
    line_paid: Decimal | None
    line_refunded: Decimal | None
    order_rest: Decimal | None
    refunds_in_window: int | None
    sum_in_window: Decimal | None
    fraud_score: float | None
    disputed: bool | None
    guard: str | None
    intent_confidence: float | None
    open_cancel: bool = False


def refundable(facts: RefundFacts) -> Decimal | None:
    """Return what may still be returned for the line, or None where that isn't known."""
    if facts.line_paid is None or facts.line_refunded is None or facts.order_rest is None:
        return None
    return max(Decimal(0), min(facts.line_paid - facts.line_refunded, facts.order_rest))


def decide_refund(ask: RefundAsk, facts: RefundFacts, policy: Policy) -> Judgment:
    """Judge an ask that no person stands behind."""
    return (
        _denied(ask, facts, policy)
        or _for_a_person(ask, facts, policy)
        or _needs_approval(ask, facts, policy)
        or Judgment("auto", "within_limits")
    )


def decide_staff_refund(ask: RefundAsk, facts: RefundFacts, policy: Policy, ceiling: Decimal | None) -> Judgment:
    """Judge an ask of a member of staff: the same walls, and their own ceiling (None: a lead's, without limit).

    What only tightens an automatic decision (guard, confidence, counts) has been weighed by the person who asks.
    """
    denied = _denied(ask, facts, policy)
    if denied:
        return denied
    if facts.disputed is not False:
        return Judgment("deny", "dispute_open")
    if ceiling is not None and (ask.amount is None or ask.amount > ceiling):
        return Judgment("approval", "above_own_ceiling", leads_only=policy.limits(facts.currency) is None)
    return Judgment("staff", "own_authority")


def _denied(  # noqa: PLR0911 - one return for each row of the table, in its order
    ask: RefundAsk, facts: RefundFacts, policy: Policy
) -> Judgment | None:
    if ask.reason not in policy.refund.reasons:
        return Judgment("deny", "reason_not_refundable")
    if facts.line_paid is None:
        return Judgment("deny", "unknown_line")
    if ask.amount is None:
        return Judgment("deny", "amount_malformed")
    # Not "amount <= 0" alone: a NaN is neither above nor below anything.
    if not (ask.amount.is_finite() and ask.amount > 0):
        return Judgment("deny", "amount_not_positive")
    rest = refundable(facts)
    if rest is None:
        return Judgment("deny", "refundable_unknown")
    if ask.amount > rest:
        return Judgment("deny", "above_refundable")
    if facts.order_status not in policy.refund.order_statuses:
        return Judgment("deny", "order_not_delivered_or_lost")
    if facts.open_cancel:
        return Judgment("deny", "order_cancelled")
    return None


def _for_a_person(ask: RefundAsk, facts: RefundFacts, policy: Policy) -> Judgment | None:
    limits = policy.limits(facts.currency)
    if limits and ask.amount is not None and ask.amount > limits[1]:
        return Judgment("handoff", "above_handoff_limit")
    if facts.disputed is not False:
        return Judgment("handoff", "dispute_open" if facts.disputed else "dispute_unknown")
    return None


def _needs_approval(ask: RefundAsk, facts: RefundFacts, policy: Policy) -> Judgment | None:
    limits, rules = policy.limits(facts.currency), policy.refund
    if limits is None:
        return Judgment("approval", "currency_without_limits", leads_only=True)
    if ask.amount is None or ask.amount > limits[0]:
        return Judgment("approval", "above_automatic_limit")
    if facts.refunds_in_window is None or facts.refunds_in_window >= rules.refunds_in_window:
        return Judgment("approval", "refunds_in_window")
    total = policy.window_sum(facts.currency)
    if total is not None and (facts.sum_in_window is None or facts.sum_in_window + ask.amount > total):
        return Judgment("approval", "sum_in_window")
    return fraud_or_doubt(facts.fraud_score, rules.fraud_score_above, facts, rules.confidence_below)


def fraud_or_doubt(
    fraud_score: float | None, fraud_above: float, facts: RefundFacts, confidence_below: float
) -> Judgment | None:
    """Judge what is only ever a reason for a second look."""
    if fraud_score is None or not fraud_score <= fraud_above:
        return Judgment("approval", "fraud_score")
    return doubt(facts.guard, facts.intent_confidence, confidence_below)


def doubt(guard: str | None, confidence: float | None, confidence_below: float) -> Judgment | None:
    """Judge what the agent says of its own input: it can only tighten (an absent word is the worst one)."""
    if guard == "flagged":
        return Judgment("approval", "guard_flagged")
    if guard != "clean":
        return Judgment("approval", "guard_down")
    # Written so that a NaN is doubt.
    if confidence is None or not confidence >= confidence_below:
        return Judgment("approval", "intent_confidence")
    return None
