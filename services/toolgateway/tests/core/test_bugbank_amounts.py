"""Amounts and ids as other people's bugs met them: each case of the bug bank stands for its whole kind."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.events import ActionChanged
from common.ids import OrderIds
from common.money import (
    EXPONENTS,
    Ambiguous,
    BadAmount,
    format_amount,
    from_minor,
    parse_amount,
    read_typed_amount,
    to_minor,
)
from toolgateway.core import keys
from toolgateway.core.arguments import GetOrder, read_arguments
from toolgateway.core.books import csv_text

NBSP, NARROW = "\u00a0", "\u202f"
TYPED: list[tuple[str, str, str, str, object]] = [
    ("BB-PARSE-01", "2,700.00", "en-US", "USD", Decimal("2700.00")),
    ("BB-PARSE-01", "2.700,00", "de-DE", "EUR", Decimal("2700.00")),
    ("BB-PARSE-01", "2 700,00", "fr-FR", "EUR", Decimal("2700.00")),
    ("BB-PARSE-01", "2'700.00", "de-CH", "CHF", Decimal("2700.00")),
    ("BB-PARSE-02", "€3.210,98", "nl-NL", "EUR", Decimal("3210.98")),
    ("BB-PARSE-02", "3.210,98", "en-US", "EUR", Ambiguous((Decimal("3210.98"),))),
    ("BB-PARSE-02", "3,210.98", "de-DE", "EUR", Ambiguous((Decimal("3210.98"),))),
    ("BB-PARSE-06", "￥ 5,678", "ja-JP", "JPY", Decimal(5678)),
    ("BB-PARSE-06", "￥ 5,678.90", "ja-JP", "JPY", None),
    ("BB-PARSE-06", f"5{NBSP}678,90{NBSP}€", "fr-FR", "EUR", Decimal("5678.90")),
    ("BB-PARSE-06", f"5{NARROW}678,90 €", "fr-FR", "EUR", Decimal("5678.90")),
    *[("BB-PARSE-07", text, "en", "EUR", None) for text in
      ("2e3", "3E+02", "3E-02", "NaN", "sNaN", "Infinity", "-0", "-7", "−7", "+7", "0x1F", "2_000", "--7", "3/4", "",
       "8" * 26)],
    *[("BB-PARSE-09", text, "en", "EUR", None) for text in ("٣٤,٥٠", "３４．５０", "3٤.50", "३४.५०")],
]  # fmt: skip


@pytest.mark.parametrize(("case", "text", "locale", "currency", "expected"), TYPED)
def test_a_typed_amount_is_read_by_its_locale_or_asked_about(
    case: str, text: str, locale: str, currency: str, expected: object
) -> None:
    """BB-PARSE-01, BB-PARSE-02, BB-PARSE-06, BB-PARSE-07, BB-PARSE-09: a hint, never a guess."""
    assert read_typed_amount(text, locale, currency) == expected


@pytest.mark.parametrize("text", [case[1] for case in TYPED])
def test_none_of_them_is_an_amount_on_the_wire(text: str) -> None:
    """BB-PARSE-07, BB-PARSE-09: the wire takes one form only, and says so cleanly."""
    with pytest.raises(BadAmount):
        parse_amount(text, "EUR")


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("7300", "JPY", 7300), ("600", "JPY", 600), ("21.500", "KWD", 21500), ("29.99", "GBP", 2999), ("2.15", "GBP", 215),
     ("4.35", "GBP", 435), ("1.15", "GBP", 115), ("1234.56", "EUR", 123456)],
)  # fmt: skip
def test_decimals_become_minor_units_by_their_currencys_exponent(amount: str, currency: str, minor: int) -> None:
    """BB-UNIT-02, BB-UNIT-03, BB-UNIT-07."""
    assert to_minor(parse_amount(amount, currency), currency) == minor


@pytest.mark.parametrize(
    ("text", "currency"), [("20.1", "GBP"), ("20", "GBP"), ("20.100", "GBP"), ("21.50", "KWD"), ("7.0", "JPY")]
)
def test_too_few_or_too_many_decimals_are_unclear(text: str, currency: str) -> None:
    """BB-UNIT-07, BB-UNIT-03."""
    with pytest.raises(BadAmount):
        parse_amount(text, currency)


@given(st.sampled_from(sorted(EXPONENTS)), st.integers(1, 10**12 - 1))
def test_what_is_written_reads_back_as_the_same_minor_units(currency: str, minor: int) -> None:
    """BB-UNIT-08, BB-UNIT-02: no separator ever goes onto the wire."""
    text = format_amount(from_minor(minor, currency), currency)
    assert set(text) <= set("0123456789.")
    assert to_minor(parse_amount(text, currency), currency) == minor


@pytest.mark.parametrize("text", ["#441777", " # 441777 ", "Order no. 441777", "441777.", "order:441777,", "(441777)"])
def test_an_order_is_found_however_people_write_its_number(text: str) -> None:
    """BB-ORD-01."""
    assert OrderIds().find_in(text) == ["441777"]


@pytest.mark.parametrize("order_id", ["0005500123", "5500123"])
def test_an_id_with_leading_zeros_stays_itself_everywhere(order_id: str) -> None:
    """BB-ORD-03: arguments, key, event and export hold the very text."""
    args = read_arguments("get_order", json.loads(json.dumps({"order_id": order_id})), OrderIds())
    assert isinstance(args, GetOrder)
    assert args.order_id == order_id
    assert keys.refund(order_id, "L1").key() == f"refund:{order_id}:L1"
    row: dict[str, Any] = {"order_id": order_id}
    assert csv_text(["order_id"], [row]).splitlines()[1] == order_id
    assert ActionChanged.model_construct(order_id=order_id).order_id == order_id
