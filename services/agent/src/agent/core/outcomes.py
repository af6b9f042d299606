"""What the customer is told when a ledger row changes behind their back, in four languages (SPEC §6, R3)."""

# ruff: noqa: E501 - a sentence is read as one line

from dataclasses import dataclass
from typing import Literal

from common.events.actions import ActionChanged
from common.events.model import Language
from common.ids import derived_id

Telling = Literal["done", "declined", "failed", "returned", "overdue", "pending", "none"]

_WHAT: dict[Language, dict[str, str]] = {
    "en": {
        "refund": "your refund of {amount} for order {order}",
        "cancel": "the cancellation of order {order}",
        "address_change": "the address change for order {order}",
        "return_label": "the return label for order {order}",
        "account_change": "the change to your account",
    },
    "es": {
        "refund": "su reembolso de {amount} del pedido {order}",
        "cancel": "la cancelación del pedido {order}",
        "address_change": "el cambio de dirección del pedido {order}",
        "return_label": "la etiqueta para devolver el pedido {order}",
        "account_change": "el cambio en su cuenta",
    },
    "fr": {
        "refund": "votre remboursement de {amount} pour la commande {order}",
        "cancel": "l'annulation de la commande {order}",
        "address_change": "le changement d'adresse de la commande {order}",
        "return_label": "l'étiquette de retour de la commande {order}",
        "account_change": "la modification de votre compte",
    },
    "de": {
        "refund": "Ihre Erstattung von {amount} zur Bestellung {order}",
        "cancel": "Ihre Stornierung zur Bestellung {order}",
        "address_change": "die Adressänderung der Bestellung {order}",
        "return_label": "das Rücksendeetikett zur Bestellung {order}",
        "account_change": "die Änderung an Ihrem Konto",
    },
}
_SAID: dict[Language, dict[Telling, str]] = {
    "en": {
        "done": "Good news: {what} has gone through.",
        "declined": "We have looked at it: {what} was declined. A colleague can explain why if you ask.",
        "failed": "I'm sorry: {what} did not go through. A colleague is taking care of it.",
        "returned": "I'm sorry: {what} has failed after all, because the bank returned it. A colleague is taking care of it.",
        "overdue": "{what} still waits for approval. It takes longer than it should, so a colleague is looking at it.",
        "pending": "{what} is being processed. I'll tell you when it is settled.",
    },
    "es": {
        "done": "Buenas noticias: {what} se ha realizado.",
        "declined": "Lo hemos revisado: {what} ha sido rechazado. Un compañero puede explicarle el motivo.",
        "failed": "Lo siento: {what} no se ha podido realizar. Un compañero se está ocupando.",
        "returned": "Lo siento: {what} ha fallado al final, porque el banco lo ha devuelto. Un compañero se está ocupando.",
        "overdue": "{what} sigue pendiente de aprobación. Tarda más de lo debido, así que un compañero lo está mirando.",
        "pending": "{what} se está procesando. Le aviso cuando termine.",
    },
    "fr": {
        "done": "Bonne nouvelle : {what} a bien abouti.",
        "declined": "Nous avons examiné la demande et nous avons refusé {what}. Un collègue peut vous expliquer pourquoi.",
        "failed": "Je suis désolé : {what} n'a pas abouti. Un collègue s'en occupe.",
        "returned": "Je suis désolé : {what} a finalement échoué, car la banque l'a renvoyé. Un collègue s'en occupe.",
        "overdue": "{what} attend toujours une approbation. C'est plus long que prévu, un collègue s'en occupe.",
        "pending": "{what} est en cours de traitement. Je vous préviens dès que c'est réglé.",
    },
    "de": {
        "done": "Gute Nachricht: {what} ist erledigt.",
        "declined": "Wir haben es geprüft: {what} wurde abgelehnt. Wenn Sie möchten, erklärt Ihnen ein Kollege den Grund.",
        "failed": "Es tut mir leid: {what} hat nicht geklappt. Ein Kollege kümmert sich darum.",
        "returned": "Es tut mir leid: {what} ist am Ende doch fehlgeschlagen, weil die Bank sie zurückgegeben hat. Ein Kollege kümmert sich darum.",
        "overdue": "{what} wartet noch auf Freigabe. Das dauert länger als geplant, darum sieht ein Kollege nach.",
        "pending": "{what} wird bearbeitet. Ich melde mich, sobald es erledigt ist.",
    },
}
_TO_PEOPLE = frozenset({"failed", "returned", "overdue"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to say, and whether a person has to take the conversation."""

    telling: Telling
    needs_person: bool


def judge_change(change: ActionChanged) -> Outcome:
    """Return what a change that nobody told the customer yet means to them."""
    telling: Telling
    if change.cause == "bank_returned":
        telling = "returned"
    elif change.cause == "overdue":
        telling = "overdue"
    elif change.status == "succeeded":
        telling = "done"
    elif change.status == "rejected":
        telling = "declined"
    elif change.status == "failed":
        telling = "failed"
    else:
        # pending or waiting: the row only moved inside; the next change is the one worth a message.
        telling = "none"
    return Outcome(telling, telling in _TO_PEOPLE)


def outcome_message_id(key: str, version: int) -> str:
    """Name the one message that tells a change of a row: the same for who writes it and for who looks for it."""
    return f"msg_{derived_id('outcome', key, str(version))}"


def tell_outcome(language: Language, change: ActionChanged, telling: Telling) -> str:
    """Return the sentence for the customer; its amount and order are the ledger row's own."""
    amount = f"{change.amount} {change.currency}" if change.amount else ""
    what = what_it_is(language, change.kind, amount, change.order_id or "")
    text = _SAID[language][telling].format(what=what)
    return text[0].upper() + text[1:]


def what_it_is(language: Language, kind: str, amount: str, order_id: str) -> str:
    """Name the deed of one ledger row, for the middle of a sentence."""
    return _WHAT[language][kind].format(amount=amount, order=order_id)
