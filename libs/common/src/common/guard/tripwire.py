"""A small trained classifier over sentence windows: hashed n-grams, one weight each, numpy only, no pickle."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.guard.features import BUCKETS, char_grams, word_grams
from common.guard.windows import Window, windows

ARTEFACT = Path(__file__).parent / "tripwire.npz"
_WORD = re.compile(r"\w+")
_FORMAT = 1
# A link's path and query are noise to letters and words; what somebody writes there in words, decodings and rules read.
_LINK_TAIL = re.compile(r"(?<=://)([^\s/?#\"'<>)]{1,100})[/?#][^\s\"'<>)]*")
# The best of ten windows of a harmless text scores higher than a single one; without this, long honest mails trip.
_LUCK = 0.3

Floats = NDArray[np.float64]


def weighed(folded: str) -> str:
    """The part of a text that is weighed: links end at their host."""
    return _LINK_TAIL.sub(r"\1", folded) if "://" in folded else folded


@dataclass(frozen=True)
class Tripwire:
    """`weights` has one value a bucket; a window trips when its score (log-odds) reaches the threshold."""

    weights: NDArray[np.float32]
    bias: float
    threshold: float
    hidden_threshold: float

    def trips(self, folded: str, *, hidden: bool = False) -> bool:
        """Whether any window looks like an order to the machine; hidden readings get less benefit of the doubt."""
        return self.score(folded) >= (self.hidden_threshold if hidden else self.threshold)

    def score(self, folded: str) -> float:
        """The highest log-odds of any window, less what chance alone gives the best of many."""
        folded = weighed(folded)
        scores = self.window_scores(folded, windows(folded))
        return float(scores.max()) - _LUCK * math.log(len(scores))

    def window_scores(self, folded: str, spans: list[Window]) -> Floats:
        """Log-odds of each span. Sums of weights are taken once for the text and differenced for each window."""
        starts = np.array([s for s, _ in spans])
        ends = np.array([e for _, e in spans])
        words = [(m.start(), m.group()) for m in _WORD.finditer(folded)]
        singles, pairs = word_grams([w for _, w in words])
        offsets = np.array([at for at, _ in words], dtype=np.int64)
        first, last = np.searchsorted(offsets, starts), np.searchsorted(offsets, ends)
        total, count = self._spread(singles, first, last)
        pair_total, pair_count = self._spread(pairs, first, np.maximum(last - 1, first))
        score = (total + pair_total) / np.sqrt(np.maximum(count + pair_count, 1))
        total, count = np.zeros(len(spans)), np.zeros(len(spans))
        for size, grams in char_grams(folded):
            more, many = self._spread(grams, starts, np.maximum(ends - size + 1, starts))
            total, count = total + more, count + many
        return np.asarray(score + total / np.sqrt(np.maximum(count, 1)) + self.bias)

    def _spread(
        self, grams: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        sums = np.concatenate(([0.0], np.cumsum(self.weights[grams], dtype=np.float64)))
        first, last = np.minimum(first, len(grams)), np.minimum(last, len(grams))
        return sums[last] - sums[first], (last - first).astype(np.float64)


def load(path: Path = ARTEFACT) -> Tripwire:
    """Read the committed artefact. Raises ValueError when it was trained for other features than this code computes."""
    with np.load(path, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        if about["format"] != _FORMAT or about["buckets"] != BUCKETS:
            raise ValueError(f"{path.name} was trained for other features; run python -m common.guard.train")
        weights = np.zeros(BUCKETS, dtype=np.float32)
        weights[stored["buckets"]] = stored["weights"].astype(np.float32) * about["scale"]
    return Tripwire(weights, about["bias"], about["threshold"], about["hidden_threshold"])


def save(tripwire: Tripwire, path: Path, card: dict[str, object]) -> None:
    """Write weights as bytes on a common scale, zeros left out: under 1 MB, and reading it executes nothing."""
    scale = float(np.abs(tripwire.weights).max()) / 127
    small = np.round(tripwire.weights / scale).astype(np.int8)
    kept = np.flatnonzero(small).astype(np.uint32)
    about = {
        "format": _FORMAT,
        "buckets": BUCKETS,
        "scale": scale,
        "bias": tripwire.bias,
        "threshold": tripwire.threshold,
        "hidden_threshold": tripwire.hidden_threshold,
        **card,
    }
    np.savez_compressed(path, buckets=kept, weights=small[kept], about=np.array(json.dumps(about, sort_keys=True)))
