"""The reply check: hold every sentence's claims against the ledger rows, orders and handoff of this conversation."""

import re
from functools import lru_cache

from agent.core.claims.facts import Claim, Facts, Kind, ReplyCheck, SentenceCheck
from agent.core.claims.judging import amount_is_real, judge, named_but_unreal, only_prices
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.reading import Reading, read_sentence
from agent.core.claims.sentences import split_sentences
from agent.core.claims.text import Prepared, prepare

_GENERAL = ("policy", "offer", "condition", "wish", "instruction", "cannot", "invitation")


# A streamed reply is judged again with each sentence it grows by; facts and verdicts are frozen values.
@lru_cache(maxsize=2_048)
def check_sentence(sentence: str, language: str, facts: Facts, context: Kind | None = None) -> SentenceCheck:
    """Judge one sentence; `context` is the kind the reply spoke of last.

    A language outside the four, or a sentence visibly in one, cannot be judged and so does not hold.
    """
    spoken = read_as(sentence, language)
    if spoken is None:
        return _unjudged(sentence)
    lexicon = LEXICONS[spoken]
    prepared = prepare(sentence, lexicon)
    found = read_sentence(prepared, lexicon, context)
    readings = [r for r in found if not only_prices(r, prepared.values, facts, lexicon)]
    claims = tuple(judge(r, prepared.values, facts, sentence, lexicon) for r in readings)
    why = _unreal(prepared, readings, facts, lexicon)
    false = next((c.why for c in claims if not c.holds), "")
    return SentenceCheck(sentence=sentence, holds=not why and not false, claims=claims, why=why or false)


def check_reply(reply: str, language: str, facts: Facts) -> ReplyCheck:
    """Judge a whole reply sentence by sentence; it holds when every sentence does."""
    checks: list[SentenceCheck] = []
    context: Kind | None = None
    for sentence in split_sentences(reply):
        checked = check_sentence(sentence, language, facts, context)
        context = next((c.kind for c in reversed(checked.claims) if c.kind not in ("action", "unread")), context)
        checks.append(checked)
    claims = tuple(c for s in checks for c in s.claims)
    return ReplyCheck(holds=all(s.holds for s in checks), claims=claims, sentences=tuple(checks))


def _unreal(prepared: Prepared, readings: list[Reading], facts: Facts, lexicon: Lexicon) -> str:
    """Names of things that do not exist make a sentence false even when it claims nothing about them."""
    if not readings and (prepared.asks or any(lexicon.has("unseen", c) for c in prepared.clauses)):
        # "I can't find order 7100001" names what is not there, and says so
        return ""
    unreal = named_but_unreal(prepared.values, facts)
    if unreal:
        return unreal
    general = not readings and any(_general(c, lexicon) for c in prepared.clauses)
    denied = readings and all(r.manner == "negated" for r in readings)
    if general or denied:
        return ""
    for amount in prepared.values.amounts:
        if not amount_is_real(amount, facts) and not _is_sum(readings):
            return f"amount {amount.text} is in no row"
    return ""


def _general(clause: str, lexicon: Lexicon) -> bool:
    return any(lexicon.has(idea, clause) for idea in _GENERAL)


def _is_sum(readings: list[Reading]) -> bool:
    """Amounts inside a reading's own clause were judged there, sums included."""
    return bool(readings) and all(re.search(r"amtx\d", r.clause) for r in readings)


def _unjudged(sentence: str) -> SentenceCheck:
    harmless = not re.search(r"\w", sentence)
    claim = Claim(sentence=sentence, kind="unread", state="done", holds=False, why="language cannot be judged")
    return SentenceCheck(
        sentence=sentence, holds=harmless, claims=() if harmless else (claim,), why="" if harmless else claim.why
    )
