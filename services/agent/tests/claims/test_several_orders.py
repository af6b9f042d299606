"""Several orders, amounts and states in one sentence: each is held to its own row."""

from decimal import Decimal

import pytest

from agent.adapters.claim_readers import load_reader
from agent.core.claims import Facts, check_reply


def paid(order: str, amount: str, line: str = "L1", status: str = "succeeded") -> dict[str, object]:
    return {
        "key": f"refund:{order}:{line}", "kind": "refund", "status": status, "order_id": order, "line_id": line,
        "amount": Decimal(amount), "currency": "EUR", "reference": None,
    }  # fmt: skip


def holds(reply: str, language: str, *actions: dict[str, object], orders: tuple[tuple[str, str], ...] = ()) -> bool:
    shown = [{"order_id": order, "status": status} for order, status in orders]
    facts = Facts.model_validate({"actions": actions, "orders": shown, "handoff": False})
    return check_reply(reply, language, facts, load_reader()).holds


TWO_PAID = {
    "en": "Order 8300001 was refunded {0} and order 8300002 was refunded {1}.",
    "es": "Del pedido 8300001 te devolvimos {0} y del 8300002, {1}.",
    "fr": "La commande 8300001 a été remboursée de {0}, la 8300002 de {1}.",
    "de": "Die Bestellung 8300001 haben wir mit {0} erstattet, die 8300002 mit {1}.",
}


@pytest.mark.parametrize("language", TWO_PAID)
def test_an_amount_belongs_to_the_order_it_stands_beside(language: str) -> None:
    rows = paid("8300001", "14.00"), paid("8300002", "31.00")
    amounts = ("14,00 €", "31,00 €") if language != "en" else ("€14.00", "€31.00")
    assert holds(TWO_PAID[language].format(*amounts), language, *rows)
    assert not holds(TWO_PAID[language].format(*reversed(amounts)), language, *rows)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("de", "Sowohl 8300001 als auch 8300002 sind storniert."),
        ("en", "Orders 8300001 and 8300002 are cancelled."),
        ("fr", "Les commandes 8300001 et 8300002 sont annulées."),
        ("es", "Los pedidos 8300001 y 8300002 están cancelados."),
    ],
)
def test_what_is_said_of_two_orders_needs_both(language: str, reply: str) -> None:
    def cancelled(order: str) -> dict[str, object]:
        return {"key": f"cancel:{order}", "kind": "cancel", "status": "succeeded", "order_id": order}

    both = (("8300001", "cancelled"), ("8300002", "cancelled"))
    one = (("8300001", "cancelled"), ("8300002", "processing"))
    assert holds(reply, language, cancelled("8300001"), cancelled("8300002"), orders=both)
    assert not holds(reply, language, cancelled("8300001"), orders=one)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "Order 8300001 has been refunded item by item."),
        ("es", "El pedido 8300001 está reembolsado, artículo por artículo."),
        ("fr", "La commande 8300001 est remboursée, article par article."),
        ("de", "Die komplette Bestellung 8300001 ist erstattet, Artikel für Artikel."),
    ],
)
def test_one_line_proves_no_whole_order(language: str, reply: str) -> None:
    assert not holds(reply, language, paid("8300001", "60.00"), orders=(("8300001", "delivered"),))


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "The €20.00 for the belt was refunded, and the €35.00 for the bag is still being processed."),
        ("de", "Die 20,00 € für den Gürtel sind erstattet, die 35,00 € für die Tasche sind noch in Bearbeitung."),
    ],
)
def test_two_states_beside_each_other_are_each_amounts_own(language: str, reply: str) -> None:
    done, under_way = paid("8300001", "20.00"), paid("8300001", "35.00", "L2", "pending")
    assert holds(reply, language, done, under_way)
    swapped = paid("8300001", "20.00", status="pending"), paid("8300001", "35.00", "L2")
    assert not holds(reply, language, *swapped)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("de", "Bei positivem Bescheid erhalten Sie 165,00 € von uns."),
        ("de", "Fällt die Entscheidung zu Ihren Gunsten aus, werden die 165,00 € erstattet."),
    ],
)
def test_what_hangs_on_a_decision_is_true_while_one_is_waited_for(language: str, reply: str) -> None:
    assert holds(reply, language, paid("8300001", "165.00", status="awaiting_approval"))
    assert not holds(reply, language)
