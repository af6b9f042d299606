"""Numbers, dates and durations of a text in four languages' ways of writing them, brought to one form for comparing."""

# ruff: noqa: E501 - tables of words

import re
from decimal import Decimal

from agent.core.retrieval.terms import fold

_NUMBER = re.compile(r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d+)?(?!\d)")
_CLOCK = re.compile(r"\b(\d{1,2})(?::|\s?h\s?|\s?uhr\s?)(\d{2})\b|\b(\d{1,2})\s?(?:h\b|uhr\b|(a|p)\.?m\b)")
_WORDS = {
    "two": 2, "dos": 2, "deux": 2, "zwei": 2, "three": 3, "tres": 3, "trois": 3, "drei": 3, "four": 4,
    "cuatro": 4, "quatre": 4, "vier": 4, "five": 5, "cinco": 5, "cinq": 5, "funf": 5, "six": 6, "seis": 6, "sechs": 6, "seven": 7,
    "siete": 7, "sept": 7, "sieben": 7, "eight": 8, "ocho": 8, "huit": 8, "acht": 8, "nine": 9, "nueve": 9, "neun": 9, "ten": 10,
    "diez": 10, "dix": 10, "zehn": 10, "eleven": 11, "onze": 11, "elf": 11, "twelve": 12, "doce": 12, "douze": 12, "zwolf": 12,
    "fourteen": 14, "catorce": 14, "quatorze": 14, "vierzehn": 14, "fifteen": 15, "quince": 15, "quinze": 15, "funfzehn": 15, "twenty": 20,
    "veinte": 20, "vingt": 20, "zwanzig": 20, "twenty-four": 24, "veinticuatro": 24, "vingt-quatre": 24, "vierundzwanzig": 24, "thirty": 30,
    "treinta": 30, "trente": 30, "dreissig": 30, "forty": 40, "cuarenta": 40, "quarante": 40, "vierzig": 40, "fifty": 50, "cincuenta": 50,
    "cinquante": 50, "funfzig": 50, "sixty": 60, "sesenta": 60, "soixante": 60, "sechzig": 60, "ninety": 90, "noventa": 90, "neunzig": 90,
    "hundred": 100, "cien": 100, "cent": 100, "hundert": 100,
    "sechsstellig": 6, "sechsstelligen": 6, "sechsstelliger": 6,
}  # fmt: skip
_UNITS: dict[str, str] = {
    "day": r"(?:(?:business|working|calendar|dias?|jours?|werk|kalender|arbeits)[\s-]*)?(?:days?\b|dias?\b|jours?\b|tag(?:en?|es)?\b)",
    "hour": r"(?:hours?\b|hrs?\b|horas?\b|heures?\b|stunden?\b)",
    "minute": r"(?:minutes?\b|mins?\b|minutos?\b|minuten?\b)",
    "second": r"(?:seconds?\b|segundos?\b|secondes?\b|sekunden?\b)",
    "week": r"(?:weeks?\b|semanas?\b|semaines?\b|wochen?\b)",
    "month": r"(?:months?\b|mes(?:es)?\b|mois\b|monat(?:en?|s)?\b)",
    "year": r"(?:years?\b|anos?\b|ans?\b|annees?\b|jahr(?:en?|s)?\b)",
    "money": r"(?:€|\$|£|¥|eur\b|euros?\b|usd\b|dollars?\b|dolares\b|gbp\b|pounds?\b|libras?\b|livres?\b|pfund\b|jpy\b|kwd\b|cents?\b)",
    "percent": r"(?:%|percent\b|per cent\b|por ciento\b|pour cent\b|prozent\b)",
}
_MONEY_BEFORE = re.compile(r"(?:€|\$|£|¥|\b(?:eur|usd|gbp|jpy|kwd))\s?$")
# "Two options" states no fact of the store; "two days" and "twenty" do.
_SMALL_WORD = 12
_UNIT = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _UNITS.items()))
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january enero janvier januar", "february febrero fevrier februar", "march marzo mars marz", "april abril avril",
         "may mayo mai", "june junio juin juni", "july julio juillet juli", "august agosto aout",
         "september septiembre septembre", "october octubre octobre oktober", "november noviembre novembre",
         "december diciembre decembre dezember"), 1)
    for name in names.split()
}  # fmt: skip
# The same length of time in its other usual wording, so that "24 months" covers "2 years".
_SAME = {("month", 12): ("year", 1), ("week", 1): ("day", 7), ("day", 1): ("hour", 24), ("hour", 1): ("minute", 60)}

Quantity = tuple[str, Decimal]
"""(unit or "", value); months named in a date are ("month_name", 1..12), clock times ("clock", minutes of the day)."""


def quantities(text: str) -> dict[Quantity, str]:
    """Every quantity in `text` with the words that state it. "1", alone, is no claim and left out."""
    folded = fold(text).replace("\u00a0", " ").replace("\u202f", " ")
    found: dict[Quantity, str] = {}
    taken: list[tuple[int, int]] = []
    for match in _CLOCK.finditer(folded):
        found[("clock", Decimal(_minutes(match)))] = match.group()
        taken.append(match.span())
    for start, end, value in _values(folded):
        if not any(a <= start < b for a, b in taken):
            unit, shown = _unit_after(folded, start, end)
            if not unit and _MONEY_BEFORE.search(folded[:start][-5:]):
                unit, shown = "money", folded[:start][-5:].split()[-1] + shown
            if not unit and folded[start].isalpha() and value <= _SMALL_WORD:
                continue
            found.setdefault((unit, value), shown)
    for word in re.findall(r"[a-z]{3,}", folded):
        if word in _MONTHS and re.search(rf"\d\.?\s+(?:de\s+)?{word}\b|\b{word}\s+\d", folded):
            found.setdefault(("month_name", Decimal(_MONTHS[word])), word)
    return {quantity: shown for quantity, shown in found.items() if quantity != ("", Decimal(1))}


def covered(asked: Quantity, known: set[Quantity]) -> bool:
    """Whether `asked` is among `known`: as it stands, in another unit of the same length, a bare number under any
    unit, money also under a bare number (articles leave the currency out, each country has its own).
    """
    unit, value = asked
    if asked in known or any(same in known for same in _equals(asked)):
        return True
    if unit == "money":
        return ("", value) in known
    return not unit and any(v == value for u, v in known if u != "month_name")


def _equals(quantity: Quantity) -> list[Quantity]:
    unit, value = quantity
    found = []
    for (small, count), (large, times) in _SAME.items():
        if small == unit and times == 1 and value % count == 0:
            found.append((large, value / count))
        if large == unit:
            found.append((small, value * count / times))
        if small == unit and count == 1:
            found.append((large, value * times))
        if large == unit and count == 1 and value % times == 0:
            found.append((small, value / times))
    return found


def _values(folded: str) -> list[tuple[int, int, Decimal]]:
    found = [(m.start(), m.end(), _decimal(m.group())) for m in _NUMBER.finditer(folded)]
    words = re.finditer(r"[a-z]+(?:-[a-z]+)?", folded)
    return found + [(m.start(), m.end(), Decimal(_WORDS[m.group()])) for m in words if m.group() in _WORDS]


def _decimal(written: str) -> Decimal:
    """ "1.200,50", "1,200.50" and "1 200,50" are 1200.50; "1.200" is read as 1200, "4.95" as 4.95."""
    compact = re.sub(r"['’\s]", "", written)
    last = max(compact.rfind("."), compact.rfind(","))
    decimals = len(compact) - last - 1
    if last < 0 or decimals == 3:
        return Decimal(re.sub(r"[.,]", "", compact))
    return Decimal(re.sub(r"[.,]", "", compact[:last]) + "." + compact[last + 1 :]).normalize()


def _unit_after(folded: str, start: int, end: int) -> tuple[str, str]:
    # "2 to 4 business days" and "5 a 10 días": the first number takes the unit of the second.
    range_to = re.match(
        r"\s*(?:-|–|to|bis|a|al|y|et|und|and|or|o|ou|oder)\s*\d+(?:[.,]\d+)?(?=\s*\w)", folded[end : end + 24]
    )
    at = end + range_to.end() if range_to else end
    unit = _UNIT.match(folded, at + len(folded[at : at + 2]) - len(folded[at : at + 2].lstrip(" -")))
    return (unit.lastgroup or "", folded[start : unit.end()]) if unit else ("", folded[start:end])


def _minutes(match: re.Match[str]) -> int:
    hours = int(match.group(1) or match.group(3))
    if match.group(4) == "p" and hours < 12:
        hours += 12
    return hours * 60 + int(match.group(2) or 0)
