"""Everything the agent says without a model passes its own check once the facts are what the words say."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

import pytest

from agent.adapters.claim_readers import load_reader
from agent.core.claims import Action, Facts, Order, ReplyCheck
from agent.core.claims import check_reply as check
from agent.core.outcomes import Telling, tell_outcome, what_it_is
from agent.core.policy_answers import not_covered
from agent.core.tracking import tell_choice, tell_missing, tell_order
from agent.core.wording import Phrase, say
from common.events.actions import ActionChanged
from common.events.model import Language

LANGUAGES = get_args(Language)
READER = load_reader()
KINDS = ("refund", "cancel", "address_change", "return_label", "account_change")
ORDER = "7100001"
HANDED_OVER = frozenset({"with_person", "handoff", "handoff_sensitive", "handoff_no_model", "session_over"})
STATUS_OF_TELLING = {
    "done": "succeeded",
    "declined": "rejected",
    "failed": "failed",
    "returned": "failed",
    "overdue": "awaiting_approval",
    "pending": "pending",
}
NEEDS_PERSON = frozenset({"failed", "returned", "overdue"})


def check_reply(text: str, language: str, facts: Facts) -> ReplyCheck:
    """Judge as the services do: by rules and second reader together."""
    return check(text, language, facts, READER)


def row(kind: str, status: str) -> Action:
    money = {"amount": Decimal("64.00"), "currency": "EUR"} if kind == "refund" else {}
    order_id = None if kind == "account_change" else ORDER
    return Action(key=f"{kind}:{ORDER}", kind=kind, status=status, order_id=order_id, **money)


def change(kind: str, status: str) -> ActionChanged:
    return ActionChanged(
        key=f"{kind}:{ORDER}",
        version=2,
        kind=kind,
        customer_id="C-1001",
        conversation_id="conv_1",
        order_id=None if kind == "account_change" else ORDER,
        line_id=None,
        amount="64.00" if kind == "refund" else None,
        currency="EUR" if kind == "refund" else None,
        status=status,
        previous_status="pending",
        verdict="auto",
        policy_version="v1",
        policy_reason="within_limits",
        approved_by=None,
        reference=None,
        attempts=1,
        changed_at=datetime(2026, 11, 29, tzinfo=UTC),
        cause="settled",
        inline=False,
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("phrase", get_args(Phrase))
def test_every_phrase_passes_the_check_when_it_is_true(language: Language, phrase: Phrase) -> None:
    status = phrase.split("_")[1] if phrase.startswith("order_") else "processing"
    facts = Facts(orders=(Order(order_id=ORDER, status=status),), handoff=phrase in HANDED_OVER)
    text = say(
        language,
        phrase,
        order=ORDER,
        orders=ORDER,
        link="https://track.example/abc",
        date="2026-11-20",
        amount="64.00 EUR",
        line="L1",
        what=what_it_is(language, "cancel", "", ORDER),
    )
    if phrase == "order_missing":
        facts = Facts()
    assert check_reply(text, language, facts).holds, text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("phrase", sorted(HANDED_OVER))
def test_a_handover_is_never_told_without_one(language: Language, phrase: Phrase) -> None:
    assert not check_reply(say(language, phrase), language, Facts()).holds


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "telling"),
    # only a bank returns anything
    [(k, t) for k in KINDS for t in sorted(STATUS_OF_TELLING) if k == "refund" or t != "returned"],
)
def test_every_outcome_passes_the_check_when_it_is_true(language: Language, kind: str, telling: Telling) -> None:
    status = STATUS_OF_TELLING[telling]
    text = tell_outcome(language, change(kind, status), telling)
    facts = Facts(
        actions=(row(kind, status),),
        orders=(Order(order_id=ORDER, status="processing"),),
        handoff=telling in NEEDS_PERSON,
    )
    assert check_reply(text, language, facts).holds, text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_outcome_told_too_early_is_caught(language: Language, kind: str) -> None:
    text = tell_outcome(language, change(kind, "succeeded"), "done")
    assert not check_reply(text, language, Facts(actions=(row(kind, "pending"),))).holds, text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("status", ["processing", "shipped", "delivered", "lost", "cancelled"])
def test_tracking_answers_pass_the_check(language: Language, status: str) -> None:
    order = {
        "order_id": ORDER,
        "status": status,
        "tracking_url": "https://track.example/1Z-99",
        "delivered_at": "2026-11-20T10:00:00Z",
    }
    facts = Facts(orders=(Order(order_id=ORDER, status=status),))
    for text in (tell_order(language, order), tell_choice(language, [order]), tell_choice(language, [])):
        assert check_reply(text, language, facts).holds, text


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_about_nothing_pass_the_check(language: Language) -> None:
    assert check_reply(" ".join(not_covered(language)), language, Facts()).holds
    assert check_reply(tell_missing(language, ORDER), language, Facts()).holds
