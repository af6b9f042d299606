"""A line named by its title is that line and no other."""

import pytest

from agent.core.claims import Action, Facts, Line, Order, check_reply
from agent.core.facts import facts_of
from agent.core.state import Memory

ORDER = "7001000"
LINES = (
    Line(order_id=ORDER, line_id="L1", title="Steel kettle"),
    Line(order_id=ORDER, line_id="L2", title="Glass blender"),
    Line(order_id=ORDER, line_id="shipping", title="Shipping"),
)


def refunded(*lines: str | None, status: str = "succeeded") -> Facts:
    rows = tuple(Action(kind="refund", status=status, order_id=ORDER, line_id=line) for line in lines)
    return Facts(actions=rows, orders=(Order(order_id=ORDER, status="delivered"),), lines=LINES)


@pytest.mark.parametrize(
    ("reply", "facts", "holds"),
    [
        ("The blender was refunded.", refunded("L2"), True),
        ("The kettle was refunded.", refunded("L2"), False),
        ("Both kettle and blender were refunded.", refunded("L2"), False),
        ("The kettle and the blender were refunded.", refunded("L1", "L2"), True),
        ("The kettle and the blender were refunded.", refunded("L2"), False),
        ("I refunded the blender and the kettle.", refunded("L2"), False),
        ("I refunded the blender, not the kettle.", refunded("L2"), True),
        ("I refunded the blender, and the kettle stays with you.", refunded("L2"), True),
        ("We refunded the kettles.", refunded("L1"), True),
        ("We refunded the shipping.", refunded("L2"), False),
        ("We refunded the shipping.", refunded("shipping"), True),
        ("The kettle was refunded.", refunded(None), True),
        ("The kettle was not refunded.", refunded("L2"), True),
        ("The kettle was not refunded.", refunded("L1"), False),
        ("The refund of your kettle is waiting for approval.", refunded("L2", status="awaiting_approval"), False),
        ("The blender was refunded. The kettle as well.", refunded("L2"), False),
        ("The blender was refunded. The kettle as well.", refunded("L2", "L1"), True),
        ("The blender was refunded. The kettle as well.", refunded("L2", "shipping"), False),
        ("Your order with the kettle and the blender was delivered.", refunded(), True),
        ("Your glass kettle was refunded.", refunded("L1").model_copy(update={"lines": ()}), True),
    ],
)
def test_a_title_narrows_the_rows_a_claim_may_rest_on(reply: str, facts: Facts, *, holds: bool) -> None:
    assert check_reply(reply, "en", facts).holds is holds


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("es", "El kettle se ha reembolsado."),
        ("fr", "Le kettle a été remboursé."),
        ("de", "Der Kettle wurde erstattet."),
    ],
)
def test_a_title_is_known_in_a_reply_of_another_language(language: str, reply: str) -> None:
    assert not check_reply(reply, language, refunded("L2")).holds
    assert check_reply(reply, language, refunded("L1")).holds


def test_words_that_two_titles_share_name_neither() -> None:
    twins = (Line(order_id=ORDER, line_id="L1", title="Red mug"), Line(order_id=ORDER, line_id="L2", title="Blue mug"))
    facts = refunded("L2").model_copy(update={"lines": twins})
    assert check_reply("The mug was refunded.", "en", facts).holds
    assert not check_reply(
        "The blue mug was refunded.", "en", facts.model_copy(update={"actions": refunded("L1").actions})
    ).holds


def test_titles_come_from_the_orders_a_conversation_has_read() -> None:
    lines = [{"line_id": "L1", "title": "Steel kettle"}, {"line_id": "L2"}, "odd"]
    memory = Memory(
        orders={ORDER: {"order_id": ORDER, "status": "delivered", "lines": lines}, "7001001": {"lines": None}}
    )
    assert facts_of(memory).lines == (LINES[0],)
