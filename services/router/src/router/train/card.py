"""Writes the model card from measured figures; nothing in it is typed by hand but the sentences around them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from router.core.intents import INTENTS, LANGUAGES
from router.train.metrics import Floats, Scores, answered_above, answered_without_agent, score, sensitive_at
from router.train.rows import Row


@dataclass(frozen=True)
class Measured:
    """All figures of one training run, ready to print."""

    version: str
    encoder: str
    rows: Sequence[Row]
    raw: Floats
    ruled: Floats
    fallback: Scores
    alternatives: dict[float, Scores]
    sentiment: dict[str, float]
    word_rules: dict[str, tuple[float, float]]
    outside: dict[str, Scores]


def model_card(m: Measured) -> str:
    """Return the card as Markdown; pictures are expected beside it."""
    intents = [row.intent for row in m.rows]
    raw, ruled = score(m.raw, intents), score(m.ruled, intents)
    parts = [
        _head(m),
        _quality(raw, ruled, m.fallback),
        _languages(m),
        _classes(ruled),
        _thresholds(m.ruled, intents),
        _words(m.word_rules),
        _alternatives(m.alternatives),
        _sentiment(m.sentiment),
        _outside(m.outside),
        _LIMITS,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(m: Measured) -> str:
    scenarios = Counter(intent for intent, _ in {(row.intent, row.scenario) for row in m.rows})
    return (
        f"# Model card: router {m.version}\n\n"
        "Reads a customer's message and says which of fifteen intents it carries, in English, Spanish, French and "
        "German, and how it is meant (sentiment −1 to 1). Made by `make train`, which writes this page too.\n\n"
        f"- **Encoder** {m.encoder}\n"
        "- **Heads** balanced logistic regression (intents), ridge under a tanh (sentiment); plain arrays, no pickle\n"
        f"- **Training rows** {len(m.rows)} authored messages, {sum(scenarios.values())} scenarios "
        f"({min(scenarios.values())}–{max(scenarios.values())} an intent), written for this project, no customer data\n"
        "- **Held out** five folds by scenario: a message and its sisters in other languages are never on both sides"
    )


def _quality(raw: Scores, ruled: Scores, fallback: Scores) -> str:
    lines = [
        "## Held-out quality",
        "",
        "| | accuracy | macro-F1 | ECE (15 bins) | floor | mean confidence | sensitive recall at 0.3 | false alarms |",
        "|---|---|---|---|---|---|---|---|",
        _row("classifier alone", raw),
        _row("with word rules (as the service runs)", ruled),
        _row("fallback: hashed letters", fallback),
        "",
        "The noise floor is the ECE a perfectly calibrated model would show on so many rows.",
        "",
        "![reliability](model-card-reliability.svg) ![thresholds](model-card-thresholds.svg)",
    ]
    return "\n".join(lines)


def _row(name: str, s: Scores) -> str:
    return (
        f"| {name} ({s.count}) | {s.accuracy:.3f} | {s.macro_f1:.3f} | {s.ece:.3f} | {s.ece_floor:.3f} | "
        f"{s.mean_confidence:.3f} | {s.sensitive_recall:.3f} | {s.sensitive_false_alarms:.3f} |"
    )


def _languages(m: Measured) -> str:
    lines = ["## By language", "", "| language | accuracy | macro-F1 | ECE | floor | sensitive recall | false alarms |"]
    lines.append("|---|---|---|---|---|---|---|")
    for language in LANGUAGES:
        chosen = [row.language == language for row in m.rows]
        s = score(m.ruled[chosen], [row.intent for row in m.rows if row.language == language])
        lines.append(
            f"| {language} ({s.count}) | {s.accuracy:.3f} | {s.macro_f1:.3f} | {s.ece:.3f} | {s.ece_floor:.3f} | "
            f"{s.sensitive_recall:.3f} | {s.sensitive_false_alarms:.3f} |"
        )
    return "\n".join(lines)


def _classes(s: Scores) -> str:
    lines = ["## F1 per class", "", "| intent | F1 |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {s.f1[name]:.3f} |" for name in INTENTS if name in s.f1)])


def _thresholds(probabilities: Floats, intents: Sequence[str]) -> str:
    lines = [
        "## Why 0.85, 0.70 and 0.3",
        "",
        "| threshold | at or above | right of them | no agent: precision | recall | sensitive: recall | false alarms |",
        "|---|---|---|---|---|---|---|",
    ]
    for threshold in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        cover, right = answered_above(probabilities, intents, threshold)
        precision, recall = answered_without_agent(probabilities, intents, threshold)
        caught, alarms = sensitive_at(probabilities, intents, threshold)
        mark = "**" if threshold in (0.3, 0.7, 0.85) else ""
        lines.append(
            f"| {mark}{threshold:.2f}{mark} | {cover:.3f} | {right:.3f} | {precision:.3f} | {recall:.3f} "
            f"| {caught:.3f} | {alarms:.3f} |"
        )
    return "\n".join([*lines, "", _WHY])


def _words(rules: dict[str, tuple[float, float]]) -> str:
    lines = ["## Word rules alone", "", "| rule | precision | recall |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {p:.3f} | {r:.3f} |" for name, (p, r) in rules.items())])


def _alternatives(found: dict[float, Scores]) -> str:
    if not found:
        return ""
    lines = ["## Regularisation", "", "| C | accuracy | macro-F1 | ECE |", "|---|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {c:g} | {s.accuracy:.3f} | {s.macro_f1:.3f} | {s.ece:.3f} |" for c, s in found.items())]
    )


def _sentiment(figures: dict[str, float]) -> str:
    return "\n".join(["## Sentiment (held out)", "", *(f"- {name}: {value:.3f}" for name, value in figures.items())])


def _outside(found: dict[str, Scores]) -> str:
    if not found:
        return ""
    lines = [
        "## Messages of other authors",
        "",
        "Read for measuring only, not in this repository; labels come from other taxonomies.",
        "",
        "| set | accuracy | macro-F1 | ECE | floor | mean confidence | sensitive recall | false alarms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_row(name, s) for name, s in found.items())])


_WHY = """- **0.85** A template or an article answers with nobody to correct it: worth it where almost all are right.
  Lower thresholds let more messages skip the model, each wrong more often; a message below costs one model call.
- **0.70** Below it a reading is wrong so often that the agent may act on it only with tighter tools.
- **0.30** A missed threat, break-in or injury costs far more than a needless look by a person; lower values raise
  false alarms faster than recall."""

_LIMITS = """## Limits

- One author wrote the rows; themes repeat, so held-out figures flatter the model a little. Figures on messages of
  others are the honest ones.
- Scenarios `f-`, `g-`, `h-` and `j-` and many word rules were written after reading held-out misses and false alarms
  of the rows before them: older rows' figures gained from that, and only fresh messages will tell by how much.
- Order numbers behind a terse complaint ("arrived cracked, order 1234567") still pull towards where_is_my_order.
- A class of some fifty scenarios gives about ± 0.05 on its F1.
- Other languages get the nearest of the four. Sarcasm and feelings without words are missed.
- Messages longer than about 1,400 characters are read at their beginning and end only (the word rules read 8,000)."""
