"""Measures a candidate: out of fold on the authored rows, and whole on a set that isn't in the repository."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from router.adapters.encoders import Encoder, Vectors
from router.adapters.heads import Heads
from router.core.intents import INTENTS
from router.core.reading import Reading
from router.core.word_rules import apply_word_rules
from router.train.fit import CALM_INTENTS, fit_intents, fit_sentiment
from router.train.metrics import Floats
from router.train.rows import Row, SentimentRow, folds


@dataclass(frozen=True)
class Outside:
    """Messages of other authors, read for measuring only."""

    texts: tuple[str, ...]
    intents: tuple[str, ...]
    languages: tuple[str, ...]
    sources: tuple[str, ...]


def load_outside(path: Path) -> Outside:
    """Return the labelled messages of a JSONL file with ``text``, ``label``, ``lang`` and ``source``."""
    with path.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    return Outside(
        tuple(row["text"] for row in rows),
        tuple(row["label"] for row in rows),
        tuple(row.get("lang", "en") for row in rows),
        tuple(row.get("source", "") for row in rows),
    )


def out_of_fold(vectors: Vectors, rows: Sequence[Row], c: float) -> Floats:
    """Return probabilities for every row from a model that saw none of its scenario."""
    place = np.array(folds([row.scenario for row in rows]))
    intents = [row.intent for row in rows]
    found = np.zeros((len(rows), len(INTENTS)))
    for fold in range(5):
        held, kept = place == fold, place != fold
        weights, bias = fit_intents(vectors[kept], [i for i, k in zip(intents, kept, strict=True) if k], c)
        found[held] = Heads(weights, bias, weights[0], 0.0).probabilities(vectors[held])
    return found


def sentiment_out_of_fold(
    vectors: Vectors, rows: Sequence[SentimentRow], intent_vectors: Vectors, intents: Sequence[str]
) -> Floats:
    """Return each sentiment row's score from a head that saw neither the row nor its sisters."""
    place = np.array(folds([row.scenario for row in rows]))
    calm = intent_vectors[[intent in CALM_INTENTS for intent in intents]]
    found = np.zeros(len(rows))
    for fold in range(5):
        held, kept = place == fold, place != fold
        targets = [row.sentiment for row, k in zip(rows, kept, strict=True) if k]
        weights, bias = fit_sentiment(vectors[kept], targets, calm)
        found[held] = np.tanh(vectors[held] @ weights + bias)
    return found


def with_word_rules(texts: Sequence[str], probabilities: Floats) -> Floats:
    """Return the probabilities after the word rules spoke, as the service sees them."""
    found = np.empty_like(probabilities)
    for index, text in enumerate(texts):
        reading = Reading(dict(zip(INTENTS, probabilities[index].tolist(), strict=True)), "en")
        changed = apply_word_rules(text, reading).probabilities
        found[index] = [changed[name] for name in INTENTS]
    return found


def encode_all(encoder: Encoder, texts: Sequence[str], batch: int = 64) -> Vectors:
    """Return vectors in batches small enough to stay in the processor's cache."""
    parts = [encoder.encode(texts[start : start + batch]) for start in range(0, len(texts), batch)]
    return np.concatenate(parts)
