"""Several orders named in one breath are each claimed, and "nobody asked for it" denies even what only waits."""

import pytest

from agent.core.claims import Facts
from agent.core.claims.check import verdict_of_reading
from agent.core.claims.facts import Action, Order
from agent.core.claims.languages import LEXICONS
from agent.core.claims.opinion import reading_of
from agent.core.claims.text import prepare

_ONE_CANCELLED = Facts(
    actions=(Action(kind="cancel", status="succeeded", order_id="2300530"),),
    orders=(
        Order(order_id="2300530", status="cancelled"),
        Order(order_id="2300531", status="shipped"),
        Order(order_id="2300532", status="processing"),
    ),
)


def _holds(sentence: str, topic: str, manner: str, facts: Facts, language: str = "en") -> bool:
    clause = " ".join(prepare(sentence, LEXICONS[language]).clauses)
    return verdict_of_reading(reading_of(topic, manner, clause), sentence, language, facts)


@pytest.mark.parametrize(
    ("sentence", "topic", "holds"),
    [
        ("Both 2300530 and 2300532 were stopped.", "cancel", False),
        ("Order 2300530 was stopped.", "cancel", True),
        ("2300530, the first of them, was stopped before 2300531 left.", "cancel", True),
        ("2300531 and 2300532 are on their way.", "order_status:moving", False),
        ("2300531 is on its way.", "order_status:moving", True),
    ],
)
def test_what_is_said_of_several_orders_is_said_of_each(sentence: str, topic: str, holds: bool) -> None:
    assert _holds(sentence, topic, "done", _ONE_CANCELLED) is holds


@pytest.mark.parametrize(
    ("status", "negated", "absent"),
    [("pending", True, False), ("awaiting_approval", True, False), ("succeeded", False, False), ("failed", True, True)],
)
def test_denying_a_request_denies_what_waits_and_denying_the_deed_does_not(
    status: str, negated: bool, absent: bool
) -> None:
    facts = Facts(actions=(Action(kind="refund", status=status, order_id="2300530"),))
    said = "No refund has been asked for on 2300530."
    assert _holds(said, "refund", "negated", facts) is negated
    assert _holds(said, "refund", "absent", facts) is absent


def test_a_reference_is_the_same_in_small_letters() -> None:
    facts = Facts(actions=(Action(kind="refund", status="succeeded", reference="TX-61"),))
    assert _holds("ok so it is refunded, ref tx-61", "refund", "done", facts)
