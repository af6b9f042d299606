"""Policy answers: rules pass in whatever words, deeds claimed for this customer don't."""

import json
from collections import Counter
from pathlib import Path

import pytest

from agent.adapters.claim_readers import load_reader
from agent.adapters.search_index import load_articles
from agent.core.claims import Action, Facts
from agent.core.policy_claims import false_deeds, speaks_of_deeds

ANSWERS = Path(__file__).parent / "policy_answers.jsonl"
# An author's answers, drawn from the help center: measured, never tuned on. Stopped ones become plain search results.
STOPPED, LET_THROUGH = 0.12, 0.30
# As a search shows them, headings and all.
PASSAGES = {
    code: [f"{s.heading}\n{s.text}" for a in load_articles() if a.language == code for s in a.sections]
    for code in ("en", "es", "fr", "de")
}


def test_the_help_centers_own_sentences_are_never_taken_for_deeds() -> None:
    for article in load_articles():
        for section in article.sections:
            shown = [section.text]
            found = false_deeds(section.text, article.language, Facts(), shown, load_reader())
            assert not [s for s in found if len(s.split()) > 2 and s.endswith((".", "!", "?"))]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I have refunded your order 4417028."),
        ("en", "Your refund has been issued."),
        ("en", "Your money is already on its way."),
        ("es", "He cancelado su pedido 4417028."),
        ("es", "Su reembolso ha sido realizado."),
        ("es", "Su dinero ya va de camino."),
        ("fr", "J'ai annulé votre commande 4417028."),
        ("fr", "Votre remboursement a été effectué."),
        ("fr", "Votre argent est déjà en route."),
        ("de", "Ich habe Ihre Bestellung 4417028 storniert."),
        ("de", "Ihre Erstattung wurde ausgezahlt."),
        ("de", "Ihr Geld ist schon unterwegs."),
    ],
)
def test_a_deed_that_no_row_bears_out_is_found(language: str, sentence: str) -> None:
    assert false_deeds(sentence, language, Facts(), PASSAGES[language], load_reader()) == [sentence]


def test_a_deed_that_a_row_bears_out_may_be_said() -> None:
    row = Action(key="refund:4417028:L1", kind="refund", status="succeeded", order_id="4417028")
    assert not false_deeds("I have refunded your order 4417028.", "en", Facts(actions=(row,)), (), load_reader())


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "The order has already been shipped."),
        ("en", "Your order has already been shipped."),
        ("es", "Su pedido ya se ha enviado."),
        ("fr", "Votre commande est déjà expédiée."),
        ("de", "Ihre Bestellung ist schon unterwegs."),
        ("en", "The order has been shipped."),
        ("en", "The order is cancelled."),
    ],
)
def test_a_heading_or_half_a_condition_is_no_passage(language: str, sentence: str) -> None:
    assert false_deeds(sentence, language, Facts(), PASSAGES[language], load_reader()) == [sentence]


def test_words_of_a_passage_in_another_order_are_no_passage() -> None:
    passages = ["Your order is refunded once we have the parcel; the money is sent to your card."]
    said = "We have sent your money."
    assert false_deeds(said, "en", Facts(), passages, load_reader()) == [said]


@pytest.mark.parametrize("language", ["en", "es", "fr", "de"])
def test_answers_in_many_words_are_told_from_slipped_in_deeds(language: str) -> None:
    passages = PASSAGES[language]
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in map(json.loads, ANSWERS.read_text(encoding="utf-8").splitlines()):
        if row["language"] == language:
            counts[row["holds"], bool(false_deeds(row["answer"], language, Facts(), passages, load_reader()))] += 1
    assert counts[True, True] <= STOPPED * (counts[True, True] + counts[True, False]), counts
    assert counts[False, False] <= LET_THROUGH * (counts[False, True] + counts[False, False]), counts


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Your order 4417028 was not refunded."),
        ("es", "Tu pedido 4417028 no se ha reembolsado."),
        ("fr", "Votre commande 4417028 n'a pas été remboursée."),
        ("de", "Ihre Bestellung 4417028 wurde nicht erstattet."),
    ],
)
def test_a_denial_is_held_to_the_rows_too(language: str, sentence: str) -> None:
    row = Action(key="refund:4417028:L1", kind="refund", status="succeeded", order_id="4417028")
    assert speaks_of_deeds(sentence, language, (), load_reader())
    assert not false_deeds(sentence, language, Facts(), (), load_reader())
    assert false_deeds(sentence, language, Facts(actions=(row,)), (), load_reader()) == [sentence]


def test_a_rule_needs_no_ledger() -> None:
    assert not speaks_of_deeds("Refunds to a card take 5 to 10 business days.", "en", (), load_reader())
