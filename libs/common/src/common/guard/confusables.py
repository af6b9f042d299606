"""Letters of other scripts that are drawn like Latin ones, and digits that stand in for letters."""

import re
import unicodedata
from functools import lru_cache

# Only lookalikes with a real Latin twin: mapping whole alphabets would turn honest Greek or Russian into noise.
_TWINS = {
    "a": "аɑα⍺",
    "b": "ЬЪƄϐвʙ",
    "c": "сϲⅽᴄ",
    "d": "ԁⅾɗ",
    "e": "еєҽεɛ℮",
    "f": "ƒϝ",
    "g": "ɡցɢ",
    "h": "һհнʜ",
    "i": "іıɩιӏ¡і",
    "j": "јϳ",
    "k": "кκᴋ",
    "l": "ⅼӀʟ",
    "m": "мⅿᴍ",
    "n": "ոпηɴ",
    "o": "оοօσ०ο",
    "p": "рρᴘ",
    "q": "ԛզ",
    "r": "гꭇʀ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υսᴜ",
    "v": "ѵνᴠ",
    "w": "ѡԝωᴡ",
    "x": "хχ×",
    "y": "уүγʏ",
    "z": "ᴢʐ",
}
_TABLE = {ord(twin): latin for latin, twins in _TWINS.items() for twin in twins}
_TABLE |= {ord(chr(twin).upper()): latin for twin, latin in list(_TABLE.items()) if len(chr(twin).upper()) == 1}

_LEET = str.maketrans(
    {
        "0": "o",
        "1": "i",
        "3": "e",
        "4": "a",
        "5": "s",
        "7": "t",
        "8": "b",
        "@": "a",
        "$": "s",
        "€": "e",
        "!": "i",
        "|": "l",
    }
)


_DIGIT_INSIDE = re.compile(r"[a-z][0134578$!|]{1,2}[a-z]")


@lru_cache(maxsize=4096)
def _strip_mark(char: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", char) if not unicodedata.combining(c))


def skeleton(text: str) -> str:
    """Lower-case `text` with accents dropped and lookalikes replaced: "Іgnоré" → "ignore"."""
    lowered = text.casefold()
    if lowered.isascii():
        return lowered
    swapped = lowered.translate(_TABLE)
    return swapped if swapped.isascii() else "".join(c if c.isascii() else _strip_mark(c) for c in swapped)


def unleet(text: str) -> str:
    """Read digits and signs inside words as letters: "1gn0r3" → "ignore". Plain numbers are left alone."""
    return " ".join(_unleet_word(word) for word in text.split(" "))


def _unleet_word(word: str) -> str:
    letters = sum(c.isalpha() for c in word)
    if not letters or word.isalpha() or "://" in word:
        return word
    core = word.rstrip("!.,;:?")
    return core.translate(_LEET) + word[len(core) :]


def spells_with_digits(text: str) -> bool:
    """Whether digits stand for letters in at least two words; "the 3rd" and an address's "@" don't."""
    return len(_DIGIT_INSIDE.findall(text)) > 1


def mixes_scripts(word: str) -> bool:
    """Whether one word is written in Latin and a lookalike script at once, as in "rеfund" with a Cyrillic e."""
    if word.isascii():
        return False
    latin = any("a" <= c <= "z" for c in word.casefold())
    return latin and any("\u0370" <= c <= "\u058f" for c in word)
