"""Finding card numbers and IBANs in free text, in any script's digits and with any separators people type."""

# ruff: noqa: E501 - a pattern is read as one line

import re
import unicodedata
from dataclasses import dataclass

_DIGIT = r"[\d⁰¹²³⁴-⁹₀-₉①-⑨]"
# Joiners and soft hyphens come along when people copy a number from a page. A comma with a space, or a new line with
# a dash, parts the items of a list; it groups no card.
_SEPARATOR = r"(?:(?:[^\S\n]|[\u00ad\u200b-\u200f\u2060\ufeff\-‐-―−._·•*/|]){1,3}|\n|,)"
_RUN = re.compile(rf"(?<![\w+]){_DIGIT}+(?:{_SEPARATOR}{_DIGIT}+)*(?!\w)|(?<=[^\W\d]){_DIGIT}{{13,19}}(?!{_DIGIT})")
_TOKEN = re.compile(rf"{_DIGIT}+")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]{1,4}){3,9}(?![A-Za-z0-9])")

_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"
    r"|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}|(?:6011|65\d{2}|64[4-9]\d)\d{12,15}|62\d{14,17}|(?:5[06-9]|6\d)\d{11,17}"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A payment number at `text[start:end]`; `last4` are its last four characters in ASCII."""

    kind: str
    start: int
    end: int
    last4: str


def luhn_valid(digits: str) -> bool:
    """The check sum every payment card carries; `digits` are ASCII."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = int(char) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban_valid(candidate: str) -> bool:
    """ISO 13616: at least 15 characters and remainder 1 by 97."""
    if not 15 <= len(candidate) <= 34:
        return False
    moved = candidate[4:] + candidate[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def find_ibans(text: str) -> list[Found]:
    found = []
    for match in _IBAN.finditer(text):
        # The pattern is greedy over words that follow; give back groups until the check sum holds.
        raw = match.group()
        for cut in range(len(raw), 14, -1):
            if not raw[cut - 1].isalnum() or (cut < len(raw) and raw[cut].isalnum()):
                continue
            body = re.sub(r"[^A-Za-z0-9]", "", raw[:cut]).upper()
            if body.isascii() and iban_valid(body):
                found.append(Found("iban", match.start(), match.start() + cut, body[-4:]))
                break
    return found


def find_cards(text: str) -> list[Found]:
    """Luhn-valid numbers of 13 to 19 digits. Shorter ones are order numbers and never touched."""
    found: list[Found] = []
    for run in _RUN.finditer(text):
        if run.end() - run.start() >= 13:
            found += _cards_in_run(run.group(), run.start())
    return found


def _cards_in_run(run: str, offset: int) -> list[Found]:
    tokens = [(m.start(), m.end(), _ascii(m.group())) for m in _TOKEN.finditer(run)]
    found, first = [], 0
    while first < len(tokens):
        last = _card_from(tokens, first)
        if last is None:
            first += 1
            continue
        digits = "".join(t[2] for t in tokens[first : last + 1])
        found.append(Found("card", offset + tokens[first][0], offset + tokens[last][1], digits[-4:]))
        first = last + 1
    return found


def _card_from(tokens: list[tuple[int, int, str]], first: int) -> int | None:
    """Index of the last token of a card that begins at `first`: one of a known issuer before any other, longest first."""
    known = other = None
    digits = ""
    for last in range(first, min(first + 19, len(tokens))):
        digits += tokens[last][2]
        if len(digits) > 19:
            break
        if len(digits) < 13 or not luhn_valid(digits):
            continue
        if _ISSUERS.fullmatch(digits) and not _two_order_numbers([t[2] for t in tokens[first : last + 1]]):
            known = last
        if _looks_grouped([t[2] for t in tokens[first : last + 1]]):
            other = last
    return known if known is not None else other


def _looks_grouped(tokens: list[str]) -> bool:
    """One unbroken number, or groups of four: anything else of an unknown issuer is rather two order numbers in a row."""
    return len(tokens) == 1 or all(len(t) == 4 for t in tokens[:-1]) or all(len(t) == 1 for t in tokens)


def _two_order_numbers(tokens: list[str]) -> bool:
    """Several long groups are order numbers side by side, except the two halves of a 16-digit card."""
    return sum(len(t) >= 6 for t in tokens) >= 2 and [len(t) for t in tokens] != [8, 8]


def _ascii(digits: str) -> str:
    return "".join(str(unicodedata.digit(c)) for c in digits)
