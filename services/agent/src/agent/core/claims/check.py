"""The reply check: hold every sentence's claims against the ledger rows, orders and handoff of this conversation."""

import re
from functools import lru_cache

from agent.core.claims.dialogue import Spoken, listen
from agent.core.claims.facts import Claim, Facts, Kind, ReplyCheck, SentenceCheck
from agent.core.claims.judging import NOT_OF_ORDER, amount_is_real, judge, named_but_unreal, only_prices
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.opinion import Reader, Weighed, weigh
from agent.core.claims.reading import Reading, read_sentence
from agent.core.claims.segments import Segment, segments_of
from agent.core.claims.sentences import split_sentences
from agent.core.claims.text import Prepared, prepare

_GENERAL = ("policy", "offer", "condition", "wish", "instruction", "cannot", "invitation")
# How probable it must be to a second reader that a sentence is true, where the rules find it true and where they don't.
# Chosen on rounds of sentences that neither had seen (docs/decisions/0009).
RULES_AGREE = 0.46
RULES_OBJECT = 0.58
_LEANING = 4  # words
_ANSWERS = frozenset("yes no not it ja nein noch es oui non pas elle il sí si aún todavía".split())
# "Ich wiederhole: Ihre Stornierung zu 7100001." names what is about to be asked
_READ_BACK = re.compile(r"\W*(?:let me read that back|se lo repito|je répète|ich wiederhole)\b", re.IGNORECASE)


# A streamed reply is judged again with each sentence it grows by; facts and verdicts are frozen values.
@lru_cache(maxsize=2_048)
def check_sentence(
    sentence: str, language: str, facts: Facts, context: Kind | None = None, reader: Reader | None = None
) -> SentenceCheck:
    """Judge one sentence; `context` is the kind the reply spoke of last, `reader` a second opinion beside the rules'.

    A language outside the four, or a sentence visibly in one, cannot be judged and so does not hold.
    """
    spoken = read_as(sentence, language)
    if spoken is None:
        return _unjudged(sentence)
    lexicon = LEXICONS[spoken]
    prepared, found, parts = _seen(sentence, spoken, context)
    readings = [r for r in found if not only_prices(r, prepared.values, facts, lexicon)]
    claims = tuple(judge(r, prepared.values, facts, sentence, lexicon) for r in readings)
    why = _unreal(prepared, readings, facts, lexicon)
    false = next((c.why for c in claims if not c.holds), "")
    checked = SentenceCheck(sentence=sentence, holds=not why and not false, claims=claims, why=why or false)
    if reader is None or not re.search(r"\w", sentence):
        return checked
    if checked.holds and (_leans(sentence) or _tells_apart(claims)):
        return checked
    if checked.why.startswith(NOT_OF_ORDER) or (len(prepared.values.orders) > 1 and _misplaces(claims)):
        return checked

    def judge_one(reading: Reading | None) -> tuple[bool, Claim | None]:
        return _verdict(reading, prepared, sentence, facts, lexicon)

    return _settled(checked, [weigh(part, seen, judge_one) for part, seen in zip(parts, reader(parts), strict=True)])


def check_reply(reply: str, language: str, facts: Facts, reader: Reader | None = None) -> ReplyCheck:
    """Judge a whole reply sentence by sentence; it holds when every sentence does."""
    checks: list[SentenceCheck] = []
    context: Kind | None = None
    spoken = Spoken()
    for sentence in split_sentences(reply):
        checked = check_sentence(sentence, language, facts, context, reader)
        checked, spoken = listen(checked, language, facts, spoken)
        context = next((c.kind for c in reversed(checked.claims) if c.kind not in ("action", "unread")), context)
        checks.append(checked)
    claims = tuple(c for s in checks for c in s.claims)
    return ReplyCheck(holds=all(s.holds for s in checks), claims=claims, sentences=tuple(checks))


def _leans(sentence: str) -> bool:
    """ "Not yet.", "Ja, ab 50 €.": what this says lies in a sentence beside it (`dialogue`), not in its own words."""
    words = re.findall(r"\w+", sentence.lower())
    return (len(sentence.split()) <= _LEANING and words[0] in _ANSWERS) or _READ_BACK.match(sentence) is not None


def _misplaces(claims: tuple[Claim, ...]) -> bool:
    """ "4417028 is with the courier, 4417029 isn't": a reader weighs what is said of one order beside both."""
    return any(c.kind == "order_status" and c.order_id and not c.holds for c in claims)


def _tells_apart(claims: tuple[Claim, ...]) -> bool:
    """ "12.00 is refunded, 145.00 is under way": the rules gave each deed its own amount or reference and state.

    A reader sees them side by side and weighs each state beside both amounts.
    """
    named = {c.amount or c.reference for c in claims}
    return len(claims) > 1 and None not in named and len(named) == len(claims) == len({c.state for c in claims})


def parts_of(sentence: str, language: str) -> tuple[Segment, ...]:
    """What a reader will be asked about this sentence, for those who read many at once; nothing in foreign ones."""
    spoken = read_as(sentence, language)
    return _seen(sentence, spoken, None)[2] if spoken and re.search(r"\w", sentence) else ()


@lru_cache(maxsize=512)
def _seen(
    sentence: str, spoken: str, context: Kind | None
) -> tuple[Prepared, tuple[Reading, ...], tuple[Segment, ...]]:
    """A sentence as its language's words show it; asked once ahead for its parts and once for its verdict."""
    lexicon = LEXICONS[spoken]
    prepared = prepare(sentence, lexicon)
    found = read_sentence(prepared, lexicon, context)
    return prepared, tuple(found), segments_of(prepared, found, spoken)


def verdict_of_reading(reading: Reading | None, sentence: str, language: str, facts: Facts) -> bool:
    """Whether a sentence would hold if it were read in this one way; None reads it as claiming nothing."""
    lexicon = LEXICONS[read_as(sentence, language) or language]
    return _verdict(reading, prepare(sentence, lexicon), sentence, facts, lexicon)[0]


def _verdict(
    reading: Reading | None, prepared: Prepared, sentence: str, facts: Facts, lexicon: Lexicon
) -> tuple[bool, Claim | None]:
    if reading is None:
        return not _names_unreal(prepared, facts, lexicon), None
    claim = judge(reading, prepared.values, facts, sentence, lexicon)
    return claim.holds and not _unreal(prepared, [reading], facts, lexicon), claim


def _names_unreal(prepared: Prepared, facts: Facts, lexicon: Lexicon) -> bool:
    """Whether words that claim nothing still name what is not there; a price may, unless it is one of an order read."""
    if named_but_unreal(prepared.values, facts):
        return not (prepared.asks or any(lexicon.has("unseen", c) for c in prepared.clauses))
    read = facts.known_amounts or prepared.values.orders
    return bool(read) and bool(_unreal(prepared, [], facts, lexicon))


def _settled(checked: SentenceCheck, weighed: list[Weighed]) -> SentenceCheck:
    """The rules' verdict unless the second reader is sure enough of the opposite; then its claims take their place."""
    doubtful = min(weighed, key=lambda w: w.holds)
    holds = doubtful.holds >= (RULES_AGREE if checked.holds else RULES_OBJECT)
    if holds == checked.holds:
        return checked
    if holds:
        claims = tuple(w.likeliest_true for w in weighed if w.likeliest_true)
        return checked.model_copy(update={"holds": True, "claims": claims, "why": ""})
    claim = doubtful.likeliest_false
    why = claim.why if claim else "names what is not there"
    return checked.model_copy(update={"holds": False, "claims": (claim,) if claim else (), "why": why})


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
