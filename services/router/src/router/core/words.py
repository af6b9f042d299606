"""Folds text to plain lower-case letters, the form in which the word rules are written."""

import re
import unicodedata
from functools import lru_cache

_SPACES = re.compile(r"\s+")
# Emails quote whole threads; a rule that must be answered in time reads what a person would read first and last.
_HEAD_CHARS, _TAIL_CHARS = 6_000, 2_000


# Three families of rules fold the same text one after the other.
@lru_cache(maxsize=64)
def fold(text: str) -> str:
    """Return ``text`` in lower case without accents, curly quotes or runs of white space; ß becomes ss."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]} {text[-_TAIL_CHARS:]}"
    plain = text.casefold().replace("’", "'").replace("`", "'")
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    return _SPACES.sub(" ", plain).strip()


def any_of(block: str) -> str:
    """Return a pattern for whole words out of alternatives; a line may break wherever a ``|`` would stand."""
    lines = (line.strip() for line in block.strip().splitlines())
    return rf"\b(?:{'|'.join(lines)})\b"
