"""Hashed word and character n-grams, computed over a whole text at once so that any window is a difference of sums."""

from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

WORD_BUCKETS = 1 << 16
CHAR_BUCKETS = 1 << 17
BUCKETS = WORD_BUCKETS + CHAR_BUCKETS
_CHAR_SIZES = (3, 4, 5)
_PRIME = np.uint64(1_000_003)
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)

Ints = NDArray[np.int64]


@lru_cache(maxsize=20_000)
def _word_hash(word: str) -> int:
    return crc32(word.encode())


def char_grams(folded: str) -> list[tuple[int, Ints]]:
    """For each size n: the bucket of the n-gram that starts at every position of `folded`."""
    codes = np.frombuffer(folded.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    grams = []
    for size in _CHAR_SIZES:
        count = len(codes) - size + 1
        if count <= 0:
            continue
        hashed = np.full(count, size, dtype=np.uint64)
        for offset in range(size):
            hashed = hashed * _PRIME + codes[offset : offset + count]
        mixed = (hashed * _MIX) >> np.uint64(64 - 17)
        grams.append((size, (mixed + np.uint64(WORD_BUCKETS)).astype(np.int64)))
    return grams


def word_grams(words: list[str]) -> tuple[Ints, Ints]:
    """Buckets of single words and of neighbouring pairs (one fewer)."""
    singles = [_word_hash(word) for word in words]
    pairs = [(a * 31 + b * 17 + 7) % WORD_BUCKETS for a, b in pairwise(singles)]
    return np.array([h % WORD_BUCKETS for h in singles], dtype=np.int64), np.array(pairs, dtype=np.int64)
