"""Tells a policy that is restated ("refunds take 5 days") from a deed that is claimed ("I have refunded you").

The reply check is made for talk about one customer's orders; held against it, a quarter of the help center's own
sentences would count as claims. A policy answer is stopped only where it speaks of something done for this customer.
"""

# ruff: noqa: E501 - a pattern is read as one line

import re

from agent.core.claims import Facts, check_sentence, split_sentences
from agent.core.keywords import folded

_THINGS = {
    "en": r"refund|money|cancellation|order|address|label|account|ticket|case|request",
    "es": r"reembolso|dinero|cancelacion|pedido|direccion|etiqueta|cuenta|solicitud|caso",
    "fr": r"remboursement|argent|annulation|commande|adresse|etiquette|compte|demande|dossier",
    "de": r"erstattung|geld|stornierung|bestellung|adresse|etikett|konto|anfrage|fall",
}
_DEEDS = (
    r"\b(i|we)('ve| have| had| just| already| did)\b",
    rf"\byour ({_THINGS['en']})\b[^.]{{0,40}}\b(has been|have been|was|were|is (now )?(done|cancell?ed|refunded|approved|on its way))\b",
    r"\b(ya )?(he|hemos) \w+(ado|ido|cho|sto)\b",
    rf"\bsu ({_THINGS['es']})\b[^.]{{0,40}}\b(ha sido|se ha|fue|ya esta)\b",
    r"\b(j'ai|nous avons|on a)\b",
    rf"\bvotre ({_THINGS['fr']})\b[^.]{{0,40}}\b(a ete|a bien|est (deja )?(fait|annul|rembours|valid|approuv))",
    r"\b(ich habe|wir haben|habe ich|haben wir)\b",
    rf"\bihre? ({_THINGS['de']})\b[^.]{{0,40}}\b(wurde|worden|ist (bereits|schon|jetzt|nun)? ?(erstattet|storniert|genehmigt|erledigt))",
)
_DEED = re.compile("|".join(_DEEDS))


def claimed_deeds(answer: str) -> list[str]:
    """Return the sentences that say something was done for this customer, true or not."""
    return [sentence for sentence in split_sentences(answer) if _DEED.search(folded(sentence))]


def false_deeds(answer: str, language: str, facts: Facts) -> list[str]:
    """Return the sentences that say something was done for this customer and aren't borne out by the facts."""
    return [sentence for sentence in claimed_deeds(answer) if not check_sentence(sentence, language, facts).holds]
