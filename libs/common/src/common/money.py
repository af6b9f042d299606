"""Money as ``Decimal`` inside and minor units on the wire, never a float (RELIABILITY R18)."""

import re
from dataclasses import dataclass
from decimal import Decimal

from common.errors import Malformed

# ISO 4217 minor-unit exponents of the currencies a store is likely to meet. One that isn't listed has no
# known minor unit, so no amount in it can be read or sent.
EXPONENTS: dict[str, int] = {
    **dict.fromkeys(
        "AED ARS AUD BGN BRL CAD CHF CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR MAD MXN MYR NOK NZD PEN PHP PLN "
        "QAR RON RSD SAR SEK SGD THB TRY TWD UAH USD ZAR".split(),
        2,
    ),
    **dict.fromkeys("CLP ISK JPY KRW PYG UGX VND XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
# Twelve digits before the point: far above any order, far below what a numeric column or a double would round.
_MAX_DIGITS = 12


class UnknownCurrency(Malformed):
    """The currency isn't an upper-case ISO 4217 code of the table."""


class BadAmount(Malformed):
    """The text isn't an amount in the currency's exact wire form."""


def exponent(currency: str) -> int:
    """Return the number of decimals of ``currency``: 0 for JPY, 2 for USD, 3 for KWD."""
    try:
        return EXPONENTS[currency]
    except (KeyError, TypeError):
        raise UnknownCurrency(f"unknown currency {currency!r:.20}") from None


def parse_amount(text: object, currency: str) -> Decimal:
    """Read the wire form: ASCII digits with exactly the currency's decimals, no sign, no exponent, no separator.

    Zero is readable (a policy refuses it); raises BadAmount or UnknownCurrency.
    """
    decimals = exponent(currency)
    fraction = rf"\.[0-9]{{{decimals}}}" if decimals else ""
    if not isinstance(text, str) or not re.fullmatch(rf"(0|[1-9][0-9]{{0,{_MAX_DIGITS - 1}}}){fraction}", text):
        raise BadAmount(
            f"an amount in {currency} is written with exactly {decimals} decimals, such as {_sample(decimals)}"
        )
    return Decimal(text)


def to_minor(amount: Decimal, currency: str) -> int:
    """Return ``amount`` in minor units; raises BadAmount when it has too many decimals or isn't finite."""
    if not amount.is_finite():
        raise BadAmount("an amount must be a finite number")
    minor = amount.scaleb(exponent(currency))
    if minor != minor.to_integral_value():
        raise BadAmount(f"{amount} has more decimals than {currency}")
    return int(minor)


def from_minor(minor: int, currency: str) -> Decimal:
    """Return integer minor units as a Decimal with the currency's decimals."""
    return Decimal(minor).scaleb(-exponent(currency))


def format_amount(amount: Decimal, currency: str) -> str:
    """Return the wire form, ``64.00``; raises BadAmount rather than round."""
    return f"{from_minor(to_minor(amount, currency), currency):.{exponent(currency)}f}"


@dataclass(frozen=True)
class Ambiguous:
    """A typed amount that can be read in two ways, or only in a foreign one, so the customer has to be asked."""

    readings: tuple[Decimal, ...]


# Digits and marks of the largest amount anybody would type; more is a card or a phone number.
_MOST_TYPED = 16
_POINT_LANGUAGES = frozenset({"en", "ja", "ko", "th", "zh"})


def read_typed_amount(text: str, locale: str, currency: str) -> Decimal | Ambiguous | None:
    """Read an amount a customer typed, such as ``1.200,50 €``; a hint for people and prompts, never an argument.

    ``locale`` is a language tag; ``None`` means there is no amount here.
    """
    match = re.search(
        # A sign, a slash or a letter beside it makes it something else: -5, 1/2, 1E+02.
        r"(?<![\w.,+\-−/])([0-9]{1,3}(?:[.,'\u00a0\u202f ][0-9]{3})+|[0-9]+)(?:([.,])([0-9]+))?(?![\w/]|[.,+\-][0-9])",
        text,
    )
    if not match or len(match[1]) > _MOST_TYPED:
        return None
    whole, mark, fraction = match.groups()
    groups = re.findall(r"[.,]", whole)
    digits = re.sub(r"\D", "", whole)
    if mark:
        amount = _with_fraction(digits, fraction, groups, mark, currency)
        # Written in another country's way than the customer's own: to be asked about, not guessed.
        foreign = groups and mark != _decimal_mark(locale)
        return Ambiguous((amount,)) if amount is not None and foreign else amount
    if len(groups) != 1:
        return Decimal(digits)
    return _one_mark(whole, groups[0], locale, currency)


def _with_fraction(digits: str, fraction: str, groups: list[str], mark: str, currency: str) -> Decimal | None:
    if mark in groups or len(fraction) > exponent(currency):
        return None
    return Decimal(f"{digits}.{fraction}")


def _decimal_mark(locale: str) -> str:
    return "." if locale[:2].lower() in _POINT_LANGUAGES else ","


def _one_mark(whole: str, mark: str, locale: str, currency: str) -> Decimal | Ambiguous:
    """``1.200``: a thousand in Spanish, one point two in English, unless the currency's decimals settle it."""
    thousands = Decimal(re.sub(r"\D", "", whole))
    fractional = Decimal(whole.replace(",", "."))
    if exponent(currency) != 3:
        return thousands
    readings = (fractional, thousands) if mark == _decimal_mark(locale) else (thousands, fractional)
    return Ambiguous(readings)


def _sample(decimals: int) -> str:
    return f"{Decimal(64):.{decimals}f}"
