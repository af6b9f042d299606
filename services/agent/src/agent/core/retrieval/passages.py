"""What a search gives back, and how scores of sections become a ranking of articles."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.retrieval.articles import Article

# The opening of an article and its best sections: enough to answer from, short enough to show four of them.
_SECTIONS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of one article as shown to a model or listed to a customer; `score` is between 0 and 1."""

    article_id: str
    title: str
    url: str
    text: str
    score: float
    passage_id: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Best passage first, one an article. `answerable` is false when nothing found is close to the question."""

    passages: tuple[Passage, ...]
    answerable: bool


@dataclass(frozen=True, slots=True)
class ScoredSection:
    """Section number `index` of an article with its score."""

    article: Article
    index: int
    score: float


def rank(sections: Sequence[ScoredSection], k: int) -> tuple[Passage, ...]:
    """The `k` best articles by their best section, each cut down to the sections worth showing."""
    best: dict[str, list[ScoredSection]] = {}
    for scored in sorted(sections, key=lambda s: -s.score):
        best.setdefault(scored.article.article_id, []).append(scored)
    ranked = sorted(best.values(), key=lambda found: (-found[0].score, found[0].article.article_id))
    return tuple(_passage(found) for found in ranked[:k])


def _passage(found: list[ScoredSection]) -> Passage:
    article = found[0].article
    shown = sorted({0, *(s.index for s in found[: _SECTIONS_SHOWN - 1])})
    parts = [article.sections[i] for i in shown]
    text = "\n\n".join(f"{part.heading}\n{part.text}" if part.heading else part.text for part in parts)
    return Passage(
        article_id=article.article_id,
        title=article.title,
        url=article.url,
        text=text,
        score=round(min(max(found[0].score, 0.0), 1.0), 4),
        passage_id=f"{article.article_id}#{'.'.join(map(str, shown))}",
    )
