"""Cut a sentence where it begins to speak of another deed, and describe each part for a trained reader."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from agent.core.claims.languages import LEXICONS
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.manner import state_words
from agent.core.claims.reading import Reading
from agent.core.claims.text import Prepared, values_of

IDEAS = (
    "offer", "invitation", "able", "policy", "generic", "rule", "presupposed", "wish", "instruction", "condition",
    "when", "unseen", "described", "parcel", "request", "carrier", "firm", "agreed_condition", "negation", "cannot",
    "unfinished", "positive", "waiting", "approved", "not_yet", "declined", "failed", "unknowable", "pending",
    "started", "will", "future", "perfect", "happened", "at_account", "uncertain", "infinitive", "sorted_out",
    "other_deed", "deed", "benign", "whole", "account", "exact_time",
)  # fmt: skip
KINDS = ("refund", "cancel", "address_change", "return_label", "account_change", "handoff")
STATUSES = ("shipped", "moving", "delivered", "processing", "lost")
_STAND_INS = (("amtx", "20 €"), ("ordx", "4417028"), ("refx", "RF-1"), ("linx", "L1"), ("quotx", '"…"'))


@dataclass(frozen=True)
class Segment:
    """One part of a sentence: `text` to read by meaning (stand-ins for values), `clause` masked for judging.

    `ideas` are 0 or 1: which ideas, deeds (by verb, then by noun) and whereabouts the language's words show.
    """

    text: str
    language: str
    clause: str
    ideas: tuple[int, ...]


def segments_of(prepared: Prepared, readings: list[Reading], language: str) -> tuple[Segment, ...]:
    """Return the sentence whole, or cut where it comes to another kind or tells where another order is."""
    lexicon = LEXICONS[language]
    starts = _starts(prepared.clauses, readings, lexicon)
    if len(starts) < 2:
        clause = " ".join(prepared.clauses)
        return (Segment(_readable(prepared.values.masked), language, clause, _ideas(prepared, 0, None, lexicon)),)
    cuts = [0, *starts[1:], len(prepared.clauses)]
    return tuple(
        Segment(
            _readable(", ".join(prepared.clauses[start:end])),
            language,
            " ".join(prepared.clauses[start:end]),
            _ideas(prepared, start, end, lexicon),
        )
        for start, end in pairwise(cuts)
    )


def text_of(sentence: str) -> str:
    """The text of a sentence's only segment, for readers that prepare many sentences at once."""
    return _readable(values_of(sentence).masked)


def _starts(clauses: tuple[str, ...], readings: list[Reading], lexicon: Lexicon) -> list[int]:
    """Indices of the clauses at which another kind, or another thing in another manner, is spoken of."""
    starts: list[int] = []
    last: Reading | None = None
    for index, clause in enumerate(clauses):
        here = next((r for r in readings if r.clause == clause or r.clause.startswith(f"{clause} ")), None)
        if here is None and last is not None:
            manner = state_words(clause, lexicon)
            here = replace(last, manner=manner, clause=clause) if manner else None
        if here is None or here.kinds[0] in ("action", "unread"):
            continue
        if last is None or here.kinds[0] != last.kinds[0] or _of_other_things(here, last, lexicon):
            starts.append(index)
            last = here
    return starts


def _of_other_things(here: Reading, last: Reading, lexicon: Lexicon) -> bool:
    """ "4417028 has arrived, 4417029 is on the van", "the email is changed, the phone under way": each by itself."""
    if here.kinds[0] == "order_status":
        return _named_anew("ordx", here, last)
    if here.manner == last.manner:
        return False
    if here.kinds[0] == "account_change":
        fields = [{f for f, words in lexicon.fields.items() if words.search(r.clause)} for r in (last, here)]
        return all(fields) and fields[0].isdisjoint(fields[1])
    return _named_anew("amtx", here, last)


def _named_anew(stem: str, here: Reading, last: Reading) -> bool:
    before, now = (set(re.findall(rf"{stem}\d+", r.clause)) for r in (last, here))
    return bool(before) and bool(now) and before.isdisjoint(now)


def _readable(masked: str) -> str:
    text = masked
    for stem, stand_in in _STAND_INS:
        text = re.sub(rf"{stem}\d*", stand_in, text)
    # the encoder needs something to hold on to
    return re.sub(r"\s+", " ", text).strip()[:400] or "."


def _ideas(prepared: Prepared, start: int, end: int | None, lexicon: Lexicon) -> tuple[int, ...]:
    clauses = prepared.clauses[start:end]
    text = " ".join(clauses)
    found = [any(lexicon.has(idea, clause) for clause in clauses) for idea in IDEAS]
    found += [kind in lexicon.strong and lexicon.strong[kind].search(text) is not None for kind in KINDS]
    found += [kind in lexicon.weak and lexicon.weak[kind].search(text) is not None for kind in KINDS]
    found += [lexicon.statuses[status].search(text) is not None for status in STATUSES]
    found += [stem in text for stem in ("amtx", "ordx", "refx")]
    found += [prepared.asks, len(clauses) > 1, "quotx" in text]
    return tuple(int(shown) for shown in found)
