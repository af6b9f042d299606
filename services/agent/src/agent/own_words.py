"""Every fixed sentence the agent says without a model, filled in: the second reader learns them by heart."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

from agent.core.claims import Action, Facts, templated_truth
from agent.core.outcomes import Telling, tell_outcome, what_it_is
from agent.core.policy_answers import not_covered
from agent.core.tracking import tell_choice, tell_missing, tell_order
from agent.core.wording import Phrase, say
from common.events.actions import ActionChanged
from common.events.model import Language

KINDS = ("refund", "cancel", "address_change", "return_label", "account_change")
STATUSES = ("succeeded", "pending", "awaiting_approval", "rejected", "failed")
_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


def own_replies(order_id: str = "7100001", amount: str = "64.00") -> Iterator[tuple[Language, str]]:
    """Yield language and text; the same texts in the same order each time."""
    for language in get_args(Language):
        yield from ((language, text) for text in _templates(language, order_id, amount))
        yield from ((language, text) for text in _outcomes(language, order_id, amount))
        yield from ((language, text) for text in _phrases(language, order_id, amount))
        yield from ((language, text) for text in _tracking(language, order_id))


def _templates(language: Language, order_id: str, amount: str) -> Iterator[str]:
    yield templated_truth(language, Facts())
    yield templated_truth(language, Facts(handoff=True))
    yield templated_truth(language, Facts(complete=False))
    for kind in KINDS:
        for status in STATUSES:
            row = Action(key="k", kind=kind, status=status, order_id=order_id, reference="RF-10")
            yield templated_truth(language, Facts(actions=(row.model_copy(update={"reference": None}),)))
            yield templated_truth(language, Facts(actions=(row,)))
            paid = {"amount": Decimal(amount), "currency": "EUR"}
            yield templated_truth(language, Facts(actions=(row.model_copy(update=paid),)))


def _outcomes(language: Language, order_id: str, amount: str) -> Iterator[str]:
    tellings: list[Telling] = ["done", "declined", "failed", "returned", "overdue", "pending"]
    for kind in KINDS:
        for telling in tellings:
            if telling != "returned" or kind == "refund":
                yield tell_outcome(language, _change(kind, order_id, amount), telling)


def _phrases(language: Language, order_id: str, amount: str) -> Iterator[str]:
    for phrase in get_args(Phrase):
        yield say(
            language,
            phrase,
            order=order_id,
            orders=order_id,
            link="https://track.example/abc",
            date="2026-11-20",
            amount=f"{amount} EUR",
            line="L1",
            what=what_it_is(language, "cancel", "", order_id),
        )


def _tracking(language: Language, order_id: str) -> Iterator[str]:
    for status in ("processing", "shipped", "delivered", "lost", "cancelled"):
        order = {
            "order_id": order_id,
            "status": status,
            "tracking_url": "https://track.example/1Z-99",
            "delivered_at": _AT.isoformat(),
        }
        yield tell_order(language, order)
        yield tell_choice(language, [order])
    yield tell_choice(language, [])
    yield tell_missing(language, order_id)
    yield " ".join(not_covered(language))


def _change(kind: str, order_id: str, amount: str) -> ActionChanged:
    return ActionChanged(
        key=f"{kind}:{order_id}",
        version=2,
        kind=kind,
        customer_id="C-1001",
        conversation_id="conv_1",
        order_id=None if kind == "account_change" else order_id,
        line_id=None,
        amount=amount if kind == "refund" else None,
        currency="EUR" if kind == "refund" else None,
        status="succeeded",
        previous_status="pending",
        verdict="auto",
        policy_version="v1",
        policy_reason="within_limits",
        approved_by=None,
        reference=None,
        attempts=1,
        changed_at=_AT,
        cause="settled",
        inline=False,
    )
