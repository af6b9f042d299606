"""Writes the artefact the service reads: arrays without pickle, and a card that says what they were made from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from router.adapters.encoders import Encoder
from router.adapters.heads import CARD_FILE, WEIGHTS_FILE, Heads
from router.core.intents import INTENTS, LANGUAGES
from router.core.routing import Thresholds


@dataclass(frozen=True)
class Provenance:
    """What the heads were trained from."""

    data_sha256: str
    rows: int
    sentiment_rows: int
    c: float


def write_artefact(folder: Path, made_from: Provenance, heads: Mapping[Encoder, Heads]) -> None:
    """Write weights (half precision for the wide hashed head) and description; the same input gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for encoder, head in heads.items():
        width = np.float16 if encoder.dimensions > 1_000 else np.float32
        arrays[f"{encoder.name}_intent_weights"] = head.intent_weights.astype(width)
        arrays[f"{encoder.name}_intent_bias"] = head.intent_bias.astype(np.float32)
        arrays[f"{encoder.name}_sentiment_weights"] = head.sentiment_weights.astype(width)
        arrays[f"{encoder.name}_sentiment_bias"] = np.array(head.sentiment_bias, dtype=np.float32)
    np.savez_compressed(folder / WEIGHTS_FILE, allow_pickle=False, **arrays)
    thresholds = Thresholds()
    card = {
        "version": f"router-{made_from.data_sha256[:10]}",
        "classes": list(INTENTS),
        "languages": list(LANGUAGES),
        "data_sha256": made_from.data_sha256,
        "rows": made_from.rows,
        "sentiment_rows": made_from.sentiment_rows,
        "regularisation_c": made_from.c,
        "encoders": {encoder.name: encoder.identity() for encoder in heads},
        "thresholds": {
            "sensitive": thresholds.sensitive,
            "confident": thresholds.confident,
            "doubtful": thresholds.doubtful,
        },
    }
    (folder / CARD_FILE).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
