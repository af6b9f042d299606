"""Money is read strictly, kept exactly and never a float."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.money import (
    EXPONENTS,
    Ambiguous,
    BadAmount,
    UnknownCurrency,
    exponent,
    format_amount,
    from_minor,
    parse_amount,
    read_typed_amount,
    to_minor,
)


@pytest.mark.parametrize(
    ("text", "currency", "amount"),
    [("64.00", "USD", "64.00"), ("0.01", "EUR", "0.01"), ("15000", "JPY", "15000"), ("30.000", "KWD", "30.000")],
)
def test_the_wire_form_is_read(text: str, currency: str, amount: str) -> None:
    assert parse_amount(text, currency) == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    [
        "64", "64.0", "64.000", "064.00", "-1.00", "+1.00", "1e3", "1_000.00", "1,000.00", " 64.00", "64.00\n", "NaN",
        "Infinity", "６４.００", "٦٤.٠٠", "", ".50", "64.", "all", "1" * 13 + ".00", 64.0, 64, None,
        Decimal("64.00"), b"64.00",
    ],
)  # fmt: skip
def test_anything_but_the_exact_wire_form_is_refused(text: object) -> None:
    with pytest.raises(BadAmount):
        parse_amount(text, "USD")


@pytest.mark.parametrize("currency", ["usd", "XXX", "", "US", None, 840, "ＵＳＤ"])
def test_a_currency_outside_the_table_is_refused(currency: object) -> None:
    with pytest.raises(UnknownCurrency):
        exponent(currency)  # type: ignore[arg-type]


@given(st.sampled_from(sorted(EXPONENTS)), st.integers(0, 10**11))
def test_minor_units_and_wire_form_go_there_and_back(currency: str, minor: int) -> None:
    amount = from_minor(minor, currency)
    assert to_minor(amount, currency) == minor
    assert parse_amount(format_amount(amount, currency), currency) == amount


@pytest.mark.parametrize("amount", ["0.001", "NaN", "Infinity", "1.005"])
def test_an_amount_that_is_no_whole_minor_unit_is_refused_not_rounded(amount: str) -> None:
    with pytest.raises(BadAmount):
        to_minor(Decimal(amount), "USD")


@pytest.mark.parametrize(
    ("text", "locale", "currency", "expected"),
    [
        ("1.200,50 €", "de", "EUR", Decimal("1200.50")),
        ("$1,200.50", "en", "USD", Decimal("1200.50")),
        ("1 200,50 €", "fr", "EUR", Decimal("1200.50")),
        ("about 64 dollars", "en", "USD", Decimal(64)),
        ("12,5", "es", "EUR", Decimal("12.5")),
        ("no number here", "en", "USD", None),
        ("1.200", "en", "KWD", Ambiguous((Decimal("1.200"), Decimal(1200)))),
        ("1.200", "de", "KWD", Ambiguous((Decimal(1200), Decimal("1.200")))),
    ],
)
def test_a_typed_amount_is_a_hint_that_admits_doubt(text: str, locale: str, currency: str, expected: object) -> None:
    assert read_typed_amount(text, locale, currency) == expected
