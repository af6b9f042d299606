"""Amounts in words and the shops' own ways of writing money are named as surely as digits."""

from decimal import Decimal

import pytest

from agent.core.claims.values import find_values


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("all sixty-four dollars of it went back", "64", "$"),
        ("two hundred and forty dollars are on hold", "240", "$"),
        ("fifty dollars and twenty cents", "50.20", "$"),
        ("se devolvieron mil doscientos cincuenta pesos", "1250", "$"),
        ("treinta y cinco euros", "35", "EUR"),
        ("cent euros et quinze centimes", "100.15", "EUR"),
        ("quatre-vingt-dix-neuf euros", "99", "EUR"),
        ("deux cent quatre-vingts euros", "280", "EUR"),
        ("fünfundsechzig Euro", "65", "EUR"),
        ("zweihundertvierzig Euro", "240", "EUR"),
        ("50 Euro und 20 Cent", "50.20", "EUR"),
        ("12€50 vous ont été rendus", "12.50", "EUR"),
        ("Rs 5,490 has been refunded", "5490", "INR"),
        ("₹1,989 is back", "1989", "INR"),
        ("S/ 45.50 devueltos", "45.50", "PEN"),
    ],
)
def test_an_amount_is_read_however_it_is_written(text: str, value: str, currency: str) -> None:
    (amount,) = find_values(text).amounts
    assert Decimal(value) in amount.values
    assert amount.currency == currency


@pytest.mark.parametrize("text", ["once you see it", "ni un euro", "not one dollar", "vingt articles", "two orders"])
def test_numbers_that_are_no_money_name_no_amount(text: str) -> None:
    assert find_values(text).amounts == ()
