"""Recall@3, MRR and the answerable line on labelled questions; figures of both halves were seen while choosing."""

from dataclasses import dataclass

import pytest

from agent.adapters.search_index import SearchIndex, load_articles


@dataclass(frozen=True)
class Figures:
    """Shares between 0 and 1."""

    recall_at_3: float
    mrr: float
    answered: float
    declined: float


def measure(index: SearchIndex, questions: list, half: str) -> Figures:
    covered = [q for q in questions if q.half == half and q.topic]
    uncovered = [q for q in questions if q.half == half and not q.topic]
    ranks, answered = [], 0
    for question in covered:
        found = index.search(question.text, question.language)
        ids = [p.article_id for p in found.passages]
        wanted = f"{question.topic}-{question.language}"
        ranks.append(ids.index(wanted) + 1 if wanted in ids else 0)
        answered += found.answerable
    declined = sum(not index.search(q.text, q.language).answerable for q in uncovered)
    return Figures(
        sum(1 for r in ranks if 1 <= r <= 3) / len(covered),
        sum(1 / r for r in ranks if r) / len(covered),
        answered / len(covered),
        declined / len(uncovered),
    )


@pytest.mark.parametrize("half", ["development", "test"])
def test_the_right_article_is_nearly_always_among_the_first_three(
    index: SearchIndex, questions: list, half: str
) -> None:
    figures = measure(index, questions, half)
    print(half, figures)
    assert figures.recall_at_3 >= 0.93
    assert figures.mrr >= 0.87


def test_covered_questions_are_answered_and_foreign_ones_are_not(index: SearchIndex, questions: list) -> None:
    figures = measure(index, questions, "test")
    assert figures.answered >= 0.93
    assert figures.declined >= 0.83


def test_search_by_words_alone_still_finds_most_articles(questions: list) -> None:
    figures = measure(SearchIndex(load_articles(), None), questions, "test")
    print("words only", figures)
    assert figures.recall_at_3 >= 0.8


def test_the_question_set_spans_four_languages_and_both_kinds(questions: list) -> None:
    assert len(questions) >= 60
    for language in ("en", "es", "fr", "de"):
        own = [q for q in questions if q.language == language]
        assert sum(q.topic is not None for q in own) >= 15
        assert sum(q.topic is None for q in own) >= 5
