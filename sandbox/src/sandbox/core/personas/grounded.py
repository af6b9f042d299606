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
    "wie was wann kann den dem mit von auf fur sie wird sind nicht please order pedido commande bestellung".split()
)
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
    place = max(range(len(passages)), key=lambda n: (sum(weight[stem] for stem in asked & stems[n]), -n))
    if len(asked & stems[place]) < min(2, len(asked)):
        return None
    sentences = _sentences(passages[place].text)
    ranked = sorted(range(len(sentences)), key=lambda n: (-sum(weight[s] for s in asked & _stems(sentences[n])), n))
    kept = [sentences[n] for n in sorted(ranked[:2])]
    return " ".join(f"{part[:-1]} [{passages[place].article_id}]{part[-1]}" for part in kept) or None


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
    # Five letters stand for a stem well enough in all four languages; "refunds", "refunded" and "refund" meet.
    words = re.findall(r"[a-z]{3,}|\d+", fold(text))
    return frozenset(word[:5] for word in words if word not in _STOP)
