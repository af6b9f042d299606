"""How the simulated model understands a customer: language, wish, order numbers, reason, by plain rules."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from sandbox.core.personas import patterns
from sandbox.core.turn import Conversation

Language = Literal["en", "es", "fr", "de"]
Wish = Literal["person", "cancel", "address", "account", "label", "refund", "tracking", "thanks", "question"]
Reason = Literal["damaged", "not_received", "late", "wrong_item"]

_NAMES: dict[str, Language] = {"english": "en", "spanish": "es", "french": "fr", "german": "de"}
_WORDS: dict[Language, str] = {
    "en": "the my is and i it a to please you order was has have where what how not arrived refund for of",
    "es": "el la mi es y de que por favor un una pedido ha no lo quiero donde como esta llego con mis cuanto",
    "fr": "le la mon ma est et de je vous un une commande pas les dans svp bonjour ou ai mes pour en combien",
    "de": "der die das mein meine ist und ich nicht bitte ein eine bestellung wo wie hat kam zu den habe von",
}
_COMMON = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_REASONS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    ("wrong_item", patterns.WRONG),
    ("not_received", patterns.MISSING),
    ("damaged", patterns.DAMAGED),
    ("late", patterns.LATE),
)
# Longer texts are messages of their own, not answers to a question of ours.
_ANSWER_CHARS = 160


@dataclass(frozen=True)
class Reading:
    """What the customer wants; ``text`` is folded, ``raw`` as written."""

    language: Language
    wish: Wish
    order_ids: tuple[str, ...]
    reason: Reason | None
    whole: bool
    text: str
    raw: str


def fold(text: str) -> str:
    """Return lower-case text without accents, so that ``roto``/``Rotó`` and ``für``/``fur`` read alike."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("\u2019", "'"))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def read(conversation: Conversation) -> Reading:
    """Read the newest message; when it answers our question, the messages before it belong to it."""
    raw = _with_context(conversation)
    text = fold(raw)
    order_ids = tuple(dict.fromkeys(patterns.ORDER_ID.findall(raw)))
    reason = _reason(text)
    wish = _wish(text, order_ids, reason)
    if wish == "refund" and reason is None:
        # "Did the refund work? Please do it again": why was said before.
        told = (_reason(fold(earlier)) for earlier in reversed(conversation.customer[:-1]))
        reason = next((name for name in told if name is not None), None)
    whole = patterns.WHOLE.search(text) is not None
    return Reading(language(conversation), wish, order_ids, reason, whole, text, raw)


def language(conversation: Conversation) -> Language:
    """Return the language the instructions name, else the one the customer writes."""
    system = conversation.system.casefold()
    told = re.search(r"(?:answer|reply|respond|write)\s+in\s+(english|spanish|french|german)", system)
    if told:
        return _NAMES[told.group(1)]
    coded = re.search(r"language[\"':= ]+(en|es|fr|de)\b", system)
    if coded:
        return next(name for name in _COMMON if name == coded.group(1))
    return language_of(" ".join(conversation.customer[-3:]))


def language_of(text: str) -> Language:
    """Return the language with the most common words in the text; English when there are none."""
    words = re.findall(r"[a-z']+", fold(text))
    scores: dict[Language, int] = {name: sum(word in common for word in words) for name, common in _COMMON.items()}
    return max(scores, key=lambda name: scores[name]) if any(scores.values()) else "en"


def _with_context(conversation: Conversation) -> str:
    """Return the newest text, joined with those before it when it answers a question or is a masked one-time code."""
    said, last = conversation.said, conversation.last
    earlier = [text.text for text in said[:-1] if text.who == "customer"][-2:]
    question = len(said) > 1 and said[-2].who == "assistant" and "?" in said[-2].text
    masked = re.search(r"\w", last) is None
    return "\n".join([*earlier, last]) if masked or (question and len(last) < _ANSWER_CHARS) else last


def _reason(text: str) -> Reason | None:
    return next((name for name, pattern in _REASONS if pattern.search(text)), None)


def _wish(text: str, order_ids: tuple[str, ...], reason: Reason | None) -> Wish:
    """The first that fits, in this order: a person before anything, general questions before their topics."""

    def says(pattern: re.Pattern[str]) -> bool:
        return pattern.search(text) is not None

    refund = says(patterns.REFUND)
    change = says(patterns.CHANGE) and not refund
    address, account = says(patterns.ADDRESS), says(patterns.ACCOUNT)
    fits: tuple[tuple[Wish, bool], ...] = (
        ("person", says(patterns.PERSON)),
        ("question", says(patterns.GENERAL) and not order_ids and not says(patterns.OWN)),
        ("cancel", says(patterns.CANCEL)),
        ("address", change and address and (bool(order_ids) or not account)),
        ("account", change and (account or address)),
        ("label", says(patterns.LABEL) and not refund),
        ("tracking", says(patterns.TRACKING) and not refund and reason in (None, "late")),
        ("refund", refund or reason is not None),
        ("thanks", says(patterns.THANKS)),
        ("tracking", bool(order_ids) and len(text) < 60),
    )
    return next((wish for wish, holds in fits if holds), "question")
