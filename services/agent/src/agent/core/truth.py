"""A whole reply made of ledger rows alone, for when the model's own words may not go out (SPEC §7)."""

# ruff: noqa: E501 - a sentence is read as one line

from typing import Any

from agent.core.outcomes import what_it_is
from common.events.model import Language

Json = dict[str, Any]
_BY_STATUS: dict[Language, dict[str, str]] = {
    "en": {
        "succeeded": "{what} has gone through.",
        "pending": "{what} is being processed.",
        "awaiting_approval": "{what} is waiting for approval by a colleague.",
        "rejected": "{what} was declined.",
        "failed": "{what} did not go through.",
    },
    "es": {
        "succeeded": "{what} se ha realizado.",
        "pending": "{what} se está procesando.",
        "awaiting_approval": "{what} está pendiente de aprobación por un compañero.",
        "rejected": "{what} ha sido rechazado.",
        "failed": "{what} no se ha podido realizar.",
    },
    "fr": {
        "succeeded": "{what} a été effectué(e).",
        "pending": "{what} est en cours de traitement.",
        "awaiting_approval": "{what} attend l'approbation d'un collègue.",
        "rejected": "{what} a été refusé(e).",
        "failed": "{what} n'a pas abouti.",
    },
    "de": {
        "succeeded": "{what} ist erledigt.",
        "pending": "{what} ist in Bearbeitung.",
        "awaiting_approval": "{what} wartet auf die Freigabe durch einen Kollegen.",
        "rejected": "{what} wurde abgelehnt.",
        "failed": "{what} hat nicht geklappt.",
    },
}
_NOTHING: dict[Language, str] = {
    "en": "I haven't changed anything so far. Which order and which item is it about? If you like, I can pass you to a colleague.",
    "es": "Hasta ahora no he cambiado nada. ¿De qué pedido y de qué artículo se trata? Si quiere, puedo pasarle con un compañero.",
    "fr": "Je n'ai rien modifié pour le moment. De quelle commande et de quel article s'agit-il ? Si vous voulez, je peux vous passer un collègue.",
    "de": "Ich habe bisher nichts geändert. Um welche Bestellung und welchen Artikel geht es? Wenn Sie möchten, gebe ich Sie an einen Kollegen weiter.",
}


def ledger_words(language: Language, rows: list[Json]) -> str:
    """Return one sentence a row, newest last, or that nothing was changed and what we need to know."""
    sentences = [_sentence(language, row) for row in rows[-4:]]
    return " ".join(sentences) if sentences else _NOTHING[language]


def _sentence(language: Language, row: Json) -> str:
    amount = f"{row['amount']} {row.get('currency') or ''}".strip() if row.get("amount") else ""
    what = what_it_is(language, row["kind"], amount, str(row.get("order_id") or ""))
    text = _BY_STATUS[language][row["status"]].format(what=what)
    return text[0].upper() + text[1:]
