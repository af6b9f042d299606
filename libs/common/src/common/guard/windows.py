"""Cuts a text into the windows that are judged: an order of one sentence must not drown in pages of small talk."""

import re
from itertools import pairwise

_SENTENCE_END = re.compile(r"[.!?…。]+(?=\s|$)|\n+|[\"{}<>|]{1,4}|;\s|\\n")
_SHORTEST = 12
_LONGEST = 260
_STEP = 130
_WHOLE_UP_TO = 420

Window = tuple[int, int]


def windows(folded: str) -> list[Window]:
    """(start, end) of every window: each sentence, each pair of neighbours, and a short text as a whole."""
    spans = _sentences(folded)
    found = list(spans)
    found += [(a[0], b[1]) for a, b in pairwise(spans) if b[1] - a[0] <= 2 * _LONGEST]
    if len(spans) > 2 and len(folded) <= _WHOLE_UP_TO:
        found.append((0, len(folded)))
    return found or [(0, len(folded))]


def _sentences(folded: str) -> list[Window]:
    spans: list[Window] = []
    start = 0
    ends = [m.end() for m in _SENTENCE_END.finditer(folded)]
    for end in [*ends, len(folded)]:
        if end - start < _SHORTEST and end != len(folded):
            continue
        if folded[start:end].strip():
            spans += _cut(start, end)
        start = end
    return spans


def _cut(start: int, end: int) -> list[Window]:
    if end - start <= _LONGEST:
        return [(start, end)]
    return [(at, min(at + _LONGEST, end)) for at in range(start, end - _STEP, _STEP)]
