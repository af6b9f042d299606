"""'Where is my order?' as plain rules: which order is meant, and what the store's record says about it."""

from dataclasses import dataclass
from typing import Any

from agent.core.wording import Phrase, say
from common.events.model import Language
from common.ids import OrderIds

Json = dict[str, Any]
# An order in one of these states is one a customer may still be waiting for.
_OPEN = frozenset({"processing", "shipped", "lost"})
_BY_STATUS: dict[str, Phrase] = {
    "processing": "order_processing",
    "shipped": "order_shipped",
    "delivered": "order_delivered",
    "lost": "order_lost",
    "cancelled": "order_cancelled",
}


@dataclass(frozen=True, slots=True)
class LookUp:
    """Read one order."""

    order_id: str


@dataclass(frozen=True, slots=True)
class ListOrders:
    """No number in the text: the customer's open orders decide."""


def choose_lookup(text: str, history: tuple[str, ...], ids: OrderIds) -> LookUp | ListOrders:
    """Return what to read: the one number in the text, else the last one the customer named earlier, else the list."""
    named = ids.find_in(text)
    if len(named) == 1:
        return LookUp(named[0])
    if not named:
        for earlier in reversed(history):
            if found := ids.find_in(earlier):
                return LookUp(found[-1])
    return LookUp(named[0]) if named else ListOrders()


def patience_left_s(waited_s: float, patience_s: float, try_s: float) -> float:
    """Return how long to go on asking for a customer who has waited this long since the message arrived.

    One that had to wait its turn behind an earlier message still gets a whole try.
    """
    return max(patience_s - max(waited_s, 0.0), min(try_s, patience_s))


def open_orders(orders: list[Json]) -> list[Json]:
    """Return the orders that a customer may still be waiting for."""
    return [order for order in orders if order.get("status") in _OPEN]


def tell_order(language: Language, order: Json) -> str:
    """Return the sentence for one order as the store knows it."""
    order_id, status = str(order["order_id"]), str(order.get("status"))
    link, delivered_at = order.get("tracking_url"), order.get("delivered_at")
    if status == "shipped" and isinstance(link, str) and link.startswith("https://"):
        return say(language, "order_shipped_link", order=order_id, link=link)
    if status == "delivered" and isinstance(delivered_at, str) and len(delivered_at) >= 10:
        return say(language, "order_delivered_on", order=order_id, date=delivered_at[:10])
    phrase = _BY_STATUS.get(status)
    return say(language, phrase, order=order_id) if phrase else say(language, "lookup_down")


def tell_choice(language: Language, orders: list[Json]) -> str:
    """Return the answer when no number was named: the only open order, a question, or that there is none."""
    waiting = open_orders(orders)
    if len(waiting) == 1:
        return tell_order(language, waiting[0])
    if not waiting:
        return say(language, "no_orders")
    return say(language, "which_order", orders=", ".join(str(o["order_id"]) for o in waiting[:10]))


def tell_missing(language: Language, order_id: str) -> str:
    """Somebody else's order and one that doesn't exist read alike (SPEC §6)."""
    return say(language, "order_missing", order=order_id)
