"""``python -m router.train``: reads the authored rows, fits, measures, writes artefact and model card."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from router.adapters.encoders import Encoder, HashEncoder, JointEncoder, SentenceEncoder, Vectors
from router.adapters.heads import MODEL_DIR, Heads
from router.core.asks_for_person import asks_for_person
from router.core.intents import ASKS_FOR_HUMAN, SENSITIVE
from router.core.sensitive_words import sensitive_words
from router.train.artefact import Provenance, write_artefact
from router.train.card import Measured, model_card
from router.train.fit import REGULARISATION_C, fit_heads, fit_intents
from router.train.measure import encode_all, load_outside, out_of_fold, sentiment_out_of_fold, with_word_rules
from router.train.metrics import Floats, Scores, answered_without_agent, score, sensitive_at
from router.train.plots import curves_svg, reliability_svg
from router.train.rows import DATA_DIR, Row, SentimentRow, data_hash, folds, load_rows, load_sentiment


@dataclass(frozen=True)
class Material:
    """The authored rows and, by encoder name, the vectors of both kinds of row."""

    rows: list[Row]
    feelings: list[SentimentRow]
    vectors: dict[str, tuple[Vectors, Vectors]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole training; prints where things went and the headline figures."""
    options = _options(arguments)
    rows, feelings = load_rows(options.data), load_sentiment(options.data)
    intents = [row.intent for row in rows]
    encoders: tuple[Encoder, ...] = (JointEncoder(SentenceEncoder(), HashEncoder()), HashEncoder())
    vectors = {e.name: (_encode(e, rows), _encode(e, feelings)) for e in encoders}
    targets = [row.sentiment for row in feelings]
    heads = {e: fit_heads(vectors[e.name][0], intents, vectors[e.name][1], targets) for e in encoders}
    digest = data_hash(options.data)
    write_artefact(options.model, Provenance(digest, len(rows), len(feelings), REGULARISATION_C), heads)
    measured = _measure(Material(rows, feelings, vectors), encoders[0], heads[encoders[0]], options)
    _write_card(options.card, measured)
    _say(f"{measured.version} ({len(rows)} rows), held out", score(measured.ruled, intents))
    for name, scores in measured.outside.items():
        _say(name, scores)


def _say(name: str, s: Scores) -> None:
    caught = f"sensitive {s.sensitive_recall:.3f} at {s.sensitive_false_alarms:.3f} false alarms"
    print(f"{name}: accuracy {s.accuracy:.3f}, ECE {s.ece:.3f} (floor {s.ece_floor:.3f}), {caught}", file=sys.stderr)


def _encode(encoder: Encoder, rows: Sequence[Row] | Sequence[SentimentRow]) -> Vectors:
    return encode_all(encoder, [row.text for row in rows])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m router.train", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder with intents/*.jsonl and sentiment.jsonl")
    parser.add_argument("--model", type=Path, default=MODEL_DIR, help="where the artefact goes")
    parser.add_argument("--card", type=Path, default=DATA_DIR.parent, help="folder for model-card.md and its pictures")
    given = os.environ.get("ROUTER_OUTSIDE_SET")
    parser.add_argument(
        "--outside", type=Path, default=Path(given) if given else None, help="JSONL to measure on (text, label, lang)"
    )
    parser.add_argument(
        "--others", type=float, nargs="*", default=(), help="also measure with these values of C (slow)"
    )
    return parser.parse_args(arguments)


def _measure(material: Material, encoder: Encoder, heads: Heads, options: argparse.Namespace) -> Measured:
    rows, feelings, vectors = material.rows, material.feelings, material.vectors
    intents, texts = [row.intent for row in rows], [row.text for row in rows]
    own, felt = vectors[encoder.name]
    raw = out_of_fold(own, rows, REGULARISATION_C)
    return Measured(
        version=f"router-{data_hash(options.data)[:10]}",
        encoder=encoder.identity(),
        rows=rows,
        raw=raw,
        ruled=with_word_rules(texts, raw),
        fallback=_fallback_scores(vectors["hash"][0], rows),
        alternatives={c: score(out_of_fold(own, rows, c), intents) for c in options.others},
        sentiment=_sentiment_figures(feelings, sentiment_out_of_fold(felt, feelings, own, intents)),
        word_rules=_word_figures(rows),
        outside=_outside_figures(options.outside, encoder, heads) if options.outside else {},
    )


def _fallback_scores(vectors: Vectors, rows: Sequence[Row]) -> Scores:
    """One fold is enough to say how much weaker the fallback is."""
    held = np.array(folds([row.scenario for row in rows])) == 0
    chosen = [row for row, h in zip(rows, held, strict=True) if h]
    kept = [row.intent for row, h in zip(rows, held, strict=True) if not h]
    weights, bias = fit_intents(vectors[~held], kept)
    found = Heads(weights, bias, weights[0], 0.0).probabilities(vectors[held])
    return score(with_word_rules([row.text for row in chosen], found), [row.intent for row in chosen])


def _sentiment_figures(rows: Sequence[SentimentRow], found: Floats) -> dict[str, float]:
    meant = np.array([row.sentiment for row in rows])
    upset, calm = meant <= -0.6, meant >= -0.3
    return {
        "mean absolute error": float(np.abs(found - meant).mean()),
        "correlation": float(np.corrcoef(found, meant)[0, 1]),
        "upset (−0.6 and below) found at −0.6": float((found[upset] <= -0.6).mean()),
        "clearly upset (−0.8 and below) found at −0.6": float((found[meant <= -0.8] <= -0.6).mean()),
        "calm (−0.3 and above) taken for upset": float((found[calm] <= -0.6).mean()),
    }


def _word_figures(rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    said = {ASKS_FOR_HUMAN: [asks_for_person(row.text) for row in rows]}
    topics = [sensitive_words(row.text) for row in rows]
    said |= {topic: [topic in found for found in topics] for topic in SENSITIVE}
    figures = {}
    for intent, flags in said.items():
        hits = sum(flag and row.intent == intent for flag, row in zip(flags, rows, strict=True))
        figures[intent] = (hits / max(sum(flags), 1), hits / max(sum(row.intent == intent for row in rows), 1))
    return figures


def _outside_figures(path: Path, encoder: Encoder, heads: Heads) -> dict[str, Scores]:
    outside = load_outside(path)
    found = with_word_rules(outside.texts, heads.probabilities(encode_all(encoder, outside.texts)))
    figures = {"all": score(found, outside.intents)}
    for name, values in (("language", outside.languages), ("source", outside.sources)):
        for value in sorted(set(values)):
            chosen = [v == value for v in values]
            figures[f"{name} {value}"] = score(
                found[chosen], [i for i, c in zip(outside.intents, chosen, strict=True) if c]
            )
    return figures


def _write_card(folder: Path, m: Measured) -> None:
    intents = [row.intent for row in m.rows]
    steps = [n / 50 for n in range(1, 50)]
    curves = {
        "sensitive recall": [(t, sensitive_at(m.ruled, intents, t)[0]) for t in steps],
        "sensitive false alarms": [(t, sensitive_at(m.ruled, intents, t)[1]) for t in steps],
        "skip the agent: precision": [(t, answered_without_agent(m.ruled, intents, t)[0]) for t in steps],
        "skip the agent: recall": [(t, answered_without_agent(m.ruled, intents, t)[1]) for t in steps],
    }
    bins = score(m.ruled, intents).bins
    (folder / "model-card.md").write_text(model_card(m), encoding="utf-8")
    (folder / "model-card-reliability.svg").write_text(reliability_svg(bins, "held-out reliability"), encoding="utf-8")
    (folder / "model-card-thresholds.svg").write_text(
        curves_svg(curves, (0.3, 0.7, 0.85), "what each threshold costs"), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
