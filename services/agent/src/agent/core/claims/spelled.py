"""Amounts written in words, in four languages: "sixty-four dollars" is named as surely as "64 dollars"."""

import re

_UNITS = (
    (0, "zero cero zéro null"), (1, "one un uno una une ein eins eine"), (2, "two dos deux zwei zwo"),
    (3, "three tres trois drei"), (4, "four cuatro quatre vier"), (5, "five cinco cinq fünf"),
    (6, "six seis sechs"), (7, "seven siete sept sieben"), (8, "eight ocho huit acht"),
    (9, "nine nueve neuf neun"), (10, "ten diez dix zehn"), (11, "eleven once onze elf"),
    (12, "twelve doce douze zwölf"), (13, "thirteen trece treize dreizehn"),
    (14, "fourteen catorce quatorze vierzehn"), (15, "fifteen quince quinze fünfzehn"),
    (16, "sixteen dieciséis seize sechzehn"), (17, "seventeen diecisiete siebzehn"),
    (18, "eighteen dieciocho achtzehn"), (19, "nineteen diecinueve neunzehn"),
    (20, "twenty veinte vingt vingts zwanzig"), (21, "veintiún veintiuno veintiuna"), (22, "veintidós"),
    (23, "veintitrés"), (24, "veinticuatro"), (25, "veinticinco"), (26, "veintiséis"), (27, "veintisiete"),
    (28, "veintiocho"), (29, "veintinueve"), (30, "thirty treinta trente dreißig dreissig"),
    (40, "forty cuarenta quarante vierzig"), (50, "fifty cincuenta cinquante fünfzig"),
    (60, "sixty sesenta soixante sechzig"), (70, "seventy setenta septante siebzig"),
    (80, "eighty ochenta huitante octante achtzig"), (90, "ninety noventa nonante neunzig"),
    (200, "doscientos doscientas"), (300, "trescientos trescientas"), (400, "cuatrocientos cuatrocientas"),
    (500, "quinientos quinientas"), (600, "seiscientos seiscientas"), (700, "setecientos setecientas"),
    (800, "ochocientos ochocientas"), (900, "novecientos novecientas"),
)  # fmt: skip
_VALUE = {word: value for value, words in _UNITS for word in words.split()}
_HUNDRED = frozenset("hundred ciento cien cent cents hundert".split())
_THOUSAND = frozenset("thousand mil mille tausend".split())
_GERMAN = re.compile(
    "tausend|hundert|und|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|drei(?:ß|ss)ig|vierzig|"
    "fünfzig|sechzig|siebzig|achtzig|neunzig|zehn|elf|zwölf|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
)
_JOINTS = frozenset("and y et und".split())
_WORDS = "|".join(sorted({*_VALUE, *_HUNDRED, *_THOUSAND}, key=len, reverse=True))
_NUMBER = rf"(?:(?:a )?(?:{_WORDS}|(?:{_GERMAN.pattern})+)(?:[\s-]+(?:(?:and|y|et|und)[\s-]+)?(?:{_WORDS}))*)"
_MONEY = (
    r"euros?|dollars?|dólar(?:es)?|pounds?|pfund|libras|livres|yen(?:es)?|bucks|quid|dinars?|franken|francs|francos|"
    r"pesos?|rupees?|rupias|rupien|soles"
)
_CENTS = r"cents?|pence|p|centimes?|céntimos?|centavos?"
_SPELLED = re.compile(rf"(?<![\w-])(?P<number>{_NUMBER})[\s-]+(?:de )?(?P<money>{_MONEY})\b", re.IGNORECASE)
_AND_CENTS = re.compile(
    rf"(?<![\d.,])(?P<whole>\d+)\s?(?P<money>{_MONEY}|€)[\s-]+(?:(?:and|y|con|et|und)\s+)?"
    rf"(?P<cents>\d{{1,2}}|{_NUMBER})(?:\s+(?:{_CENTS})\b|(?=[\s.,;!?]|$))",
    re.IGNORECASE,
)
_SPLIT_CENTS = re.compile(r"(?<![\d.,])(\d+)€(\d{2})(?!\d)")


def in_digits(text: str) -> str:
    """The text with amounts in words put in digits: "cent euros et quinze centimes" becomes "100.15 euros"."""
    found = _SPELLED.sub(_in_one, text)
    found = _SPLIT_CENTS.sub(r"\1.\2 €", found)
    return _AND_CENTS.sub(_with_cents, found)


def _in_one(match: re.Match[str]) -> str:
    value = _value(match.group("number"))
    # "not one euro" names no amount
    return f"{value} {match.group('money')}" if value > 1 else match.group()


def _with_cents(match: re.Match[str]) -> str:
    said = re.sub(rf"\s+(?:{_CENTS})$", "", match.group("cents"), flags=re.IGNORECASE)
    cents = int(said) if said.isdigit() else _value(said)
    # "20 euros, two of them": a number that is no cents leaves the text as it is
    named = re.search(rf"(?:{_CENTS})$", match.group(), re.IGNORECASE)
    if cents > 99 or not named:  # a hundred cents are no cents
        return match.group()
    return f"{match.group('whole')}.{cents:02d} {match.group('money')}"


def _value(words: str) -> int:
    total = part = 0
    for word in _single(words):
        if word in _THOUSAND:
            total, part = total + max(part, 1) * 1000, 0
        elif word in _HUNDRED:
            part = part // 100 * 100 + max(part % 100, 1) * 100 if part < 100 else part
        elif word.startswith("vingt") and part % 100 == 4:  # four twenties are eighty
            part += 76
        else:
            part += _VALUE.get(word, 0)
    return total + part


def _single(words: str) -> list[str]:
    """Single number words: German writes a whole number as one."""
    found: list[str] = []
    for word in re.split(r"[\s-]+", words.lower()):
        if word in _VALUE or word in _HUNDRED or word in _THOUSAND:
            found.append(word)
        elif word not in _JOINTS and word != "a":
            found += [piece for piece in _GERMAN.findall(word) if piece != "und"]
    return found
