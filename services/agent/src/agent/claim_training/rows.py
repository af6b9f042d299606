"""Our own sentences as examples: their segments, how each possible reading would be judged, and what is known."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_network import GROUP_OF, GROUPS
from agent.claim_rows import grouped, read_rows
from agent.claim_training.sentences import Labelled, cases_of, read_sentences
from agent.core.claims import Facts, check_reply, split_sentences
from agent.core.claims.check import parts_of, verdict_of_reading
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.opinion import NOTHING, label_of, reading_of
from agent.core.claims.reading import Reading, read_sentence
from agent.core.claims.segments import Segment
from agent.core.claims.text import prepare
from agent.own_words import own_replies

Truths = NDArray[np.bool_]
_SERVICE = Path(__file__).resolve().parents[3]
TABLE = _SERVICE / "tests/claims/develop.jsonl"
LABELLED = _SERVICE / "training/claims"
# Rows of an author's rounds, with facts and verdict; a fifth of each is only ever measured.
ROUNDS = LABELLED / "rounds"
MEASURED = LABELLED / "measured"
_FIFTHS = 5
OUTPUTS = len(GROUP_OF)
LABELS = [pair for group in GROUPS for pair in group]
_AT = {pair: at for at, pair in enumerate(LABELS)}
# Said far more often than anything a model makes up, and never to be stopped.
_OWN_WORDS_WEIGHT = 2.0
# The group of labelled sentences, and how many sorts of facts one cut in several parts is held beside.
SENTENCES = "sentences"
OWN_WORDS = "own words"
_FACTS_EACH = 6


@dataclass(frozen=True)
class Case:
    """A reply beside facts: for each segment which labels would be true, whether silence is, and the verdict."""

    id: str
    group: str
    language: str
    truths: Truths
    silences: Truths
    holds: bool
    kinds: frozenset[str]


@dataclass
class Example:
    """One reply: its segments, the cases it stands in, and labels per segment with the trust they deserve."""

    segments: tuple[Segment, ...]
    group: str
    labels: list[list[int]]
    trust: float
    cases: list[Case] = field(default_factory=list)


def examples(trust_rules: float) -> list[Example]:
    """Every distinct reply of the tables once, then the labelled sentences, then the product's own words.

    The rules' readings count by `trust_rules` where they explain every verdict, and not at all elsewhere.
    """
    found = [_of_rows(rows, trust_rules) for rows in grouped([*read_rows(TABLE), *learned_rows()])]
    return [example for example in found if example.segments] + list(_labelled()) + list(_own_words())


def learned_rows() -> list[dict[str, Any]]:
    """The rounds' rows that may be trained on."""
    return [row for row in _rounds() if not is_held_back(row)]


def learned_sentences() -> list[Labelled]:
    """The labelled sentences that may be trained on: none that is only ever measured, there or among the rows."""
    held = {(row["language"], row["reply"]) for row in chain(*held_back().values())}
    return [s for s in read_sentences() if not s.is_held_back and (s.language, s.text) not in held]


def is_held_back(row: dict[str, Any]) -> bool:
    """A fifth, chosen by the row's name so that it stays the same fifth."""
    return zlib.crc32(row["id"].encode()) % _FIFTHS == 0


def case_of(row: dict[str, Any]) -> Case:
    """A row as training and measuring see it."""
    facts = Facts.model_validate(row["facts"])
    truths: list[list[bool]] = []
    silences: list[bool] = []
    for sentence in split_sentences(row["reply"]):
        for part in parts_of(sentence, row["language"]):
            judged = [reading_of(topic, manner, part.clause) for topic, manner in LABELS]
            truths.append([verdict_of_reading(reading, sentence, row["language"], facts) for reading in judged])
            silences.append(verdict_of_reading(None, sentence, row["language"], facts))
    return Case(
        row["id"], row["id"].split("-")[0], row["language"],
        np.array(truths, dtype=bool).reshape(-1, OUTPUTS), np.array(silences, dtype=bool),
        row["expected"]["holds"], frozenset(row["expected"]["kinds"]),
    )  # fmt: skip


def segments_of_reply(reply: str, language: str) -> list[tuple[Segment, list[int]]]:
    """Each segment with the rules' labels of it."""
    found = []
    for sentence in split_sentences(reply):
        parts = parts_of(sentence, language)
        spoken = read_as(sentence, language)
        if not parts or spoken is None:
            continue
        readings = read_sentence(prepare(sentence, LEXICONS[spoken]), LEXICONS[spoken])
        for part in parts:
            here = [r for r in readings if len(parts) == 1 or r.clause in part.clause or part.clause in r.clause]
            found.append((part, [at for at in map(_label, here) if at is not None]))
    return found


def _label(reading: Reading) -> int | None:
    topic, manner = label_of(reading)
    return _named(topic, manner)


def _named(topic: str, manner: str) -> int | None:
    """The output of a label; an order's status is "being prepared" where none is said."""
    kind, _, status = topic.partition(":")
    if kind == "order_status":
        ahead = manner == "future" and not status.endswith("!")
        if ahead:
            return _AT["order_status:delivered" if status == "delivered" else "order_status:shipped", "future"]
        return _AT[f"order_status:{status or 'processing'}", "done"]
    return _AT.get((kind, "done" if kind == "unread" else manner))


def _of_rows(rows: Sequence[dict[str, Any]], trust_rules: float) -> Example:
    first = rows[0]
    right = all(
        check_reply(row["reply"], row["language"], Facts.model_validate(row["facts"])).holds == row["expected"]["holds"]
        for row in rows
    )
    cut = segments_of_reply(first["reply"], first["language"])
    return Example(
        tuple(segment for segment, _ in cut), first["id"].split("-")[0], [labels for _, labels in cut],
        trust_rules if right else 0.0, [case_of(row) for row in rows] if cut else [],
    )  # fmt: skip


def _labelled() -> Iterator[Example]:
    seen = set()
    for path in [*sorted(LABELLED.glob("*.jsonl")), *sorted((LABELLED / "more").glob("*.jsonl"))]:
        for row in read_rows(path):
            if (row["text"], row["topic"]) in seen:
                continue
            seen.add((row["text"], row["topic"]))
            segment = segments_of_reply(row["text"], row["language"])[0][0]
            label = None if row["topic"] == NOTHING else _named(row["topic"], row.get("manner", "done"))
            yield Example((segment,), path.stem, [[] if label is None else [label]], 1.0)
    yield from filter(None, map(of_sentence, learned_sentences()))


def of_sentence(sentence: Labelled) -> Example | None:
    """A labelled sentence as one segment with its labels, or cut in several beside facts that tell them apart."""
    segments = tuple(segment for segment, _ in segments_of_reply(sentence.text, sentence.language))
    labels = [label for label in (_named(topic, manner) for topic, manner in sentence.labels) if label is not None]
    if len(segments) == 1:
        return Example(segments, SENTENCES, [labels], 1.0)
    loose = any(topic in ("action", "unread") for topic, _ in sentence.labels)
    if not segments or loose:
        # which part a deed without a kind is told by, no fact can tell
        return None
    cases = [case_of(row) for row in cases_of(sentence, _FACTS_EACH)]
    return Example(segments, SENTENCES, [[] for _ in segments], 0.0, cases)


def _own_words() -> Iterator[Example]:
    for language, reply in own_replies():
        for segment, labels in segments_of_reply(reply, language):
            yield Example((segment,), OWN_WORDS, [labels], _OWN_WORDS_WEIGHT)


def held_back() -> dict[str, list[dict[str, Any]]]:
    """Each round's rows that are never trained on, and the rounds that are only measured."""
    found = {path.stem: read_rows(path) for path in sorted(MEASURED.glob("*.jsonl"))}
    for row in _rounds():
        if is_held_back(row):
            found.setdefault(row["id"].split("-")[0], []).append(row)
    return found


def _rounds() -> list[dict[str, Any]]:
    return [row for path in sorted(ROUNDS.glob("*.jsonl")) for row in read_rows(path)]
