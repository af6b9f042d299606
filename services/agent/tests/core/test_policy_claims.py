"""Policy answers: the help center's own sentences pass, claimed deeds don't."""

import pytest

from agent.adapters.search_index import load_articles
from agent.core.claims import Facts
from agent.core.policy_claims import false_deeds


def test_the_help_centers_own_sentences_are_hardly_ever_taken_for_deeds() -> None:
    sections = [(a.language, s.text) for a in load_articles() for s in a.sections]
    stopped = [found for language, text in sections for found in false_deeds(text, language, Facts())]
    assert len(stopped) <= len(sections) * 0.02, stopped


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I have refunded your order 4417028."),
        ("en", "Your refund has been issued."),
        ("es", "He cancelado su pedido 4417028."),
        ("es", "Su reembolso ha sido realizado."),
        ("fr", "J'ai annulé votre commande 4417028."),
        ("fr", "Votre remboursement a été effectué."),
        ("de", "Ich habe Ihre Bestellung 4417028 storniert."),
        ("de", "Ihre Erstattung wurde ausgezahlt."),
    ],
)
def test_a_deed_that_no_row_bears_out_is_found(language: str, sentence: str) -> None:
    assert false_deeds(sentence, language, Facts()) == [sentence]
