"""Read one sentence: which deeds it speaks of and in which manner, before any fact is looked at."""

import re
from dataclasses import dataclass, replace

from agent.core.claims.facts import Kind
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.manner import Manner, find_manner, is_denied, state_words
from agent.core.claims.text import Prepared
from agent.core.claims.topics import Topic, find_topics

# "your request for a refund was declined" tells more than that there was a request
_DECISIONS = ("waiting", "approved", "declined")


@dataclass(frozen=True)
class Reading:
    """A deed as said: `kinds` are alternatives; `assumed` when no verb showed its state."""

    kinds: tuple[Kind, ...]
    manner: Manner
    clause: str
    assumed: bool = False
    status: str | None = None
    negated: bool = False
    passive: bool = True


@dataclass(frozen=True)
class _Sentence:
    clauses: tuple[str, ...]
    topics: tuple[tuple[Topic, ...], ...]
    asks: bool
    lexicon: Lexicon

    def kindless(self, index: int) -> bool:
        return 0 <= index < len(self.clauses) and not self.topics[index]

    def near(self, index: int, idea: str) -> bool:
        """Whether the clause shows the idea, or one beside it that speaks of nothing else or opens the sentence."""
        if self.lexicon.has(idea, self.clauses[index]):
            return True
        beside = [i for i in (index - 1, index + 1) if self.kindless(i) or (i == 0 and index == 1)]
        return any(self.lexicon.has(idea, self.clauses[i]) for i in beside)


def read_sentence(prepared: Prepared, lexicon: Lexicon, context: Kind | None = None) -> list[Reading]:
    """All readings of a sentence, in order; empty when it claims nothing.

    `context` is the kind the sentence before spoke of, so that "It is waiting for approval." has a subject.
    """
    topics = _find_all_topics(prepared.clauses, lexicon)
    sentence = _Sentence(prepared.clauses, topics, prepared.asks, lexicon)
    readings: list[Reading] = []
    for index in range(len(sentence.clauses)):
        if prepared.asks and not _stands_beside_question(index, sentence):
            continue
        if topics[index]:
            readings = _joined(readings, _read_clause(index, sentence))
        elif not _claims_nothing(index, sentence):
            earlier = next((t[0].kinds for t in reversed(topics[:index]) if t), None)
            readings = _carry_on(sentence.clauses[index], readings, earlier, lexicon)
    if not readings and not prepared.asks and not any(topics):
        readings = _read_bare(sentence, context)
    return _without_attempts(readings)


def _without_attempts(readings: list[Reading]) -> list[Reading]:
    """ "We tried to refund you, but the payment bounced": one failure, and neither a deed nor somebody's refusal."""
    kept: list[Reading] = []
    for reading in readings:
        last = kept[-1] if kept and kept[-1].kinds == reading.kinds else None
        if last and last.manner == "failed" and reading.manner in ("declined", "pending", "negated"):
            continue
        if last and reading.manner == "failed" and last.manner in ("done", "future", "pending", "negated"):
            kept.pop()
        kept.append(reading)
    return kept


def _joined(readings: list[Reading], new: list[Reading]) -> list[Reading]:
    """ "As for your refund, nothing has been paid": the verb that follows settles the bare noun before it."""
    if readings and new and readings[-1].assumed and new[0].kinds == readings[-1].kinds:
        return [*readings[:-1], *new]
    if readings and new and readings[-1].assumed and "handoff" in readings[-1].kinds and new[0].manner in _DECISIONS:
        # "the lead stood firm and declined the refund": who decides is named, nobody took the case over
        return [*readings[:-1], *new]
    return [*readings, *new]


def _find_all_topics(clauses: tuple[str, ...], lexicon: Lexicon) -> tuple[tuple[Topic, ...], ...]:
    """Topics clause by clause; an order named before stays the subject until something else is."""
    found: list[tuple[Topic, ...]] = []
    order_before = False
    for clause in clauses:
        topics = find_topics(clause, lexicon, parcel_before=order_before)
        if topics and topics[0].status and clause.startswith("it ") and any(t and not t[0].status for t in found):
            # "your refund comes shortly, it is being processed": the pronoun is the refund's
            topics = ()
        named = lexicon.has("parcel", clause) or "ordx" in clause
        order_before = (order_before or named) and all(
            t.kinds[0] in ("cancel", "order_status", "address_change") for t in topics
        )
        found.append(topics)
    return tuple(found)


def _stands_beside_question(index: int, sentence: _Sentence) -> bool:
    """Tell "Your refund is out, anything else?" (a claim) from "Is my refund out?" (none)."""
    return index < len(sentence.clauses) - 1 and sentence.lexicon.has("firm", sentence.clauses[index])


def _read_clause(index: int, sentence: _Sentence) -> list[Reading]:
    clause, lexicon = sentence.clauses[index], sentence.lexicon
    agreed = sentence.near(index, "agreed_condition") and not _asks_consent(index, sentence)
    if not agreed and _claims_nothing(index, sentence):
        return []
    readings = []
    for topic in sentence.topics[index]:
        manner = find_manner(clause, lexicon, about_people="handoff" in topic.kinds)
        if not agreed and manner not in _DECISIONS and _only_wished(clause, topic, manner, lexicon):
            continue
        if agreed and "handoff" not in topic.kinds and not _already_firm(clause, lexicon):
            manner = "agreed"
        if _uncertain(index, sentence):
            manner = "pending"
        if manner == "negated" and not topic.strong and index and lexicon.one["negation"].match(clause):
            # "we paid $25.00, not the full price": the amount is contrasted, the deed not denied
            continue
        if manner in ("done", "negated", "unknowable") and _presupposes(clause, manner, lexicon):
            manner = "future"
        if manner == "done" and sentence.kindless(index - 1) and _runs(sentence.clauses[index - 1], clause, lexicon):
            manner = "pending"
        readings.append(
            Reading(
                topic.kinds,
                manner,
                clause,
                assumed=not topic.strong and manner == "done",
                status=topic.status,
                negated=is_denied(topic.rest if topic.status else clause, lexicon),
            )
        )
    return readings


def _asks_consent(index: int, sentence: _Sentence) -> bool:
    """ "If you agree": the consent spoken of is the customer's, which makes an offer of it."""
    lexicon = sentence.lexicon
    beside = sentence.clauses[max(index - 1, 0) : index + 2]
    own = any(lexicon.has("agreed_condition", c) and lexicon.one["offer"].match(c) for c in beside)
    return own or lexicon.has("invitation", sentence.clauses[index])


def _presupposes(clause: str, manner: Manner, lexicon: Lexicon) -> bool:
    """ "If the refund isn't there by Friday" takes a refund for granted, its "not" being part of what is supposed."""
    found = lexicon.one["presupposed"].search(clause)
    if manner == "negated":
        return found is not None and lexicon.has("negation", found.group())
    if manner == "unknowable" and not lexicon.has("when", clause):
        # "now that the money is at your bank": nobody here can know
        return False
    return found is not None and not _is_past(clause, lexicon)


def _is_past(clause: str, lexicon: Lexicon) -> bool:
    """ "Since your refund went out" presupposes a finished deed, "once your refund has gone out" one to come."""
    return lexicon.has("perfect", clause) and not lexicon.has("when", clause)


def _runs(before: str, clause: str, lexicon: Lexicon) -> bool:
    """ "At this very moment, the money is sent back": the time stands in a clause of its own."""
    return lexicon.has("pending", before) and not any(lexicon.has("perfect", c) for c in (before, clause))


def _uncertain(index: int, sentence: _Sentence) -> bool:
    """ "We do not know yet whether the refund worked" says that it is still running."""
    here = sentence.clauses[index]
    before = sentence.clauses[index - 1] if sentence.kindless(index - 1) else ""
    asked = sentence.lexicon.one["condition"].match(here)
    return sentence.lexicon.has("uncertain", here) or bool(asked and sentence.lexicon.has("uncertain", before))


def _already_firm(clause: str, lexicon: Lexicon) -> bool:
    """Tell "refunded after approval" (done) from "will be refunded after approval" (waits)."""
    rest = lexicon.one["agreed_condition"].sub(" ", clause)
    manner = find_manner(rest, lexicon, about_people=False)
    return manner in ("approved", "declined", "unknowable") or (manner == "done" and lexicon.has("perfect", rest))


def _claims_nothing(index: int, sentence: _Sentence) -> bool:
    """Whether a clause only offers, asks, rules, wishes or supposes."""
    clause, lexicon = sentence.clauses[index], sentence.lexicon
    if lexicon.has("presupposed", clause) or _uncertain(index, sentence):
        return False
    ruled = index == 1 and _is_general(sentence.clauses[0], lexicon) and not lexicon.has("firm", clause)
    aside = any(lexicon.has(i, clause) for i in ("generic", "rule", "invitation")) or (
        index == 1 and lexicon.has("invitation", sentence.clauses[0]) and lexicon.has("able", clause)
    )
    if lexicon.has("waiting", clause) and not ruled and not aside:
        return False
    if ruled or any(lexicon.has(idea, clause) for idea in ("offer", "instruction")) or _is_general(clause, lexicon):
        return True
    firm = lexicon.has("firm", clause)
    supposed = lexicon.one["condition"].match(clause) and (index == 0 or not firm or sentence.kindless(index - 1))
    if supposed or _opens_inverted(index, sentence):
        return True
    if firm:
        return False
    return lexicon.has("cannot", clause) or lexicon.has("policy", clause) or _hangs_on_another(index, sentence)


def _is_general(clause: str, lexicon: Lexicon) -> bool:
    """Rules for everybody: "refunds are made to the card", "cancelled orders are always refunded"."""
    if lexicon.has("generic", clause) and not lexicon.has("happened", clause):
        return True
    return lexicon.has("rule", clause) and not re.search(r"(?:amtx|ordx|refx)\d", clause)


def _hangs_on_another(index: int, sentence: _Sentence) -> bool:
    """Whether a clause beside this one turns it into an offer or a supposition."""
    clause, lexicon = sentence.clauses[index], sentence.lexicon
    # a supposition reaches a few clauses far, and a text without end must not cost the square of its length
    earlier = sentence.clauses[max(index - 6, 0) : index]
    if any(lexicon.has("invitation", c) or lexicon.has("condition", c) for c in earlier):
        return True
    if (index == 1 and _opens_inverted(0, sentence)) or sentence.near(index, "condition"):
        return True
    if index > 1 and sentence.kindless(0) and lexicon.one["when"].match(sentence.clauses[0]):
        # "once we have it, we look at it and then refund you": a course of things, not a deed
        return not lexicon.has("perfect", clause)
    if not lexicon.has("future", clause):
        return False
    after = index + 1
    if sentence.kindless(after) and lexicon.has("invitation", sentence.clauses[after]):
        return True
    # "once we have it back, we refund you": the deed hangs on something other than an approval
    return any(sentence.kindless(i) and lexicon.has("when", sentence.clauses[i]) for i in (index - 1, after))


def _opens_inverted(index: int, sentence: _Sentence) -> bool:
    """German supposes by verb order: "Geht ein Paket verloren, …"."""
    return (
        index == 0
        and len(sentence.clauses) > 1
        and sentence.lexicon.one["inverted"].match(sentence.clauses[0]) is not None
    )


def _only_wished(clause: str, topic: Topic, manner: Manner, lexicon: Lexicon) -> bool:
    """Whether the kind is named only as something the customer asks for or about."""
    wish = lexicon.one["wish"].search(clause)
    if wish is None or wish.start() > topic.start or lexicon.has("perfect", clause[wish.end() :]):
        return False
    # "your request to cancel is being handled" says where the request stands
    return manner != "pending" or not lexicon.has("request", wish.group())


def _carry_on(
    clause: str, readings: list[Reading], earlier: tuple[Kind, ...] | None, lexicon: Lexicon
) -> list[Reading]:
    """A clause without a kind may say the state of the deed named before it."""
    if lexicon.has("agreed_condition", clause):
        return readings
    manner = state_words(clause, lexicon)
    if manner is None and readings and readings[-1].assumed and is_denied(clause, lexicon):
        return [*readings[:-1], replace(readings[-1], manner="negated", assumed=False)]
    if manner is None and not readings and earlier and _is_sorted(clause, lexicon):
        # "you wanted it cancelled, and that is done"
        return [Reading(earlier, "negated" if lexicon.has("negation", clause) else "done", clause)]
    # only money gets lost from sight: "your label is done; it is in your account" says where it is
    known = earlier and manner == "unknowable" and earlier[0] != "refund"
    if manner is None or not earlier or known or earlier[0] in ("handoff", "order_status"):
        return readings
    if not readings:
        return [Reading(earlier, manner, clause)]
    return _restated(readings, manner, clause)


def _restated(readings: list[Reading], manner: Manner, clause: str) -> list[Reading]:
    """The last reading in the manner a later clause gives it, replaced where it had none of its own."""
    last = readings[-1]
    said = replace(last, manner=manner, clause=clause, assumed=False)
    if (
        last.assumed
        or (manner == "waiting" and last.manner == "future")
        or (manner == "failed" and last.manner in ("done", "unknowable"))
    ):
        return [*readings[:-1], replace(said, clause=f"{last.clause} {clause}")]
    if manner == "pending" and last.manner == "started":
        return [*readings[:-1], replace(last, manner=manner)]
    if manner == "pending" and last.manner in ("future", "done", "failed"):
        return readings
    return [*readings, said]


def _read_bare(sentence: _Sentence, context: Kind | None) -> list[Reading]:
    """A sentence that names no kind: it may still report a state, a completion, or a deed no ledger row can prove."""
    lexicon = sentence.lexicon
    kind: Kind = context or "action"
    readings: list[Reading] = []
    for index, clause in enumerate(sentence.clauses):
        if _claims_nothing(index, sentence):
            continue
        manner = state_words(clause, lexicon)
        if lexicon.has("other_deed", clause) and not lexicon.has("negation", clause):
            readings.append(Reading(("unread",), "done", clause))
        elif manner == "unknowable" and kind in ("action", "refund"):
            readings.append(Reading(("refund" if kind == "action" else kind,), manner, clause))
        elif manner in ("waiting", "approved", "declined") or (manner and lexicon.has("request", clause)):
            readings.append(Reading((kind,), manner, clause))
        elif status := _bare_status(clause, lexicon):
            readings.append(status)
        elif lexicon.has("exact_time", clause) and not is_denied(clause, lexicon):
            readings.append(Reading(("order_status",), "unknowable", clause))
        elif _is_sorted(clause, lexicon):
            readings.append(Reading((kind,), "negated" if lexicon.has("negation", clause) else "done", clause))
        elif _strange_deed(clause, lexicon) or _strange_news(clause, lexicon):
            readings.append(Reading(("action",), "done", clause))
    return readings


def _is_sorted(clause: str, lexicon: Lexicon) -> bool:
    """ "That is done", but not "as soon as that is done"."""
    return lexicon.has("sorted_out", clause) and not lexicon.has("when", clause)


def _bare_status(clause: str, lexicon: Lexicon) -> Reading | None:
    """ "Delivered on Monday.": short enough, it can only be an order that is spoken of."""
    topics = find_topics(clause, lexicon, parcel_before=True) if len(clause.split()) <= 7 else ()
    if not topics or not topics[0].status:
        return None
    loose = topics[0].status == "processing" or is_denied(clause, lexicon)
    if loose and not lexicon.has("perfect", clause):
        return None
    topic = topics[0]
    manner: Manner = "future" if lexicon.has("future", clause) and not lexicon.has("perfect", clause) else "done"
    return Reading(topic.kinds, manner, clause, status=topic.status, negated=is_denied(topic.rest, lexicon))


def _strange_news(clause: str, lexicon: Lexicon) -> bool:
    """ "Order 7100001 bit the dust": news of a numbered order in words nobody foresaw."""
    if not re.search(r"ordx\d", clause) or len(clause.split()) < 4:
        return False
    harmless = any(m.lastgroup and not _strange(m, lexicon) for m in lexicon.one["deed"].finditer(clause))
    return not harmless and not any(lexicon.has(i, clause) for i in ("described", "unseen", "negation", "able"))


def _strange_deed(clause: str, lexicon: Lexicon) -> bool:
    """ "I have zorbed your kettle": a deed in the first person whose verb is none of the harmless ones."""
    if lexicon.has("negation", clause):
        return False
    return any(_strange(m, lexicon) for m in lexicon.one["deed"].finditer(clause))


def _strange(deed: re.Match[str], lexicon: Lexicon) -> bool:
    return deed.lastgroup is not None and lexicon.one["benign"].match(deed.group(deed.lastgroup)) is None
