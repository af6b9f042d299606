"""BM25 over sections, with prefix matches for the compounds of German and for half-typed words."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

_K1 = 1.2
_B = 0.6
# "Rückgabefrist" should find "Rückgabe", at less than the worth of the word itself.
_PREFIX_WORTH = 0.5
_PREFIX_LENGTH = 5


class LexicalIndex:
    """Built once from the terms of each document; documents are known by their position."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._lengths = [len(document) or 1 for document in documents]
        self._mean = sum(self._lengths) / max(len(self._lengths), 1)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, document in enumerate(documents):
            for term, count in Counter(document).items():
                self._postings[term].append((number, count))
        self._by_prefix: dict[str, list[str]] = defaultdict(list)
        for term in self._postings:
            self._by_prefix[term[:_PREFIX_LENGTH]].append(term)

    def scores(self, question: Sequence[str]) -> tuple[list[float], float]:
        """BM25 of every document, and the share (0..1) of the question's weight that the best one covers."""
        total = [0.0] * len(self._lengths)
        covered = [0.0] * len(self._lengths)
        weight = 0.0
        for term in dict.fromkeys(question):
            weight += self._rarity(term)
            for number, gain, cover in self._matches(term):
                total[number] += gain
                covered[number] += cover
        return total, max(covered, default=0.0) / weight if weight else 0.0

    def _matches(self, term: str) -> list[tuple[int, float, float]]:
        best: dict[int, tuple[float, float]] = {}
        for known, worth in self._alike(term):
            rarity = self._rarity(known)
            for number, count in self._postings[known]:
                length = 1 - _B + _B * self._lengths[number] / self._mean
                gain = worth * rarity * count * (_K1 + 1) / (count + _K1 * length)
                if gain > best.get(number, (0.0, 0.0))[0]:
                    best[number] = (gain, worth * self._rarity(term))
        return [(number, gain, cover) for number, (gain, cover) in best.items()]

    def _alike(self, term: str) -> list[tuple[str, float]]:
        alike = [(term, 1.0)] if term in self._postings else []
        if len(term) >= _PREFIX_LENGTH:
            alike += [
                (known, _PREFIX_WORTH) for known in self._by_prefix.get(term[:_PREFIX_LENGTH], ()) if known != term
            ]
        return alike

    def _rarity(self, term: str) -> float:
        held = len(self._postings.get(term, ()))
        return math.log(1 + (len(self._lengths) - held + 0.5) / (held + 0.5))
