"""Find the amounts, order numbers, references, lines and dates a sentence names, and mask them for reading."""

import re
from dataclasses import dataclass
from decimal import Decimal

from agent.core.claims.spelled import in_digits

_NUMBER = r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?:[.,]\d{1,3})?(?!\d)|\d+(?:[.,]\d{1,3})?(?!\d)"
_SYMBOLS = {
    "US$": "USD", "$": "$", "€": "EUR", "£": "GBP", "¥": "JPY", "EURO": "EUR", "EUROS": "EUR", "DOLLAR": "$",
    "DOLLARS": "$", "DÓLAR": "$", "DÓLARES": "$", "POUND": "GBP", "POUNDS": "GBP", "PFUND": "GBP", "LIBRAS": "GBP",
    "LIVRES": "GBP", "YEN": "JPY", "YENES": "JPY", "BUCKS": "$", "DINAR": "KWD", "DINARS": "KWD", "FRANKEN": "CHF",
    "FRANCS": "CHF", "FRANCOS": "CHF", "CHF": "CHF", "PESO": "$", "PESOS": "$", "QUID": "GBP", "C$": "CAD", "A$": "AUD",
    "$ US": "USD", "$ CA": "CAD", "$ CAN": "CAD", "$US": "USD", "$CA": "CAD", "MX$": "MXN", "CA$": "CAD", "SFR.": "CHF",
    "FR.": "CHF", "₹": "INR", "RS": "INR", "RS.": "INR", "RUPEE": "INR", "RUPEES": "INR", "RUPIAS": "INR", "R$": "BRL",
    "S/": "PEN", "S/.": "PEN", "SOLES": "PEN", "NZ$": "NZD", "S$": "SGD", "HK$": "HKD", "AR$": "ARS", "COL$": "COP",
    "RUPIEN": "INR", "US-DOLLAR": "USD", "US DOLLAR": "USD", "US DOLLARS": "USD",
}  # fmt: skip
_CODES = "USD|EUR|GBP|JPY|KWD|CHF|CAD|AUD|NZD|MXN|SEK|NOK|DKK|PLN|INR|ARS|CLP|COP|PEN|UYU|BRL|ZAR|SGD|HKD"
_MARK = (
    r"US\$|CA\$|MX\$|NZ\$|HK\$|AR\$|COL\$|[CASR]\$|₹|S/\.?(?=\s?\d)|\bRs\.?(?=\s?\d)|\$\s?(?:US|CAN?)\b|\$|€|£|¥|"
    r"(?:S?Fr\.)(?=\s?\d)|(?:" + _CODES + r")\b"
)
_NAMED = (
    r"(?:us-dollar|us dollars?|euros?|dollars?|dólar(?:es)?|pounds?|pfund|libras|livres|yen(?:es)?|"
    r"bucks|quid|dinars?|franken|francs|francos|"
    r"pesos?|rupees?|rupias|rupien|soles)\b"
)
_AMOUNT = re.compile(
    rf"(?:(?P<before>{_MARK})\s?(?P<a>{_NUMBER})|(?P<b>{_NUMBER})\s?(?P<after>{_MARK}|{_NAMED})"
    r"|(?<![\d.,:])(?P<c>\d+[.,]\d{2})(?![\d.,:]*\d|\s?(?:%|uhr|h\b|kg|cm|m\b|l\b)))",
    re.IGNORECASE,
)
_ORDER_WORD = (
    r"(?:order|purchase|parcel|package|pedido|compra|paquete|orden|commande|colis|achat|bestellung|auftrag|paket|sendung)"
    r"(?:snummer)?"
)
_NUMBER_WORD = r"(?:\s+(?:number|no\.?|núm\.?|número|nº|n°|numéro|nr\.?|nummer|mit der nummer))?"
_ORDER = re.compile(
    rf"(?:{_ORDER_WORD}{_NUMBER_WORD}\s*[:#]?\s*(?P<named>#?[a-z]?\d[\w-]{{2,}})|(?P<hash>#\d{{3,12}})"
    r"|(?<![\w+.,/-])(?P<bare>[a-z]?\d{6,12})(?![\w/]|[.,]\d|-\d))",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,6}[-_](?:[A-Z0-9]+[-_])*[A-Z0-9]*\d[A-Z0-9]*(?:[-_][A-Z0-9]+)*|[a-z]{2,8}_\w{2,})(?![\w-])"
)
_REFERENCE_WORD = re.compile(
    r"(?<!\w)(?P<word>reference|ref\.?|referencia|référence|réf\.?|referenz|referenznummer|aktenzeichen|vorgangsnummer|"
    r"ticketnummer|fallnummer|ticket|case)(?!\w)(?:\s+(?:number|no\.?|nr\.?|nummer|número|numéro|n°|nº|code))?"
    r"(?:\s+(?:is|es|est|lautet|ist))?\s*[:#]?\s*(?P<code>(?!(?:refx|amtx|ordx|linx)\d)[A-Za-z]*[-_]?\d[\w-]*)",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"(?<![\w-])(?:L|(?:position|posten|zeile|(?<!on )line|(?<!en )ligne|(?<!en )línea|posición|renglón)\s(?=\d))"
    r"(?P<number>\d{1,3})(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_NOT_REFERENCES = re.compile(r"^(?:DIN|COVID|ISO|IP|USB|PS|WPA)[-_]", re.IGNORECASE)


@dataclass(frozen=True)
class Amount:
    """A named amount: every number the writing may mean, and its currency (`$` is any dollar, None unsaid)."""

    text: str
    values: frozenset[Decimal]
    currency: str | None


@dataclass(frozen=True)
class Values:
    """What a sentence names, by placeholder index in the masked text."""

    masked: str
    amounts: tuple[Amount, ...]
    orders: tuple[str, ...]
    references: tuple[str, ...]
    lines: tuple[str, ...]


def find_values(text: str) -> Values:
    """Mask what `text` names, references first so that their digits are not read as order numbers."""
    references: list[str] = []
    amounts: list[Amount] = []
    orders: list[str] = []
    lines: list[str] = []

    def keep_reference(match: re.Match[str]) -> str:
        if _NOT_REFERENCES.match(match.group()):
            return match.group()
        references.append(match.group())
        return f" refx{len(references) - 1} "

    def keep_code(match: re.Match[str]) -> str:
        references.append(match.group("code"))
        return f"{match.group('word')} refx{len(references) - 1} "

    def keep_amount(match: re.Match[str]) -> str:
        amounts.append(_amount(match))
        return f" amtx{len(amounts) - 1} "

    def keep_order(match: re.Match[str]) -> str:
        number = match.group("named") or match.group("hash") or match.group("bare")
        orders.append(number)
        return match.group().replace(number, f" ordx{len(orders) - 1} ")

    def keep_line(match: re.Match[str]) -> str:
        lines.append(f"L{match.group('number')}")
        return f"linx{len(lines) - 1}"

    masked = _REFERENCE.sub(keep_reference, in_digits(text))
    masked = _REFERENCE_WORD.sub(keep_code, masked)
    masked = _AMOUNT.sub(keep_amount, masked)
    masked = _LINE.sub(keep_line, masked)
    masked = _ORDER.sub(keep_order, masked)
    return Values(masked, tuple(amounts), tuple(orders), tuple(references), tuple(lines))


def placeholders(clause: str, stem: str) -> list[int]:
    """Indices of the placeholders of one sort (`amtx`, `ordx`, `refx`, `linx`) that stand in `clause`."""
    return [int(n) for n in re.findall(rf"\b{stem}(\d+)", clause)]


def _amount(match: re.Match[str]) -> Amount:
    number = match.group("a") or match.group("b") or match.group("c")
    mark = re.sub(r"\s+", " ", match.group("before") or match.group("after") or "").upper()
    currency = _SYMBOLS.get(mark, mark) or None
    return Amount(match.group().strip(), _numbers(number), currency)


def _numbers(written: str) -> frozenset[Decimal]:
    """Every value a written number may have: "1.200" is 1200 to some and 1.2 to others (three decimals exist)."""
    compact = re.sub(r"['’\u00a0\u202f ]", "", written)
    last = max(compact.rfind("."), compact.rfind(","))
    whole = re.sub(r"[.,]", "", compact)
    if last < 0:
        return frozenset({Decimal(whole)})
    decimal = Decimal(re.sub(r"[.,]", "", compact[:last]) + "." + compact[last + 1 :])
    if len(compact) - last - 1 == 3:
        return frozenset({Decimal(whole), decimal})
    return frozenset({decimal})


def currency_fits(said: str | None, row: str | None) -> bool:
    """Whether a said currency can be the row's; a bare "$" is any dollar."""
    if said is None or row is None:
        return said is None
    if said == "$":
        return row in {"USD", "CAD", "AUD", "NZD", "MXN", "SGD", "HKD", "ARS", "CLP", "COP", "UYU"}
    return said == row
