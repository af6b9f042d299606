"""Everyday account matters, and what only sounds like one."""

import pytest

from router.core.account_words import everyday_account_words


@pytest.mark.parametrize(
    "text",
    [
        "I want a different user name",
        "can you join my two accounts",
        "Quiero otra pregunta de seguridad",
        "Mi madre falleció, cierren su cuenta",
        "changer mon identifiant, s'il vous plaît",
        "Mon nom est mal orthographié",
        "Bitte den Benutzernamen ändern",
        "Mein Vater ist verstorben",
    ],
)
def test_everyday_account_matters_are_found(text: str) -> None:
    assert everyday_account_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "somebody got into my account",
        "han comprado con mi usuario sin permiso",
        "achats non autorisés avec mon identifiant",
        "mein Konto wurde übernommen",
        "where is my order",
    ],
)
def test_break_ins_and_other_matters_are_not(text: str) -> None:
    assert not everyday_account_words(text)
