"""The local guard's judgment as one pure function: take the text apart, hold every reading against rules and model."""

from dataclasses import dataclass

from common.guard import rules
from common.guard.confusables import spells_with_digits
from common.guard.decodings import decodings
from common.guard.normalise import reveal
from common.guard.payment_numbers import find_cards
from common.guard.tripwire import Tripwire
from common.guard.verdict import CLEAN, GuardVerdict, Where

# Whoever hides words from readers has said enough; one stray tag or a word in a comment has not.
_HIDDEN_WORDS_TOLERATED = 2
# A sentence that somebody took the trouble to encode is meant for a machine, whatever it says; a token has no words.
_ENCODED = frozenset({"base64", "hex", "ascii85"})
# Readings that differ from the plain one in a few signs only, as any text with digits in words does, prove no intent.
_INNOCENT_ORIGINS = frozenset({"", "leet", "spaced_letters", "joined_words", "tags_in_words", "url", "escapes"})
# Two or three words ("Thing 1", a street) are too little to weigh; what can be said that briefly, the rules name.
_FEWEST_WORDS_OF_AN_ORDER = 4
_SIGNS_THAT_SUFFICE = frozenset({"bidi_override", "invisible_run", "mixed_scripts"})


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the text: as written, hidden from view, or decoded. `origin` is "" for the plain one."""

    origin: str
    folded: str


def inspect(text: str, where: Where, tripwire: Tripwire | None) -> GuardVerdict:
    """Judge `text`. Reasons: rule names, "tripwire" for the model, "origin:…" where a person wouldn't see it."""
    revealed = reveal(text)
    reasons = [sign for sign in revealed.signs if sign in _SIGNS_THAT_SUFFICE]
    reasons += [sign for sign in revealed.signs if sign.startswith("hidden") and _says_something(revealed.hidden)]
    for reading in readings(text):
        prefix = f"{reading.origin}:" if reading.origin else ""
        if reading.origin in _ENCODED and len(reading.folded.split()) >= _FEWEST_WORDS_OF_AN_ORDER:
            reasons.append(prefix + "sentence")
        reasons += [prefix + name for name in rules.matching(reading.folded, where)]
        if (
            tripwire is not None
            and where != "reply"
            and len(reading.folded.split()) >= _FEWEST_WORDS_OF_AN_ORDER
            and (reading.origin != "leet" or spells_with_digits(revealed.folded))
            and tripwire.trips(reading.folded, hidden=reading.origin not in _INNOCENT_ORIGINS)
        ):
            reasons.append(prefix + "tripwire")
    if where == "reply" and find_cards(text):
        reasons.append("card_number")
    return GuardVerdict("flagged", tuple(dict.fromkeys(reasons))) if reasons else CLEAN


def readings(text: str) -> list[Reading]:
    """Every reading of `text`, the plain one first; decodings are taken two deep (base64 of rot13 and the like)."""
    revealed = reveal(text)
    found = [Reading("", revealed.folded)]
    found += [Reading("hidden", reveal(passage).folded) for passage in revealed.hidden]
    for name, decoded in decodings(revealed.plain, revealed.folded):
        inner = reveal(decoded)
        found.append(Reading(name, inner.folded))
        if name in ("base64", "hex", "url", "ascii85", "escapes"):
            found += [Reading(name, reveal(deeper).folded) for _, deeper in decodings(inner.plain, inner.folded)]
    return found


def _says_something(hidden: tuple[str, ...]) -> bool:
    return any(len(passage.split()) > _HIDDEN_WORDS_TOLERATED for passage in hidden)
