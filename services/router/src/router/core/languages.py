"""Chooses the language of an answer: the detector's scores and, for very short texts, what is known around them."""

import re
from collections.abc import Mapping

from router.core.intents import LANGUAGES

# Words customers send alone, where statistics over letters have nothing to hold on to.
_ALONE = {
    "en": "hi hello hey yes yep no thanks thank you ok please help refund order human agent bye status where when why",
    "es": "hola si sí vale gracias buenas por favor ayuda adiós pedido reembolso persona agente dónde cuándo",
    "fr": "bonjour salut oui non merci svp stp aide commande remboursement conseiller humain revoir coucou",
    "de": "hallo ja nein danke bitte moin hilfe tschüss bestellung mensch mitarbeiter erstattung guten tag wo wann",
}
_LANGUAGE_OF = {word: language for language, words in reversed(_ALONE.items()) for word in words.split()}
_WORD = re.compile(r"[^\W\d_]+")
# Below this many letters the detector errs often enough that a hint is worth more than it is.
_SHORT_LETTERS = 12


def language_of_locale(locale: str | None) -> str | None:
    """Return one of the four for ``de-AT``, ``fr_CA`` and the like, or nothing."""
    language = (locale or "")[:2].lower()
    return language if language in LANGUAGES else None


def speaks_for_itself(text: str) -> bool:
    """Say whether a text is long enough that nothing around it is asked for its language."""
    return sum(map(len, _WORD.findall(text))) >= _SHORT_LETTERS


def choose_language(text: str, scores: Mapping[str, float], hints: tuple[str | None, ...] = ()) -> str:
    """Return the likeliest of the four; a short text believes its own plain words first, then the first hint given."""
    if speaks_for_itself(text):
        return _best(scores)
    words = [word.lower() for word in _WORD.findall(text)]
    hint = next((hint for hint in hints if hint in LANGUAGES), None)
    known = {_LANGUAGE_OF[word] for word in words if word in _LANGUAGE_OF}
    if len(known) == 1:
        return known.pop()
    if hint is not None:
        return hint
    return _best(scores) if words else "en"


def _best(scores: Mapping[str, float]) -> str:
    return max(LANGUAGES, key=lambda language: scores.get(language, float("-inf")))
