"""How the index behaves at its edges; how well it finds things is measured in test_retrieval_quality."""

import json
import subprocess
import sys

from agent.adapters.search_index import SearchIndex
from agent.retrieve import answers


def test_passages_come_in_the_customers_language_best_first(index: SearchIndex) -> None:
    found = index.search("Wie lange habe ich Zeit für eine Rücksendung?", "de")
    assert found.answerable
    assert found.passages[0].article_id == "returns-de"
    assert all(p.article_id.endswith("-de") for p in found.passages)
    scores = [p.score for p in found.passages]
    assert scores == sorted(scores, reverse=True)


def test_a_question_in_another_language_than_detected_still_finds_the_article(index: SearchIndex) -> None:
    found = index.search("¿Cuánto tiempo tengo para devolver un artículo?", "de")
    assert found.passages[0].article_id.startswith("returns-")


def test_an_unknown_language_is_served_from_english(index: SearchIndex) -> None:
    assert index.search("How do I return an item?", "pt").passages[0].article_id == "returns-en"


def test_an_article_appears_once_and_k_is_kept(index: SearchIndex) -> None:
    ids = [p.article_id for p in index.search("return refund shipping", "en", k=3).passages]
    assert len(ids) == len(set(ids)) == 3


def test_nothing_asked_is_nothing_found(index: SearchIndex) -> None:
    for blank in ("", "   ", "\n"):
        assert not index.search(blank, "en").answerable
    assert not index.search("¿¿¿???", "es").answerable


def test_a_shown_passage_holds_the_section_that_matched(index: SearchIndex) -> None:
    best = index.search("Can I return opened earbuds?", "en").passages[0]
    assert best.article_id == "returns-en"
    assert "earbuds" in best.text


def test_a_bad_line_is_answered_with_an_error_and_the_rest_goes_on(index: SearchIndex) -> None:
    lines = [
        "not json",
        '{"id": 2}',
        '{"id": 3, "question": "How do I return an item?", "language": "en", "extra": 1}',
        "[]",
    ]
    got = list(answers(lines, index))
    assert [g.get("id") for g in got] == [None, 2, 3, None]
    assert ["error" in g for g in got] == [True, True, False, True]
    assert got[2]["passages"][0]["article_id"] == "returns-en"
    assert got[2]["answerable"] is True


def test_the_handle_writes_one_json_line_for_each_line() -> None:
    asked = '{"id":"a","question":"Was kostet der Versand?","language":"de"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "agent.retrieve"], input=asked, capture_output=True, text=True, timeout=60, check=True
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["passages"][0]["article_id"] == "shipping-de"


def test_half_a_surrogate_pair_breaks_nothing(index: SearchIndex) -> None:
    (got,) = answers(['{"id": 1, "question": "How do I return an item? \\ud83d", "language": "en"}'], index)
    assert got["passages"][0]["article_id"] == "returns-en"
