"""Cuts text into the word pieces of the claim encoder: the likeliest ones by a unigram vocabulary, word by word."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_SPACE = "▁"
_NEVER = -1e30
# A letter no piece covers costs more than any piece, so that it is left out only where it must be.
_UNKNOWN_COST = 10.0
OPENING, PADDING, CLOSING, UNKNOWN = 0, 1, 2, 3


class Pieces:
    """Piece ids of texts; the first four ids are the marks above and cover no letters."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], longest_text: int) -> None:
        self._ids = {piece: at for at, piece in enumerate(pieces) if at > UNKNOWN}
        self._scores = list(scores)
        self._unknown = min(self._scores) - _UNKNOWN_COST
        self._longest_piece = max(map(len, self._ids))
        self._longest_text = longest_text
        self._of_word = lru_cache(maxsize=20_000)(self._cut)

    def ids(self, text: str) -> list[int]:
        """At most `longest_text` ids, the two marks at the ends included."""
        plain = unicodedata.normalize("NFKC", text)
        inner = [piece for word in plain.split() for piece in self._of_word(_SPACE + word)]
        return [OPENING, *inner[: self._longest_text - 2], CLOSING]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The cut with the highest sum of scores, found from left to right."""
        best = [0.0] + [_NEVER] * len(word)
        steps: list[tuple[int, int]] = [(0, UNKNOWN)] * (len(word) + 1)
        for start, end in _spans(len(word), self._longest_piece):
            piece = self._ids.get(word[start:end])
            if piece is not None:
                score = best[start] + self._scores[piece]
            elif end == start + 1:
                piece, score = UNKNOWN, best[start] + self._unknown
            else:
                continue
            if score > best[end]:
                best[end], steps[end] = score, (start, piece)
        return tuple(_backwards(steps))


def _spans(length: int, longest: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(length) for end in range(start + 1, min(length, start + longest) + 1)]


def _backwards(steps: Sequence[tuple[int, int]]) -> list[int]:
    found: list[int] = []
    at = len(steps) - 1
    while at > 0:
        at, piece = steps[at]
        found.append(piece)
    return found[::-1]


def split_pieces(joined: str, lengths: Sequence[int]) -> list[str]:
    """The pieces of a file that stores them as one text and their lengths in letters."""
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    return [joined[start:end] for start, end in pairwise(ends)]
