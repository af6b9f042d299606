"""Which order a tracking question means, and what is said about it."""

from typing import Any

import pytest

from agent.core.tracking import ListOrders, LookUp, choose_lookup, patience_left_s, tell_choice, tell_order
from common.ids import OrderIds

IDS = OrderIds()


@pytest.mark.parametrize(
    ("text", "history", "wanted"),
    [
        ("Where is 4417028?", (), LookUp("4417028")),
        ("wo bleibt Bestellung 4417028", (), LookUp("4417028")),
        ("where is my order", (), ListOrders()),
        ("any news?", ("where is 4417028", "thanks"), LookUp("4417028")),
        ("call me on 12345", (), ListOrders()),
    ],
)
def test_the_number_in_the_text_wins_then_an_earlier_one_then_the_list(
    text: str, history: tuple[str, ...], wanted: object
) -> None:
    assert choose_lookup(text, history, IDS) == wanted


def order(order_id: str, status: str, **over: Any) -> dict[str, Any]:
    return {"order_id": order_id, "status": status, **over}


def test_the_only_open_order_is_the_one_that_is_meant() -> None:
    assert "4417029" in tell_choice("en", [order("4417028", "delivered"), order("4417029", "shipped")])


def test_of_several_open_orders_the_customer_is_asked() -> None:
    text = tell_choice("en", [order("4417028", "processing"), order("4417029", "shipped")])
    assert "4417028, 4417029" in text
    assert text.endswith("?")


def test_no_open_order_is_said_so() -> None:
    assert "open order" in tell_choice("en", [order("4417028", "delivered")])


def test_a_tracking_link_is_shown_only_when_it_is_https() -> None:
    good = order("4417029", "shipped", tracking_url="https://t.example/1")
    bad = order("4417029", "shipped", tracking_url="javascript:alert(1)")
    assert "https://t.example/1" in tell_order("en", good)
    assert "javascript" not in tell_order("en", bad)


@pytest.mark.parametrize(
    ("waited_s", "left_s"), [(0.0, 8.0), (1.5, 6.5), (4.0, 4.0), (7.9, 4.0), (300.0, 4.0), (-3.0, 8.0)]
)
def test_patience_counts_from_the_message_and_leaves_one_whole_try(waited_s: float, left_s: float) -> None:
    assert patience_left_s(waited_s, 8.0, 4.0) == left_s


def test_without_patience_nothing_is_asked_again() -> None:
    assert patience_left_s(0.0, 0.0, 4.0) == 0.0
