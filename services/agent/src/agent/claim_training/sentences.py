"""Sentences a person labelled (`training/claims/sentences/<language>.tsv`): what is spoken of, and in which manner.

A line is `labels<TAB>sentence`; labels are joined by `+`: `refund:done`, `status:!delivered`, `none` (MODEL_CARD.md).
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.core.claims import Facts
from agent.core.claims.check import verdict_of_reading
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.manner import MANNERS
from agent.core.claims.opinion import reading_of
from agent.core.claims.reading import Reading
from agent.core.claims.segments import STATUSES
from agent.core.claims.text import prepare

FOLDER = Path(__file__).resolve().parents[3] / "training/claims/sentences"
_TOPICS = {
    "refund": "refund", "cancel": "cancel", "address": "address_change", "account": "account_change",
    "where": "address_change/account_change", "label": "return_label", "handoff": "handoff", "thing": "action",
}  # fmt: skip
_AHEAD = {"will-ship": "shipped", "will-arrive": "delivered"}
_ROW_STATUSES = ("succeeded", "pending", "awaiting_approval", "rejected", "failed", None)
_ORDER_STATUSES = ("processing", "shipped", "delivered", "lost")
# A twentieth is only ever measured.
_PARTS = 20


@dataclass(frozen=True)
class Labelled:
    """A sentence or short reply with its labels as (topic, manner); none when it claims nothing."""

    language: str
    text: str
    labels: tuple[tuple[str, str], ...]

    @property
    def is_held_back(self) -> bool:
        """Chosen by the words themselves, so that it stays the same part whatever is added."""
        return zlib.crc32(self.text.encode()) % _PARTS == 0


def read_sentences(folder: Path = FOLDER) -> list[Labelled]:
    """All lines in the order of the files. Raises ValueError on a line or label that isn't one."""
    return [_of_line(path.stem, line) for path in sorted(folder.glob("*.tsv")) for line in _lines(path)]


def cases_of(sentence: Labelled, count: int) -> Iterator[dict[str, Any]]:
    """The sentence beside facts of all sorts, as rows with a verdict: true when every label is borne out."""
    spoken = read_as(sentence.text, sentence.language)
    if spoken is None:
        return
    chance = random.Random(zlib.crc32(sentence.text.encode()))  # noqa: S311 - the same facts each time, no secret
    clause = " ".join(prepare(sentence.text, LEXICONS[spoken]).clauses)
    readings = [reading_of(topic, manner, clause) for topic, manner in sentence.labels]
    for at in range(count):
        facts = _facts(sentence, readings, chance, spoken)
        judged = Facts.model_validate(facts)
        holds = all(verdict_of_reading(r, sentence.text, sentence.language, judged) for r in readings)
        yield {
            "id": f"labelled-{zlib.crc32(sentence.text.encode()):08x}-{at}", "language": sentence.language,
            "reply": sentence.text, "facts": facts, "expected": {"holds": holds, "kinds": _kinds(sentence)},
        }  # fmt: skip


def _facts(sentence: Labelled, readings: list[Reading | None], chance: random.Random, spoken: str) -> dict[str, Any]:
    """One row or none for each deed spoken of, an order or none, handed over or not; named values are real."""
    values = prepare(sentence.text, LEXICONS[spoken]).values
    orders = [order.lstrip("#") for order in values.orders] or ["7001000"]
    amounts = values.amounts
    actions = []
    for at, reading in enumerate(readings):
        kind = reading.kinds[-1] if reading else "unread"
        status = chance.choice(_ROW_STATUSES)
        if status is None or kind in ("handoff", "order_status", "unread", "action"):
            continue
        amount = amounts[min(at, len(amounts) - 1)] if amounts and kind == "refund" else None
        actions.append({
            "key": f"{kind}:{at}", "kind": kind, "status": status,
            "order_id": None if kind == "account_change" else orders[min(at, len(orders) - 1)],
            "amount": str(max(amount.values)) if amount else ("20.00" if kind == "refund" else None),
            "currency": _currency(amount.currency if amount else None) if kind == "refund" else None,
            "reference": values.references[0] if values.references and status == "succeeded" else None,
        })  # fmt: skip
    known = [{"order_id": order, "status": chance.choice(_ORDER_STATUSES)} for order in orders]
    return {"actions": actions, "orders": known, "handoff": chance.random() < 0.5}


def _currency(said: str | None) -> str:
    return {"$": "USD", None: "EUR"}.get(said, said or "EUR")


def _kinds(sentence: Labelled) -> list[str]:
    return sorted({kind for topic, _ in sentence.labels for kind in topic.partition(":")[0].split("/")[-1:]})


def _of_line(language: str, line: str) -> Labelled:
    labels, tab, text = line.partition("\t")
    if not tab or not text.strip() or "\t" in text:
        raise ValueError(f"not a labelled sentence of {language}: {line[:80]!r}")
    return Labelled(language, text.strip(), tuple(_label(one) for one in labels.split("+") if one != "none"))


def _label(text: str) -> tuple[str, str]:
    """A written label as topic and manner."""
    kind, _, manner = text.partition(":")
    status = manner.lstrip("!")
    if kind == "status" and manner in _AHEAD:
        return f"order_status:{_AHEAD[manner]}", "future"
    if kind == "status" and status in STATUSES:
        return f"order_status:{status}{'!' if manner.startswith('!') else ''}", "done"
    if kind == "other" and manner in ("done", "future"):
        return "unread", "done"
    if kind in _TOPICS and manner in MANNERS:
        return _TOPICS[kind], manner
    raise ValueError(f"no such label: {text!r}")


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
