"""Which lines of an order a customer means, by the words of their titles in four languages."""

import re
from typing import Any

from sandbox.core.personas.patterns import SHIPPING
from sandbox.core.personas.reading import Reading, fold

Json = dict[str, Any]
# English word of a title -> how customers say it in Spanish, French and German (folded).
_GOODS = {
    "blender": "licuadora batidora mixeur mixer standmixer",
    "kettle": "hervidor tetera bouilloire wasserkocher",
    "coffee": "cafetera cafe cafetiere kaffeemaschine kaffee",
    "machine": "maquina maschine",
    "toaster": "tostadora tostador grille-pain",
    "lamp": "lampara lampe",
    "chair": "silla chaise stuhl",
    "table": "mesa tisch",
    "desk": "escritorio bureau schreibtisch",
    "shirt": "camisa camiseta chemise hemd",
    "shoes": "zapatos chaussures schuhe",
    "headphones": "auriculares casque ecouteurs kopfhorer",
    "phone": "telefono telephone telefon handy movil",
    "book": "libro livre buch",
    "watch": "reloj montre uhr",
    "backpack": "mochila rucksack",
    "bag": "bolso sac tasche",
    "pan": "sarten poele pfanne",
    "pot": "olla casserole topf",
    "mug": "taza tasse becher",
    "keyboard": "teclado clavier tastatur",
    "mouse": "raton souris maus",
    "jacket": "chaqueta veste jacke",
    "vacuum": "aspiradora aspirateur staubsauger",
    "knife": "cuchillo couteau messer",
    "fan": "ventilador ventilateur",
    "speaker": "altavoz enceinte lautsprecher",
    "camera": "camara kamera",
    "dress": "vestido robe kleid",
    "mirror": "espejo miroir spiegel",
    "grinder": "molinillo moulin muhle",
    "tablet": "tableta tablette",
    "monitor": "ecran bildschirm",
    "sofa": "canape",
    "rug": "alfombra tapis teppich",
    "bottle": "botella bouteille flasche",
}


def pick_lines(order: Json, reading: Reading) -> list[Json]:
    """Return the lines meant: all when the whole order is asked for, those named, or the only one; else none."""
    lines = [line for line in order.get("lines") or [] if isinstance(line, dict) and line.get("line_id")]
    if reading.whole:
        return lines
    goods = [line for line in lines if line["line_id"] != "shipping"]
    by_id = [line for line in goods if re.search(rf"\b{re.escape(fold(str(line['line_id'])))}\b", reading.text)]
    named = by_id or _named(goods, reading.text)
    if SHIPPING.search(reading.text):
        named += [line for line in lines if line["line_id"] == "shipping"]
    if named:
        return named
    by_amount = [line for line in goods if _says_amount(reading.text, str(line.get("paid")))]
    return by_amount if len(by_amount) == 1 else goods if len(goods) == 1 else []


def _named(lines: list[Json], text: str) -> list[Json]:
    said = set(re.findall(r"[a-z][a-z'-]+", text))
    matched = [(line, _matches(str(line.get("title", "")), said)) for line in lines]
    # "coffee machine" also touches "washing machine"; the line that explains more of what was said wins.
    return [line for line, words in matched if words and not any(words < other for _, other in matched)]


def _matches(title: str, said: set[str]) -> set[str]:
    words = [word for word in re.findall(r"[a-z]{3,}", fold(title)) if word not in {"the", "and", "for", "with", "set"}]
    return {
        word
        for word in words
        if said & {word, f"{word}s", f"{word}es", word.rstrip("s"), *_GOODS.get(word, "").split()}
    }


def _says_amount(text: str, paid: str) -> bool:
    whole = paid.removesuffix(".00")
    return bool(re.search(rf"(?<![\d.,]){re.escape(whole)}([.,]00)?(?![\d]|[.,]\d)", text))
