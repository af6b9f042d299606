"""SPEC §6's table, row by row and in its order; no fixtures."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgateway.core.refunds import RefundAsk, RefundFacts, decide_refund, decide_staff_refund
from toolgateway.policy import load_policy, packaged_policy

POLICY = load_policy(packaged_policy())
ASK = RefundAsk("L1", Decimal("64.00"), "damaged")
FACTS = RefundFacts(
    currency="USD",
    order_status="delivered",
    line_paid=Decimal("900.00"),
    line_refunded=Decimal("0.00"),
    order_rest=Decimal("900.00"),
    refunds_in_window=0,
    sum_in_window=Decimal("0.00"),
    fraud_score=0.1,
    disputed=False,
    guard="clean",
    intent_confidence=0.9,
)


def amount(text: str, **facts: object) -> tuple[RefundAsk, RefundFacts]:
    return replace(ASK, amount=Decimal(text)), replace(FACTS, **facts)  # type: ignore[arg-type]


def facts(**changed: object) -> tuple[RefundAsk, RefundFacts]:
    return ASK, replace(FACTS, **changed)  # type: ignore[arg-type]


DENIED = [
    ((replace(ASK, reason="changed_mind"), FACTS), "reason_not_refundable"),
    ((replace(ASK, reason=""), FACTS), "reason_not_refundable"),
    (facts(line_paid=None), "unknown_line"),
    ((replace(ASK, amount=None), FACTS), "amount_malformed"),
    (amount("0.00"), "amount_not_positive"),
    (amount("-5.00"), "amount_not_positive"),
    (amount("NaN"), "amount_not_positive"),
    (amount("Infinity"), "amount_not_positive"),
    (amount("900.01"), "above_refundable"),
    (facts(line_refunded=Decimal("836.01")), "above_refundable"),
    (facts(order_rest=Decimal("63.99")), "above_refundable"),
    (facts(line_refunded=None), "refundable_unknown"),
    (facts(order_rest=None), "refundable_unknown"),
    (facts(order_status="processing"), "order_not_delivered_or_lost"),
    (facts(order_status="shipped"), "order_not_delivered_or_lost"),
    (facts(order_status="cancelled"), "order_not_delivered_or_lost"),
    (facts(open_cancel=True), "order_cancelled"),
]
HANDED = [
    (amount("500.01"), "above_handoff_limit"),
    (amount("900.00"), "above_handoff_limit"),
    (facts(disputed=True), "dispute_open"),
    (facts(disputed=None), "dispute_unknown"),
]
APPROVED = [
    (amount("100.01"), "above_automatic_limit"),
    (amount("500.00"), "above_automatic_limit"),
    (facts(refunds_in_window=2), "refunds_in_window"),
    (facts(refunds_in_window=None), "refunds_in_window"),
    (facts(fraud_score=0.81), "fraud_score"),
    (facts(fraud_score=None), "fraud_score"),
    (facts(fraud_score=float("nan")), "fraud_score"),
    (facts(guard="flagged"), "guard_flagged"),
    (facts(guard="down"), "guard_down"),
    (facts(guard=None), "guard_down"),
    (facts(guard="CLEAN"), "guard_down"),
    (facts(intent_confidence=0.69), "intent_confidence"),
    (facts(intent_confidence=None), "intent_confidence"),
    (facts(intent_confidence=float("nan")), "intent_confidence"),
    (facts(currency="CHF"), "currency_without_limits"),
]
AUTOMATIC = [
    (ASK, FACTS),
    amount("100.00"),
    amount("0.01"),
    facts(refunds_in_window=1),
    facts(fraud_score=0.80),
    facts(intent_confidence=0.70),
    facts(order_status="lost"),
    (replace(ASK, reason="wrong_item"), FACTS),
    amount("15000", currency="JPY", line_paid=Decimal(90000), order_rest=Decimal(90000)),
    amount("30.000", currency="KWD"),
]


@pytest.mark.parametrize(("case", "reason"), DENIED)
def test_nobody_can_override_a_denial(case: tuple[RefundAsk, RefundFacts], reason: str) -> None:
    judged = decide_refund(*case, POLICY)
    assert (judged.verdict, judged.reason) == ("deny", reason)
    by_lead = decide_staff_refund(*case, POLICY, None)
    assert (by_lead.verdict, by_lead.reason) == ("deny", reason)


@pytest.mark.parametrize(("case", "reason"), HANDED)
def test_above_the_agents_ceiling_a_person_takes_over(case: tuple[RefundAsk, RefundFacts], reason: str) -> None:
    judged = decide_refund(*case, POLICY)
    assert (judged.verdict, judged.reason) == ("handoff", reason)


@pytest.mark.parametrize(("case", "reason"), APPROVED)
def test_a_doubt_needs_approval(case: tuple[RefundAsk, RefundFacts], reason: str) -> None:
    judged = decide_refund(*case, POLICY)
    assert (judged.verdict, judged.reason) == ("approval", reason)


@pytest.mark.parametrize("case", AUTOMATIC)
def test_everything_else_is_automatic(case: tuple[RefundAsk, RefundFacts]) -> None:
    assert decide_refund(*case, POLICY).verdict == "auto"


@pytest.mark.parametrize(
    ("text", "currency", "verdict"),
    [
        ("15001", "JPY", "approval"),
        ("75000", "JPY", "approval"),
        ("75001", "JPY", "handoff"),
        ("30.001", "KWD", "approval"),
        ("150.001", "KWD", "handoff"),
        ("100.01", "EUR", "approval"),
        ("500.01", "GBP", "handoff"),
    ],
)
def test_each_currency_has_its_own_two_lines(text: str, currency: str, verdict: str) -> None:
    big = Decimal(1_000_000)
    case = amount(text, currency=currency, line_paid=big, order_rest=big)
    assert decide_refund(*case, POLICY).verdict == verdict


def test_a_denial_outranks_everything_that_would_only_delay() -> None:
    case = amount("900.01", disputed=True, guard="flagged", refunds_in_window=9, fraud_score=1.0)
    assert decide_refund(*case, POLICY).reason == "above_refundable"


def test_any_amount_in_a_currency_without_limits_is_a_leads() -> None:
    big = Decimal(1_000_000)
    judged = decide_refund(*amount("999.00", currency="CHF", line_paid=big, order_rest=big), POLICY)
    assert (judged.verdict, judged.leads_only) == ("approval", True)


@pytest.mark.parametrize(
    ("text", "ceiling", "verdict"),
    [
        ("620.00", None, "staff"),
        ("500.00", "500.00", "staff"),
        ("500.01", "500.00", "approval"),
        ("1.00", "0", "approval"),
    ],
)
def test_staff_run_within_their_own_ceiling(text: str, ceiling: str | None, verdict: str) -> None:
    judged = decide_staff_refund(*amount(text), POLICY, None if ceiling is None else Decimal(ceiling))
    assert judged.verdict == verdict


def test_nobody_refunds_a_disputed_payment_twice_not_even_a_lead() -> None:
    assert decide_staff_refund(*facts(disputed=True), POLICY, None).verdict == "deny"


@given(
    minor=st.integers(-10, 120_000),
    rest=st.integers(0, 120_000),
    count=st.integers(0, 4),
    guard=st.sampled_from(["clean", "flagged", "down", None, "x"]),
    confidence=st.one_of(st.none(), st.floats()),
    fraud=st.one_of(st.none(), st.floats()),
    disputed=st.sampled_from([True, False, None]),
)
def test_an_automatic_refund_always_satisfies_every_rule(  # noqa: PLR0917 - one argument for each fact
    minor: int,
    rest: int,
    count: int,
    guard: str | None,
    confidence: float | None,
    fraud: float | None,
    disputed: bool | None,
) -> None:
    asked, left = Decimal(minor).scaleb(-2), Decimal(rest).scaleb(-2)
    judged = decide_refund(
        *amount(
            str(asked), line_paid=left, order_rest=left, refunds_in_window=count, guard=guard,
            intent_confidence=confidence, fraud_score=fraud, disputed=disputed,
        ),
        POLICY,
    )  # fmt: skip
    if judged.verdict == "auto":
        assert 0 < asked <= min(left, Decimal("100.00"))
        assert count < 2
        assert guard == "clean"
        assert confidence is not None
        assert confidence >= 0.7
        assert fraud is not None
        assert fraud <= 0.8
        assert disputed is False
