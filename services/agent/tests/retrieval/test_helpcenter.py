"""The articles themselves: complete in four languages, consistent, and silent about what is internal."""

import re

import pytest

from agent.adapters.encoding import StoredVectors, load_encoder
from agent.adapters.search_index import encoded_texts, load_articles, load_not_covered
from agent.core.retrieval.articles import BadArticle, parse_article
from agent.core.retrieval.quantities import quantities

ARTICLES = load_articles()
TOPICS = sorted({a.topic for a in ARTICLES})


def test_every_topic_is_written_in_all_four_languages() -> None:
    assert len(ARTICLES) >= 40
    for topic in TOPICS:
        assert {a.language for a in ARTICLES if a.topic == topic} == {"en", "es", "fr", "de"}, topic


@pytest.mark.parametrize("topic", TOPICS)
def test_translations_state_the_same_figures(topic: str) -> None:
    figures = {
        a.language: {(u, v) for s in a.sections for u, v in quantities(s.text)} for a in ARTICLES if a.topic == topic
    }
    for language in ("es", "fr", "de"):
        assert figures[language] == figures["en"], language


def test_the_return_window_is_thirty_days_everywhere() -> None:
    for article in ARTICLES:
        if article.topic == "returns":
            assert ("day", 30) in quantities(article.sections[0].text)


def test_no_article_tells_what_the_agent_may_do_by_itself() -> None:
    text = "\n".join(s.text for a in ARTICLES for s in a.sections).casefold()
    assert not re.search(
        r"\b(?:100|500)[.,]00 (?:automat|approv|genehm|aprob|valid)|fraud score|policy version|ledger", text
    )


def test_ids_are_unique_and_urls_follow_them() -> None:
    assert len({a.article_id for a in ARTICLES}) == len(ARTICLES)
    for article in ARTICLES:
        assert article.url.endswith(f"/{article.language}/{article.topic}")


@pytest.mark.parametrize("broken", ["no front matter", "---\narticle_id: x\n---\ntext"])
def test_a_file_without_its_front_matter_is_refused_by_name(broken: str) -> None:
    with pytest.raises(BadArticle):
        parse_article(broken)


def test_the_stored_vectors_are_up_to_date() -> None:
    encoder = load_encoder()
    assert encoder is not None
    stored = StoredVectors(encoder)
    missing = [t for t in encoded_texts(ARTICLES, load_not_covered()) if not stored.holds(t)]
    assert missing == [], "run python -m agent.encode_helpcenter"
