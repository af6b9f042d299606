"""Figures in four languages' ways of writing them."""

from decimal import Decimal

import pytest

from agent.core.retrieval.quantities import covered, quantities


@pytest.mark.parametrize("written", ["1.200,50 EUR", "1,200.50 EUR", "1 200,50 EUR", "1200.50 EUR", "EUR 1'200.50"])
def test_an_amount_is_the_same_however_it_is_written(written: str) -> None:
    assert set(quantities(written)) == {("money", Decimal("1200.5"))}


@pytest.mark.parametrize(
    "written", ["30 days", "30 días", "30 jours", "30 Tage", "thirty days", "treinta días", "dreißig Tage"]
)
def test_a_duration_is_the_same_in_every_language(written: str) -> None:
    assert set(quantities(written)) == {("day", Decimal(30))}


def test_the_first_number_of_a_range_takes_the_unit_of_the_second() -> None:
    for written in (
        "5 to 10 business days",
        "de 5 a 10 días laborables",
        "5 à 10 jours ouvrés",
        "5 bis 10 Werktage",
        "5-10 days",
    ):
        assert set(quantities(written)) == {("day", Decimal(5)), ("day", Decimal(10))}, written


def test_a_date_names_its_month() -> None:
    for written in ("3 May 2026", "3 de mayo de 2026", "3 mai 2026", "3. Mai 2026"):
        assert ("month_name", Decimal(5)) in quantities(written), written


def test_days_are_not_hours_and_money_is_not_days() -> None:
    known = set(quantities("30 days and 4.95"))
    assert covered(("hour", Decimal(720)), known)
    assert not covered(("hour", Decimal(30)), known)
    assert not covered(("money", Decimal(30)), known)
    assert covered(("money", Decimal("4.95")), known)
