"""What may always be said: a plain reply made from the rows alone, in the customer's language."""

from collections.abc import Iterator

from agent.core.claims.check import check_sentence
from agent.core.claims.facts import Action, Facts
from agent.core.claims.wordings import AMOUNT, HANDED_OVER, NAMES, NOTHING, OFFER, ORDER, REFERENCE, STATES, UNREAD


def templated_truth(language: str, facts: Facts) -> str:
    """A safe reply from the ledger: one sentence a row, then the handoff; English for a language we do not write.

    Every sentence is itself put through the check, and left plainer where a row's own data would not pass it, so
    that the reply of last resort can never be the one that is stopped.
    """
    language = language if language in NAMES else "en"
    sentences = [_about_row(row, language, facts) for row in facts.actions]
    if facts.handoff:
        sentences.append(HANDED_OVER[language])
    said = list(dict.fromkeys(s for s in sentences if s))
    if not said and not facts.complete:
        said.append(UNREAD[language])
    elif not said:
        said.append(NOTHING[language] if not any(o.status == "cancelled" for o in facts.orders) else "")
    return " ".join(s for s in [*said, OFFER[language] if not facts.handoff else ""] if s)


def _about_row(row: Action, language: str, facts: Facts) -> str:
    name = NAMES[language].get(row.kind)
    state = STATES[language].get(row.status)
    if name is None or state is None:
        return ""
    for details in _details(row, language):
        sentence = state.format(what=f"{name[0]}{details}", e=name[1])
        checked = check_sentence(sentence, language, facts)
        if checked.holds and [c.kind for c in checked.claims] == [row.kind]:
            return sentence
    return ""


def _details(row: Action, language: str) -> Iterator[str]:
    """From the fullest description of a row to none."""
    amount = (
        AMOUNT[language].format(f"{row.amount:f} {row.currency}") if row.amount is not None and row.currency else ""
    )
    order = ORDER[language].format(row.order_id) if row.order_id else ""
    reference = REFERENCE[language].format(row.reference) if row.reference else ""
    yield f"{amount}{order}{reference}"
    yield f"{amount}{order}"
    yield amount
    yield order
    yield ""
