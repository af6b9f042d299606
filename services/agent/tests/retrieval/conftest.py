"""The packaged help center, indexed once for the whole run."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.adapters.search_index import SearchIndex, build_index


@dataclass(frozen=True)
class Question:
    """One labelled question; `topic` is None where the help center has no answer."""

    half: str
    language: str
    text: str
    topic: str | None


@pytest.fixture(scope="session")
def index() -> SearchIndex:
    return build_index()


@pytest.fixture(scope="session")
def questions() -> list[Question]:
    rows = map(json.loads, (Path(__file__).parent / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [Question(r["half"], r["language"], r["question"], r["topic"]) for r in rows]
