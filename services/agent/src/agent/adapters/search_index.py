"""The help center as a searchable index: files read and encoded at start-up, then everything stays in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.encoding import Encoder, Remembered, StoredVectors, Vectors, load_encoder
from agent.core.retrieval.articles import Article, BadArticle, parse_article
from agent.core.retrieval.fusion import Weights, fuse
from agent.core.retrieval.lexical import LexicalIndex
from agent.core.retrieval.passages import Passage, Retrieval, ScoredSection, rank
from agent.core.retrieval.terms import terms

# What a question is about stands in its first sentences; the encoder's cost grows with length.
_READ_UP_TO = 1_000
_FALLBACK_LANGUAGE = "en"


@dataclass(frozen=True)
class _Shelf:
    """All sections of one language. `vectors` has several rows a section; `owner` says whose section each row is."""

    language: str
    sections: tuple[tuple[Article, int], ...]
    words: LexicalIndex
    vectors: Vectors | None
    owner: NDArray[np.int64]

    def scored(
        self, question: str, vector: Vectors | None, weights: Weights
    ) -> tuple[list[ScoredSection], float, float]:
        words, coverage = self.words.scores(terms(question, self.language))
        meaning = None
        if vector is not None and self.vectors is not None:
            meaning = np.full(len(self.sections), -1.0, dtype=np.float32)
            np.maximum.at(meaning, self.owner, self.vectors @ vector)
        fused = fuse(words, meaning, weights)
        found = [ScoredSection(a, i, s) for (a, i), s in zip(self.sections, fused, strict=True)]
        nearest = float(meaning.max()) if meaning is not None else 0.0
        return found, coverage, nearest


class SearchIndex:
    """Searches articles in the customer's language first and in all others when those hold no answer."""

    def __init__(
        self,
        articles: Sequence[Article],
        encoder: Encoder | None,
        not_covered: Sequence[str] = (),
        weights: Weights | None = None,
    ) -> None:
        self._weights = weights or Weights()
        self._foreign = encoder(not_covered) if encoder and not_covered else None
        self._questions = Remembered(encoder) if encoder else None
        languages = sorted({a.language for a in articles})
        self._shelves = {name: _shelf(name, [a for a in articles if a.language == name], encoder) for name in languages}

    def expect(self, questions: Sequence[str]) -> None:
        """Prepare for several searches at once; answers are the same without, only later."""
        if self._questions:
            self._questions.warm([_readable(question) for question in questions if question.strip()])

    def search(self, question: str, language: str, k: int = 4) -> Retrieval:
        """The `k` best articles for `question` (any text) and whether they are near enough to answer from."""
        vector = self._questions.of(_readable(question)) if self._questions else None
        own = self._shelves.get(language) or self._shelves.get(_FALLBACK_LANGUAGE)
        if own is None or not question.strip():
            return Retrieval((), answerable=False)
        passages, answerable = self._on(own, question, vector, k)
        if answerable:
            return Retrieval(passages, answerable)
        # Asked in another language than the message was taken for, or translated later than written.
        for name in sorted(self._shelves):
            found, known = self._on(self._shelves[name], question, vector, k)
            if known and found[0].score >= self._weights.answerable_abroad:
                return Retrieval(found, answerable=True)
        return Retrieval(passages, answerable=False)

    def _on(self, shelf: _Shelf, question: str, vector: Vectors | None, k: int) -> tuple[tuple[Passage, ...], bool]:
        scored, coverage, nearest = shelf.scored(question, vector, self._weights)
        passages = rank(scored, k)
        if vector is None:
            return passages, coverage >= self._weights.covered_from
        near = nearest - self._distraction(vector)
        return passages, passages[0].score >= self._weights.answerable_from and near >= self._weights.nearer_by

    def _distraction(self, vector: Vectors) -> float:
        """How near the question is to one we know we have no article about."""
        return 0.0 if self._foreign is None else float((self._foreign @ vector).max())


def _readable(question: str) -> str:
    # Half a surrogate pair is valid in JSON and in nothing else.
    return question[:_READ_UP_TO].encode("utf-8", "replace").decode("utf-8")


def load_articles(folder: Path | None = None) -> tuple[Article, ...]:
    """Every article under `folder` (the packaged help center by default). Raises BadArticle with the file's name."""
    found = []
    for path in sorted((folder or _packaged()).rglob("*.md")):
        try:
            found.append(parse_article(path.read_text(encoding="utf-8")))
        except BadArticle as error:
            raise BadArticle(f"{path.name}: {error}") from error
    return tuple(found)


def load_not_covered(folder: Path | None = None) -> tuple[str, ...]:
    """Questions known to have no article, one a line as "language|question"; none when the file is absent."""
    path = (folder or _packaged()) / "not_covered.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return tuple(line.partition("|")[2] for line in lines if line and not line.startswith("#"))


def build_index(folder: Path | None = None) -> SearchIndex:
    """The index the services use. Takes a second where the stored vectors are up to date, else as long as encoding."""
    encoder = load_encoder()
    known = StoredVectors(encoder) if encoder else None
    return SearchIndex(load_articles(folder), known, load_not_covered(folder))


def encoded_texts(articles: Sequence[Article], not_covered: Sequence[str]) -> list[str]:
    """Every text the index wants a vector of."""
    sections = [text for a in articles for i in range(len(a.sections)) for text in _searched_meanings(a, i)]
    return sections + list(not_covered)


def _packaged() -> Path:
    return Path(str(resources.files("agent") / "helpcenter"))


def _shelf(language: str, articles: Sequence[Article], encoder: Encoder | None) -> _Shelf:
    sections = tuple((article, i) for article in articles for i in range(len(article.sections)))
    documents = [_searched_words(article, i) for article, i in sections]
    texts: list[str] = []
    owner: list[int] = []
    for number, (article, i) in enumerate(sections):
        texts += _searched_meanings(article, i)
        owner += [number] * (len(texts) - len(owner))
    vectors = encoder(texts) if encoder and texts else None
    return _Shelf(language, sections, LexicalIndex(documents), vectors, np.array(owner, dtype=np.int64))


def _searched_words(article: Article, index: int) -> list[str]:
    section = article.sections[index]
    asked = " ".join(article.asked_as) if index == 0 else ""
    return terms(
        f"{article.title} {article.title} {section.heading} {section.heading} {section.text} {asked}", article.language
    )


def _searched_meanings(article: Article, index: int) -> list[str]:
    """A section is found by its own text and by its heading; the opening also by the questions it answers."""
    section = article.sections[index]
    named = f"{article.title}. {section.heading}" if section.heading else article.title
    texts = [f"{named}. {section.text}", named]
    return texts + list(article.asked_as) if index == 0 else texts
