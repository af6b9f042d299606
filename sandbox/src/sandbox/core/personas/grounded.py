"""Answers from help-center passages only: the best-matching sentences as they stand, with the article cited."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

from sandbox.core.personas.reading import fold
from sandbox.core.turn import Conversation

_PASSAGE = re.compile(r"<passage\b([^>]*)>(.*?)</passage>", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z_]+)\s*=\s*\"([^\"]*)\"", re.IGNORECASE)
_STOP = frozenset(
    "the and for you your are can how what when which does with from that this have has not will our out any all get "
    "was who why una los las por para que con del como cual cuando puedo esta son mis sus hay les des une est pour qui "
    "avec dans vos mes puis quand comment quel quelle sont pas vous nous der die das und ist ein eine mein meine ich "
    "wie was wann kann den dem mit von auf fur sie wird sind nicht please order pedido commande bestellung "
    "long much many take takes cuanto tarda combien temps lange dauert".split()
)
_ASKS_TIME = re.compile(
    r"how (long|soon)|\bwhen\b|cuanto (tarda|tiempo)|cuando|combien de temps|quand|wie lange|\bwann\b"
)
_TELLS_TIME = re.compile(
    r"\d.*\b(days?|hours?|weeks?|dias?|horas?|semanas?|jours?|heures?|semaines?|\w*tage?n?|stunden?|wochen?)\b"
)
_ASKS_FIGURE = re.compile(r"how (much|many)|\bcosts?\b|cuant|cuesta|combien|\bfrais\b|wie viel|kosten")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Ý¿¡0-9])|\n+")


@dataclass(frozen=True)
class Passage:
    """A piece of an article."""

    article_id: str
    title: str
    text: str


def passages_in(conversation: Conversation) -> list[Passage]:
    """Return the passages of the prompt and of search results."""
    texts = [conversation.system, *conversation.notes]
    found = [_fenced(attributes, body) for text in texts for attributes, body in _PASSAGE.findall(text)]
    for result in conversation.results:
        if result.tool == "search_help_center":
            found += _fenced_in(result.text) or _listed(result.data)
    return [passage for passage in found if passage.text]


def answers_only(conversation: Conversation) -> bool:
    """Say whether the model is asked to answer from passages and nothing else."""
    return not conversation.tools and any(_PASSAGE.search(text) for text in (conversation.system, *conversation.notes))


def answer(question: str, passages: list[Passage]) -> str | None:
    """Return up to two sentences, each with its citation, or None when the passages don't cover the question."""
    asked = _stems(question)
    if not asked or not passages:
        return None
    stems = [_stems(f"{passage.title} {passage.text}") for passage in passages]
    weight = {stem: 1 / (1 + sum(stem in held for held in stems)) for stem in asked}
    # Passages come best first from a search that knows more than words, so an earlier one wins unless clearly beaten.
    scores = [sum(weight[stem] for stem in asked & held) - 0.25 * place for place, held in enumerate(stems)]
    best = scores.index(max(scores))
    # One word in common is enough only when there is one, or for the passage that the search put first.
    enough = 1 if len(asked) == 1 or (best == 0 and len(asked) == 2) else 2
    if len(asked & stems[best]) < enough:
        return None
    text = fold(question)
    wanted = _TELLS_TIME if _ASKS_TIME.search(text) else re.compile(r"\d") if _ASKS_FIGURE.search(text) else None

    def worth(sentence: str) -> float:
        told = wanted is not None and wanted.search(fold(sentence)) is not None
        return sum(weight[stem] for stem in asked & _stems(sentence)) + told

    sentences = _sentences(passages[best].text)
    ranked = sorted(range(len(sentences)), key=lambda n: (-worth(sentences[n]), n))
    kept = [sentences[n] for n in sorted(ranked[:2])]
    return " ".join(f"{part[:-1]} [{passages[best].article_id}]{part[-1]}" for part in kept) or None


def without_citations(text: str) -> str:
    """Return an answer of this module without its markers."""
    return re.sub(r" \[[^\]]*\](?=[.!?])", "", text)


def _sentences(text: str) -> list[str]:
    parts = [part.strip(" #*-") for part in _SENTENCE_END.split(text)]
    # Headings end in no full stop; they are no sentences of an answer.
    return [part for part in parts if len(part) > 15 and part[-1] in ".!?"]


def _fenced(attributes: str, body: str) -> Passage:
    named = {name.lower(): value for name, value in _ATTRIBUTE.findall(attributes)}
    article_id = named.get("article_id") or named.get("id", "")
    return Passage(unescape(article_id), unescape(named.get("title", "")), unescape(body.strip()))


def _fenced_in(text: str) -> list[Passage]:
    return [_fenced(attributes, body) for attributes, body in _PASSAGE.findall(text)]


def _listed(data: Any) -> list[Passage]:
    """Return passages from any JSON with article ids and texts, whatever the list is called."""
    if isinstance(data, list):
        return [passage for item in data for passage in _listed(item)]
    if not isinstance(data, dict):
        return []
    text = next(
        (data[name] for name in ("text", "passage", "snippet", "body", "content") if isinstance(data.get(name), str)),
        None,
    )
    if text is not None and isinstance(data.get("article_id"), str):
        return [Passage(data["article_id"], str(data.get("title", "")), text)]
    return [passage for value in data.values() if not isinstance(value, str) for passage in _listed(value)]


def _stems(text: str) -> frozenset[str]:
    # Four letters stand for a stem well enough in all four languages; "refunds", "refunded" and "refund" meet.
    words = re.findall(r"[a-z]{3,}|\d+", fold(text))
    return frozenset(word[:4] for word in words if word not in _STOP)
