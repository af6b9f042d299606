"""Which sentences of a turn that is still being written may leave at once, and which of them were said already.

A turn may still end in a tool call, and words that stand before a result are held back (R17). So an early sentence must
be true now and stay true whatever the turn goes on to do: no promise, no denial, no talk of a deed before one was done.
"""

# ruff: noqa: E501 - a pattern is read as one line

import re
from collections.abc import Sequence

from agent.core.claims import Claim, Facts, Reader, SentenceCheck, check_reply
from agent.core.claims.facts import ROW_KINDS, Kind
from agent.core.claims.languages import LEXICONS, read_as
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.text import prepare
from agent.core.claims.topics import find_topics
from agent.core.keywords import folded
from agent.core.state import RunProgress

# What a model writes when nothing of a reply that broke off is missing; never shown to a customer.
NOTHING_MORE = "[nothing more]"
# A model may write it as a sentence of its own: "[Nothing more].", "**[nothing more.]**".
_MARKER = re.compile(r"[*_`]*\[\s*nothing\s+more\s*[.!…]*\s*\][*_`]*[.!…]*", re.IGNORECASE)
# "I'll look", "let me see": the reply check lets them pass at the end of a turn; before a tool call they are promises.
_PROMISES = {
    "en": r"\b(?:i|we)(?: will| shall| ?'ll| am| are| ?'m| ?'re)\b(?! (?:very |so |really |truly )?(?:sorry|glad|happy|afraid|an?)\b)"
    r"|\blet(?: me| us|'s)\b|\b(?:one|a|just a) (?:moment|second|sec|minute)\b|\bh[ao](?:ld|ng) (?:on|tight)\b|\bplease (?:hold|wait)\b"
    r"|^(?:\w+, )?(?:on it|right away|straight away|at once|coming (?:right )?up|will \w+|gonna|here (?:we|i) go|sure thing|you got it)\b"
    r"|^(?:\w+, )?(?:allow|permit|bear with|stay with|leave (?:it|that|this)\b.*) (?:me|us)\b"
    r"|^(?:\w+, )?(?:now |just )?\w+ing (?:\w+ ){0,3}(?:this|that|it|now|your|for you)\b|^just \w+ing\b",
    "es": r"\b(?:voy|vamos) a\b|\w(?:are|ere|ire|dre|aremos|eremos|iremos|dremos)\b|\b(?:permit|dej)\w+me\b"
    r"|\b(?:estoy|estamos) \w+ndo\b|\bun (?:momento|momentito|segundo|minuto)\b|\b(?:ahora|ya) mismo\b|\ben ?seguida\b"
    r"|\bme (?:pongo|encargo|ocupo)\b|\bmanos a la obra\b|\b(?:lo|la|los|las) (?!siento|lamento|entiendo|comprendo|agradezco)\w{3,}o\b"
    r"|\b(?:llegara|recibira|tendra|vera|sera|quedara)n?\b",
    "fr": r"\bje (?:vais|m'en)\b|\b(?:nous allons|on va)\b|\b(?:je|j'|nous) ?\w*r(?:ai|ons)\b|\blaissez-moi\b"
    r"|\bun (?:petit |court )?(?:instant|moment)\b|\bune (?:petite )?(?:seconde|minute)\b|\btout de suite\b|\bc'est parti\b|\bca arrive\b"
    r"|\b(?:je|on|nous) (?!suis|sommes|comprend|compren|vois|voyons|regrett|sais|savons|avons|excus|m'excuse|vous (?:remerci|pri|comprend))\w"
    r"|\bj'(?!ai\b|espere|apprecie|imagine)\w",
    "de": r"\b(?:ich|wir) (?:werde|werden)\b|\b(?:werde|werden) (?:ich|wir)\b|\blassen sie mich\b|\b(?:moment|augenblick|sekunde)\b"
    r"|\b(?:ich|wir)\b.*\b(?:gleich|sofort|jetzt|umgehend|mal|dran|dabei)\b|\b(?:gleich|sofort|jetzt|umgehend)\b.*\b(?:ich|wir)\b"
    r"|\b(?:ich|wir) (?:mach|kummer|erledig|ubernehm|schau|pruf|seh\w* nach|regel|veranlass)|\b(?:mach|erledig|ubernehm|schau|pruf|kummer|regel)\w* (?:ich|wir)\b"
    r"|\bgeht klar\b|\b(?:dann|na) (?:mal )?los\b|\bwird (?:gleich |sofort |umgehend )?(?:gemacht|erledigt)\b|\bkommt sofort\b|\bschon dabei\b",
}
_CURLY = re.compile(r"[’‘`´ʼ]")
# "No approval is needed": how a rule will judge a deed, before anybody has asked for it.
_FORESEEN = re.compile(r"\b(?:dis)?(?:approv|qualif|eligib|aprob|autoriz|approb|autoris|freigab|freizugeb|genehmig)")
_PROMISE = {language: re.compile(pattern) for language, pattern in _PROMISES.items()}


def check_after(
    said: Sequence[str], sentences: Sequence[str], language: str, facts: Facts, reader: Reader | None = None
) -> tuple[tuple[SentenceCheck, ...], tuple[SentenceCheck, ...]] | None:
    """Return the checks of what was said and of the sentences that follow it, judged as one reply.

    None when the reply doesn't fall into just these sentences; then nothing of it can be judged one by one.
    """
    checks = check_reply("\n".join([*said, *sentences]), language, facts, reader).sentences
    if [c.sentence for c in checks] != [*said, *sentences]:
        return None
    return checks[: len(said)], checks[len(said) :]


def may_leave_early(check: SentenceCheck, language: str, facts: Facts, *, deed_done: bool) -> bool:
    """Say whether a sentence may leave before its turn has ended; ``deed_done``: this message has moved a row."""
    spoken, words = read_as(check.sentence, language), _CURLY.sub("'", folded(check.sentence))
    if "|" in check.sentence:
        # A table's head says nothing that could be false, and must not stand there without the rows it heads.
        return False
    if not check.holds or spoken is None or _PROMISE[spoken].search(words):
        return False
    if check.claims:
        return all(_stays_true(claim, facts, deed_done=deed_done) for claim in check.claims)
    return deed_done or not (_FORESEEN.search(words) or _speaks_of_deeds(check.sentence, LEXICONS[spoken]))


def speaks_of_rows(check: SentenceCheck, language: str) -> bool:
    """Say whether the ledger's rows bear on a sentence: it claims a deed, names one, or was found false beside them."""
    if not check.holds or any(claim.kind != "order_status" for claim in check.claims):
        return True
    spoken = read_as(check.sentence, language)
    # Where a parcel is, the store says and not the ledger.
    return spoken is None or _speaks_of_deeds(check.sentence, LEXICONS[spoken], besides="order_status")


def without_repeats(
    checks: Sequence[SentenceCheck], said: Sequence[str], told: Sequence[Claim], *, continued: bool
) -> list[str]:
    """Return the sentences that are new to the customer; ``continued``: their writer was asked to go on.

    Such a writer may tell in other words what the one before it told; then the claim, not the wording, is the repeat.
    """
    again = [continued and bool(c.claims) and all(is_told(claim, told) for claim in c.claims) for c in checks]
    return new_sentences([c.sentence for c, repeats in zip(checks, again, strict=True) if not repeats], said)


def new_sentences(sentences: Sequence[str], said: Sequence[str]) -> list[str]:
    """Return the sentences whose words weren't said before, each once."""
    known = {_plain(sentence) for sentence in said}
    fresh = {_plain(sentence): sentence for sentence in reversed(sentences)}
    return [s for s in sentences if _plain(s) not in known and fresh.pop(_plain(s), None) is not None]


def is_told(claim: Claim, told: Sequence[Claim]) -> bool:
    """Say whether an earlier claim already said all that this one says."""
    return any((old.kind, old.state) == (claim.kind, claim.state) and _covers(old, claim) for old in told)


def unfinished(run: RunProgress) -> list[str]:
    """Return what the customer has read of the turn that is being written, or was when its writer died."""
    return run.said[run.said_in_rounds :]


def without_marker(text: str) -> str:
    """Return the text without the word that says there is no more of it."""
    return _MARKER.sub("", text).strip()


def _stays_true(claim: Claim, facts: Facts, *, deed_done: bool) -> bool:
    if claim.state == "negated":
        return False
    if claim.kind == "order_status":
        # What isn't shipped yet may be cancelled by the very next call.
        return all(order.status != "processing" for order in facts.orders)
    if claim.kind in ROW_KINDS:
        return claim.state != "future" or deed_done
    return deed_done


def _speaks_of_deeds(sentence: str, lexicon: Lexicon, *, besides: Kind | None = None) -> bool:
    prepared = prepare(sentence, lexicon)
    named = re.search(r"(?:amtx|refx)\d", prepared.values.masked)
    topics = [topic for clause in prepared.clauses for topic in find_topics(clause, lexicon)]
    return bool(named) or any(topic.kinds != (besides,) for topic in topics)


def _covers(old: Claim, new: Claim) -> bool:
    # A reference alone makes no news of a deed.
    fields = ("amount", "currency", "order_id", "line_id", "date")
    return all(getattr(new, f) is None or getattr(new, f) == getattr(old, f) for f in fields)


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.casefold()))
