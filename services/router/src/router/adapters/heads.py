"""Reads the trained artefact: one linear head for intents and one for sentiment per encoder, no pickle, numpy only."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from router.adapters.encoders import Encoder, Vectors
from router.core.intents import INTENTS

MODEL_DIR = Path(__file__).parent.parent / "model"
WEIGHTS_FILE, CARD_FILE = "router.npz", "model.json"


class WrongEncoder(Exception):  # noqa: N818 - says what is, as all our verdicts do
    """The artefact was trained on another encoder than the one at hand."""


@dataclass(frozen=True)
class Heads:
    """Linear heads over one encoder's vectors; rows of ``intent_weights`` stand in the order of INTENTS."""

    intent_weights: npt.NDArray[np.float32]
    intent_bias: npt.NDArray[np.float32]
    sentiment_weights: npt.NDArray[np.float32]
    sentiment_bias: float

    def probabilities(self, vectors: Vectors) -> npt.NDArray[np.float64]:
        """Return softmax probabilities of shape (vectors, intents)."""
        scores = (vectors @ self.intent_weights.T + self.intent_bias).astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def sentiment(self, vectors: Vectors) -> npt.NDArray[np.float64]:
        """Return sentiment from −1 to 1, one number a vector."""
        return np.asarray(np.tanh((vectors @ self.sentiment_weights).astype(np.float64) + self.sentiment_bias))


def read_card(folder: Path = MODEL_DIR) -> dict[str, Any]:
    """Return the artefact's description: version, classes, data hash, encoders, settings of the training."""
    card: dict[str, Any] = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    if tuple(card["classes"]) != INTENTS:
        raise ValueError("the artefact was trained for other intents than the code knows")
    return card


def load_heads(encoder: Encoder, folder: Path = MODEL_DIR) -> Heads:
    """Return the heads trained on ``encoder``; raises WrongEncoder when its identity differs from the artefact's."""
    trained_on = read_card(folder)["encoders"].get(encoder.name)
    if trained_on != encoder.identity():
        raise WrongEncoder(f"trained on {trained_on}, found {encoder.identity()}")
    with np.load(folder / WEIGHTS_FILE, allow_pickle=False) as arrays:
        return Heads(
            intent_weights=arrays[f"{encoder.name}_intent_weights"].astype(np.float32),
            intent_bias=arrays[f"{encoder.name}_intent_bias"].astype(np.float32),
            sentiment_weights=arrays[f"{encoder.name}_sentiment_weights"].astype(np.float32),
            sentiment_bias=float(arrays[f"{encoder.name}_sentiment_bias"]),
        )
