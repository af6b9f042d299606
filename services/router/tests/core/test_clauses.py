"""Several wishes in one message."""

import pytest

from router.core.clauses import asks_several_things, sensitive_clause, split_clauses
from router.core.intents import INTENTS
from router.core.reading import with_evidence
from router.core.word_rules import with_topic


def _sure(intent: str, p: float = 0.8) -> dict[str, float]:
    return with_evidence({name: 1 / len(INTENTS) for name in INTENTS}, intent, p)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Where is my parcel?", 0),
        ("ok. thanks", 0),
        ("My mug arrived broken. Also, when does my other order come?", 2),
        ("Necesito la factura de marzo y también quiero cambiar mi correo", 2),
        ("Annulez ma commande, et aussi changez mon adresse mail", 2),
        ("Bitte stornieren Sie das Hemd. Außerdem brauche ich eine Rechnung", 2),
        ("one two three. " * 9, 4),
    ],
)
def test_messages_are_split_where_a_new_wish_may_begin(text: str, count: int) -> None:
    assert len(split_clauses(text)) == count


@pytest.mark.parametrize(
    ("clauses", "several"),
    [
        ([_sure("refund"), _sure("change_address")], True),
        ([_sure("where_is_my_order"), _sure("refund")], True),
        ([_sure("refund"), _sure("refund")], False),
        ([_sure("refund"), _sure("change_address", 0.5)], False),
        ([_sure("refund"), _sure("complaint")], False),
        ([_sure("refund"), _sure("return_request")], False),
        ([_sure("other"), _sure("where_is_my_order")], False),
        ([], False),
    ],
)
def test_two_clear_and_different_wishes_make_several(clauses: list[dict[str, float]], several: bool) -> None:
    assert asks_several_things(clauses) is several


@pytest.mark.parametrize(
    ("clauses", "topic"),
    [
        ([_sure("refund"), _sure("safety", 0.9)], "safety"),
        ([_sure("legal", 0.9), _sure("safety", 0.95)], "safety"),
        ([_sure("refund"), _sure("safety", 0.6)], None),
        ([_sure("refund", 0.99)], None),
        ([], None),
    ],
)
def test_one_clearly_sensitive_clause_is_heard(clauses: list[dict[str, float]], topic: str | None) -> None:
    assert sensitive_clause(clauses) == topic


def test_a_sensitive_clause_lifts_its_topic_over_the_threshold_and_no_further() -> None:
    lifted = with_topic(_sure("refund", 0.9), "safety")
    assert 0.3 <= lifted["safety"] < 0.5
    assert max(lifted, key=lambda name: lifted[name]) == "refund"
    assert with_topic(lifted, None) == lifted
