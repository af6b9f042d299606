"""What may be said: citations and figures of an answer against the passages shown."""

import pytest

from agent.core.retrieval.grounding import check_grounding
from agent.core.retrieval.passages import Passage

SHIPPING = Passage(
    "shipping-en",
    "Shipping costs and delivery times",
    "https://help.store.example/en/shipping",
    "Standard shipping costs 4.95 and is free from 50.00. It takes 2 to 4 business days. Express: order before 14:00.",
    0.8,
    "shipping-en#0",
)
WARRANTY = Passage(
    "warranty-de", "Garantie", "https://help.store.example/de/warranty", "24 Monate ab Lieferung.", 0.7, "x"
)


@pytest.mark.parametrize(
    "answer",
    [
        "Shipping costs 4.95 and takes 2 to 4 business days [shipping-en].",
        "Shipping is $4.95, free from $50 [shipping-en].",
        "El envío cuesta 4,95 € y tarda de 2 a 4 días laborables [shipping-en].",
        "La livraison prend 2 à 4 jours ouvrés, commandez avant 14 h 00 [shipping-en].",
        "Der Versand dauert zwei bis vier Werktage und kostet 4,95 Euro [shipping-en].",
        "Order before 2 pm [shipping-en]. See https://help.store.example/en/shipping.",
        "You have two options [shipping-en]: standard or express.",
        "1. Open your account\n2. Choose standard [shipping-en]",
        "Once it ships it takes 2-4 days [shipping-en].",
    ],
)
def test_an_answer_that_repeats_the_passage_is_grounded(answer: str) -> None:
    assert check_grounding(answer, [SHIPPING]).problems == ()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("Shipping costs 5.95 [shipping-en].", "figure: 5.95"),
        ("Shipping costs 4.95 and takes 3 weeks [shipping-en].", "figure: 3 weeks"),
        ("It takes 4 weeks [shipping-en].", "figure: 4 weeks"),
        ("El envío tarda siete días [shipping-en].", "figure: siete dias"),
        ("Commandez avant 16 h 00 [shipping-en].", "figure: 16 h 00"),
        ("Der Versand kostet 49,50 Euro [shipping-en].", "figure: 49,50 euro"),
        ("Free from 50 % off [shipping-en].", "figure: 50 %"),
        ("Offer ends on 3 May [shipping-en].", "figure: 3"),
        ("Shipping costs 4.95 [returns-en].", "citation: returns-en"),
        ("Shipping costs 4.95.", "uncited: no article is named"),
        ("Shipping costs 4.95 [shipping-en], see https://evil.example/x", "link: https://evil.example/x"),
    ],
)
def test_what_the_passages_do_not_hold_is_named(answer: str, problem: str) -> None:
    grounding = check_grounding(answer, [SHIPPING])
    assert not grounding.ok
    assert problem in grounding.problems


def test_the_same_length_in_another_unit_is_the_same_fact() -> None:
    assert check_grounding("Die Garantie gilt 2 Jahre [warranty-de].", [WARRANTY]).ok
    assert not check_grounding("Die Garantie gilt 3 Jahre [warranty-de].", [WARRANTY]).ok


def test_a_customers_order_number_may_be_repeated_but_a_supposed_deadline_proves_nothing() -> None:
    question = "Is it 40 days for order 4417028?"
    assert check_grounding("Order 4417028: 2 to 4 business days [shipping-en].", [SHIPPING], question).ok
    assert not check_grounding("Yes, 40 days [shipping-en].", [SHIPPING], question).ok


def test_citations_are_reported_once_and_only_when_shown() -> None:
    grounding = check_grounding("A [shipping-en]. B [shipping-en] [made-up].", [SHIPPING])
    assert grounding.cited == ("shipping-en",)
