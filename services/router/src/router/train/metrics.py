"""What the model card reports: accuracy, F1, calibration with its noise floor, and what each threshold costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from router.core.intents import INTENTS, SENSITIVE

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_BINS = 15
_FLOOR_DRAWS = 200


@dataclass(frozen=True)
class Bin:
    """One bar of the reliability plot: how many, how sure on average, how often right."""

    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Scores:
    """The figures of one set of messages."""

    count: int
    accuracy: float
    macro_f1: float
    f1: dict[str, float]
    ece: float
    ece_floor: float
    mean_confidence: float
    sensitive_recall: float
    sensitive_false_alarms: float
    bins: tuple[Bin, ...]


def score(probabilities: Floats, intents: Sequence[str]) -> Scores:
    """Return all figures for rows of probabilities (in INTENTS' order) against the true intents."""
    truth = np.array([INTENTS.index(intent) for intent in intents])
    guess, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = guess == truth
    f1 = {name: _f1(guess == i, truth == i) for i, name in enumerate(INTENTS) if (truth == i).any()}
    is_sensitive = np.isin(truth, [INTENTS.index(name) for name in SENSITIVE])
    caught = sensitive_probability(probabilities) >= 0.3
    bins = reliability(confidence, right)
    return Scores(
        count=len(truth),
        accuracy=float(right.mean()),
        macro_f1=float(np.mean(list(f1.values()))),
        f1=f1,
        ece=calibration_error(confidence, right),
        ece_floor=noise_floor(confidence),
        mean_confidence=float(confidence.mean()),
        sensitive_recall=_rate(caught[is_sensitive]),
        sensitive_false_alarms=_rate(caught[~is_sensitive]),
        bins=bins,
    )


def sensitive_probability(probabilities: Floats) -> Floats:
    """Return the highest probability among the sensitive intents, one a row."""
    return np.asarray(probabilities[:, [INTENTS.index(name) for name in SENSITIVE]].max(axis=1))


def reliability(confidence: Floats, right: Bools, bins: int = _BINS) -> tuple[Bin, ...]:
    """Return equal-width bins from 0 to 1; empty ones have a count of 0."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    found = []
    for number in range(bins):
        chosen = place == number
        count = int(chosen.sum())
        found.append(Bin(count, _rate(confidence[chosen]), _rate(right[chosen])))
    return tuple(found)


def calibration_error(confidence: Floats, right: Bools, bins: int = _BINS) -> float:
    """Return the expected calibration error: the bins' gaps, weighed by their counts."""
    total = len(confidence)
    return sum(
        b.count / total * abs(b.confidence - b.accuracy) for b in reliability(confidence, right, bins) if b.count
    )


def noise_floor(confidence: Floats, bins: int = _BINS) -> float:
    """Return the error a perfectly calibrated model would show on so many rows, averaged over seeded draws."""
    draws = np.random.default_rng(20_261_129).random((_FLOOR_DRAWS, len(confidence)))
    return float(np.mean([calibration_error(confidence, draw < confidence, bins) for draw in draws]))


def answered_above(probabilities: Floats, intents: Sequence[str], threshold: float) -> tuple[float, float]:
    """Return coverage and accuracy of the messages whose best probability reaches ``threshold``."""
    truth = np.array([INTENTS.index(intent) for intent in intents])
    sure = probabilities.max(axis=1) >= threshold
    return float(sure.mean()), _rate((probabilities.argmax(axis=1) == truth)[sure])


def answered_without_agent(probabilities: Floats, intents: Sequence[str], threshold: float) -> tuple[float, float]:
    """Return precision and recall of the three intents that skip the agent, at one confidence threshold."""
    names = ("where_is_my_order", "policy_question", "product_question")
    skipping = [INTENTS.index(name) for name in names]
    truth = np.array([INTENTS.index(intent) for intent in intents])
    guess = probabilities.argmax(axis=1)
    taken = (probabilities.max(axis=1) >= threshold) & np.isin(guess, skipping)
    meant = np.isin(truth, skipping)
    return _rate((guess == truth)[taken]), _rate((taken & (guess == truth))[meant])


def sensitive_at(probabilities: Floats, intents: Sequence[str], threshold: float) -> tuple[float, float]:
    """Return recall and false-alarm rate of the sensitive rule at one threshold."""
    is_sensitive = np.array([intent in SENSITIVE for intent in intents])
    caught = sensitive_probability(probabilities) >= threshold
    return _rate(caught[is_sensitive]), _rate(caught[~is_sensitive])


def _f1(guessed: Bools, true: Bools) -> float:
    hits = int((guessed & true).sum())
    return 2 * hits / max(int(guessed.sum() + true.sum()), 1)


def _rate(values: Floats | Bools) -> float:
    return float(values.mean()) if len(values) else 0.0
