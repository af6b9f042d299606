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


def cancelled(order: str) -> dict[str, object]:
    return {"key": f"cancel:{order}", "kind": "cancel", "status": "succeeded", "order_id": order}


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


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "All your orders are cancelled."),
        ("es", "Hemos cancelado todos tus pedidos."),
        ("fr", "Toutes vos commandes sont annulées."),
        ("de", "Alle Ihre Bestellungen sind storniert."),
    ],
)
def test_every_order_means_each_one_there_is(language: str, reply: str) -> None:
    both = (("8300001", "cancelled"), ("8300002", "cancelled"))
    one = (("8300001", "cancelled"), ("8300002", "processing"))
    assert holds(reply, language, cancelled("8300001"), cancelled("8300002"), orders=both)
    assert holds(reply, language, orders=both)
    assert not holds(reply, language, cancelled("8300001"), orders=one)
    assert not holds(reply, language, orders=one)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "All your orders have been delivered."),
        ("es", "Todos tus pedidos han sido entregados."),
        ("fr", "Toutes vos commandes ont été livrées."),
        ("de", "Alle Ihre Bestellungen wurden zugestellt."),
    ],
)
def test_every_order_is_where_it_is_said_to_be(language: str, reply: str) -> None:
    assert holds(reply, language, orders=(("8300001", "delivered"), ("8300002", "delivered")))
    assert not holds(reply, language, orders=(("8300001", "delivered"), ("8300002", "shipped")))


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "Order {0} has arrived, order {1} is still in our warehouse."),
        ("es", "El pedido {0} ya ha llegado, el pedido {1} sigue en nuestro almacén."),
        ("fr", "La commande {0} est arrivée, la commande {1} est encore dans notre entrepôt."),
        ("de", "Die Bestellung {0} ist angekommen, die Bestellung {1} ist noch in unserem Lager."),
    ],
)
def test_each_order_is_held_to_its_own_whereabouts(language: str, reply: str) -> None:
    orders = (("8300001", "delivered"), ("8300002", "processing"))
    assert holds(reply.format("8300001", "8300002"), language, orders=orders)
    assert not holds(reply.format("8300002", "8300001"), language, orders=orders)


ACCOUNT = {"key": "account_change:c1:address:1", "kind": "account_change", "status": "succeeded", "order_id": None}
MOVED = {"key": "address_change:8300001", "kind": "address_change", "status": "succeeded", "order_id": "8300001"}


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "The address in your account is changed, and that of order 8300001 as well."),
        ("es", "Hemos cambiado la dirección de tu cuenta y también la del pedido 8300001."),
        ("fr", "L'adresse de votre compte est changée, celle de la commande 8300001 également."),
        ("de", "Die Adresse in Ihrem Konto ist geändert, die der Bestellung 8300001 ebenfalls."),
    ],
)
def test_an_orders_address_is_not_the_accounts(language: str, reply: str) -> None:
    orders = (("8300001", "processing"),)
    assert holds(reply, language, ACCOUNT, MOVED, orders=orders)
    assert not holds(reply, language, ACCOUNT, orders=orders)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "Your label is ready; as for the €31.00, the refund is being processed."),
        ("es", "La etiqueta está lista; en cuanto a los 31,00 €, el reembolso está en trámite."),
        ("fr", "L'étiquette est créée ; quant aux 31,00 €, leur remboursement est en cours."),
        ("de", "Das Etikett ist erstellt; die Erstattung der 31,00 € ist in Bearbeitung."),
    ],
)
def test_an_amount_beside_a_deed_that_moves_no_money_is_the_other_deeds(language: str, reply: str) -> None:
    label = {"key": "return_label:8300001", "kind": "return_label", "status": "succeeded", "order_id": "8300001"}
    assert holds(reply, language, label, paid("8300001", "31.00", status="pending"))
    assert not holds(reply, language, label, paid("8300001", "13.00", status="pending"))


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "It is order 8300001 that was delivered, not 8300002."),
        ("es", "Se entregó el 8300001, no el 8300002."),
        ("fr", "C'est la 8300001 qui a été livrée, pas la 8300002."),
        ("de", "Zugestellt wurde die 8300001, nicht die 8300002."),
    ],
)
def test_an_order_set_against_another_is_not_claimed(language: str, reply: str) -> None:
    assert holds(reply, language, orders=(("8300001", "delivered"), ("8300002", "shipped")))
    assert not holds(reply, language, orders=(("8300001", "shipped"), ("8300002", "delivered")))


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "Both shirts have been refunded."),
        ("es", "Las dos camisas están reembolsadas."),
        ("fr", "Les deux chemises ont été remboursées."),
        ("de", "Beide Hemden wurden erstattet."),
    ],
)
def test_both_means_two_rows_where_there_are_two(language: str, reply: str) -> None:
    first, second = paid("8300001", "19.00"), paid("8300001", "24.00", "L2")
    assert holds(reply, language, first, second)
    assert not holds(reply, language, first, paid("8300001", "24.00", "L2", status="pending"))


EMAIL = {"key": "account_change:c1:email:1", "kind": "account_change", "status": "succeeded", "order_id": None}
PHONE = {"key": "account_change:c1:phone:1", "kind": "account_change", "status": "pending", "order_id": None}


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "Your email has been changed; we are still working on the phone number."),
        ("es", "El correo está cambiado; el teléfono sigue en trámite."),
        ("fr", "L'e-mail est à jour ; le téléphone est encore en traitement."),
        ("de", "Die E-Mail-Adresse ist geändert, an der Telefonnummer arbeiten wir noch."),
    ],
)
def test_each_field_is_held_to_its_own_state(language: str, reply: str) -> None:
    assert holds(reply, language, EMAIL, PHONE)
    done, running = {**PHONE, "status": "succeeded"}, {**EMAIL, "status": "pending"}
    assert not holds(reply, language, done, running)


@pytest.mark.parametrize(
    ("reply", "rows", "true"),
    [
        ("Position 3 von 8300001 ist erstattet.", (paid("8300001", "22.00", "L3"),), True),
        ("Position 3 von 8300001 ist erstattet.", (paid("8300001", "22.00", "L1"),), False),
        ("Wir haben Ihnen 80 Euro zurückgebucht.", (paid("8300001", "80.00"),), True),
        ("Wir haben Ihnen 80 US-Dollar zurückgebucht.", (paid("8300001", "80.00"),), False),
    ],
)
def test_a_line_or_currency_in_words_is_the_rows(reply: str, rows: tuple[dict[str, object], ...], true: bool) -> None:
    assert holds(reply, "de", *rows) is true


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("en", "One of your two orders, 8300001, has been cancelled."),
        ("es", "Uno de sus dos pedidos, el 8300001, se ha cancelado."),
        ("fr", "Une de vos deux commandes, la 8300001, est annulée."),
        ("de", "Eine Ihrer beiden Bestellungen, 8300001, wurde storniert."),
    ],
)
def test_one_of_two_orders_is_not_both(language: str, reply: str) -> None:
    one = (("8300001", "cancelled"), ("8300002", "processing"))
    assert holds(reply, language, cancelled("8300001"), orders=one)
    assert not holds(reply, language, orders=(("8300001", "processing"), ("8300002", "processing")))


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("fr", "Votre remboursement de 64,00 € est effectué, visible en ligne 24 h sur 24."),
        ("es", "Tu reembolso de 64,00 € está hecho y lo ves en línea 24 horas al día."),
        ("en", "Your refund of €64.00 is done; see it on line 24 hours a day."),
    ],
)
def test_what_is_on_line_all_day_is_no_order_line(language: str, reply: str) -> None:
    assert holds(reply, language, paid("8300001", "64.00", "L2"))
