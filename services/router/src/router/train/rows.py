"""Reads the authored rows and keeps each scenario, with its sisters in other languages, on one side of a split."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from router.core.intents import INTENTS, LANGUAGES

DATA_DIR = Path(__file__).resolve().parents[3] / "data"


@dataclass(frozen=True, slots=True)
class Row:
    """One authored customer message and the intent its author meant."""

    scenario: str
    intent: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class SentimentRow:
    """One authored message and its sentiment, −1 (furious) to 1 (delighted)."""

    scenario: str
    sentiment: float
    language: str
    text: str


def load_rows(folder: Path = DATA_DIR) -> list[Row]:
    """Return all intent rows; raises ValueError naming the file and line that doesn't fit."""
    rows = []
    for path in sorted((folder / "intents").glob("*.jsonl")):
        for place, fields in _lines(path):
            if fields.get("intent") not in INTENTS or fields.get("language") not in LANGUAGES or not fields.get("text"):
                raise ValueError(f"{place}: unknown intent or language, or no text")
            rows.append(Row(fields["scenario"], fields["intent"], fields["language"], fields["text"]))
    return rows


def load_sentiment(folder: Path = DATA_DIR) -> list[SentimentRow]:
    """Return the rows of ``sentiment.jsonl``; raises ValueError naming the line that doesn't fit."""
    rows = []
    for place, fields in _lines(folder / "sentiment.jsonl"):
        if not -1.0 <= fields.get("sentiment", 9) <= 1.0 or fields.get("language") not in LANGUAGES:
            raise ValueError(f"{place}: sentiment out of range or unknown language")
        rows.append(SentimentRow(fields["scenario"], fields["sentiment"], fields["language"], fields["text"]))
    return rows


def data_hash(folder: Path = DATA_DIR) -> str:
    """Return SHA-256 over all data files, names included, so that an artefact knows what it was made from."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.jsonl")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def folds(scenarios: Sequence[str], count: int = 5) -> list[int]:
    """Return each row's fold, decided by its scenario alone, the same on every machine."""
    return [int(hashlib.sha256(scenario.encode()).hexdigest(), 16) % count for scenario in scenarios]


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield f"{path.name}:{number}", json.loads(line)
