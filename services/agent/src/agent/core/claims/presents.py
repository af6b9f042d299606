"""Deeds and gifts that no ledger row can prove: replacements, vouchers, notes to the warehouse, things for nothing."""

import re

from agent.core.claims.dialogue_words import BARGAIN, CODE, Talk
from agent.core.claims.facts import Claim, Facts
from agent.core.claims.judging import judge
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.reading import Reading
from agent.core.claims.text import prepare

_NO_DEED = ("negation", "condition", "cannot", "when", "offer", "invitation", "able", "unseen")


def presents(text: str, sentence: str, facts: Facts, lexicon: Lexicon, talk: Talk) -> list[Claim]:
    """Claims of `text`, a statement of `sentence`, that rest on nothing we do, or on a label's row."""
    prepared = prepare(text, lexicon)
    credit = [c for c in prepared.clauses if _as_credit(c, lexicon, talk)]
    if credit:
        return [judge(Reading(("unread",), "done", credit[0]), prepared.values, facts, sentence, lexicon)]
    if any(lexicon.has("condition", c) or lexicon.has("when", c) for c in prepared.clauses):
        return []
    found: list[Reading] = []
    if CODE.search(text) and BARGAIN.search(text) and not any(lexicon.has("negation", c) for c in prepared.clauses):
        found.append(Reading(("unread",), "done", text.lower()))
    for clause in prepared.clauses:
        found += _of_clause(clause, facts, lexicon, talk)
    return [judge(reading, prepared.values, facts, sentence, lexicon) for reading in found]


def _of_clause(clause: str, facts: Facts, lexicon: Lexicon, talk: Talk) -> list[Reading]:
    words, found = talk.anywhere, list[Reading]()
    free = words["free"].search(clause) and not words["free_anyway"].search(clause)
    if free and not any(lexicon.has(i, clause) for i in ("condition", "when", "cannot")) and not _refunded(facts):
        found.append(Reading(("unread",), "done", clause))
    if any(lexicon.has(idea, clause) for idea in _NO_DEED):
        return found
    if words["gift"].search(clause):
        found.append(Reading(("unread",), "done", clause))
    if words["label"].search(clause):
        found.append(Reading(("return_label",), "done", clause))
    return found


def _as_credit(clause: str, lexicon: Lexicon, talk: Talk) -> bool:
    """ "Refunded as store credit": money goes back the way it came, or not at all."""
    told = lexicon.strong["refund"].search(clause) or lexicon.weak["refund"].search(clause)
    general = any(lexicon.has(idea, clause) for idea in (*_NO_DEED, "policy", "generic", "rule"))
    return bool(told) and not general and talk.anywhere["as_credit"].search(clause) is not None


def _refunded(facts: Facts) -> bool:
    """What was paid back has cost nothing in the end."""
    return any(r.status == "succeeded" and re.fullmatch("refund|cancel", r.kind) for r in facts.actions)
