"""What the agent says by itself: every phrase in every language, and nothing that its own reply check would stop."""

import string
from typing import Any, get_args

import pytest

from agent.core.claims import Facts, check_reply
from agent.core.facts import facts_of
from agent.core.outcomes import judge_change, tell_outcome
from agent.core.state import Memory
from agent.core.truth import ledger_words
from agent.core.wording import Phrase, say
from common.events import ActionChanged
from common.events.model import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
KINDS = ("refund", "cancel", "address_change", "return_label", "account_change")
STATUSES = ("succeeded", "pending", "awaiting_approval", "rejected", "failed")
BLANKS = ("order", "orders", "link", "date", "amount", "line", "what")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("phrase", get_args(Phrase))
def test_every_phrase_can_be_said_in_every_language(language: Language, phrase: Phrase) -> None:
    text = say(language, phrase, **dict.fromkeys(BLANKS, "X"))
    assert text
    assert "{" not in text


def test_all_languages_fill_the_same_blanks() -> None:
    for phrase in get_args(Phrase):
        wanted = {
            language: {name for _, name, _, _ in string.Formatter().parse(_raw(language, phrase)) if name}
            for language in LANGUAGES
        }
        assert len(set(map(frozenset, wanted.values()))) == 1, (phrase, wanted)


def _raw(language: Language, phrase: Phrase) -> str:
    return say(language, phrase, **{name: f"{{{name}}}" for name in BLANKS})


def row(kind: str, status: str) -> dict[str, Any]:
    return {
        "key": f"{kind}:4417028",
        "kind": kind,
        "status": status,
        "order_id": None if kind == "account_change" else "4417028",
        "line_id": "L2" if kind == "refund" else None,
        "amount": "64.00" if kind == "refund" else None,
        "currency": "USD" if kind == "refund" else None,
        "reference": "re_1" if status == "succeeded" else None,
    }


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", STATUSES)
def test_the_ledgers_own_words_hold_before_the_reply_check(language: Language, kind: str, status: str) -> None:
    memory = Memory(actions={"k": row(kind, status)})
    text = ledger_words(language, list(memory.actions.values()))
    checked = check_reply(text, language, facts_of(memory))
    assert checked.holds, [(s.sentence, s.why) for s in checked.sentences if not s.holds]


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_rows_the_templated_reply_claims_nothing_false(language: Language) -> None:
    checked = check_reply(ledger_words(language, []), language, Facts())
    assert checked.holds, [(s.sentence, s.why) for s in checked.sentences if not s.holds]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("status", "cause", "handoff"),
    [
        ("succeeded", "settled", False),
        ("rejected", "decided", False),
        ("failed", "refused", True),
        ("failed", "bank_returned", True),
        ("awaiting_approval", "overdue", True),
    ],
)
def test_outcome_messages_hold_before_the_reply_check(
    language: Language, status: str, cause: str, *, handoff: bool
) -> None:
    change = ActionChanged(
        **row("refund", status),
        version=2,
        customer_id="C-1001",
        verdict="approval",
        policy_version="1",
        policy_reason="amount",
        changed_at="2026-11-29T12:00:00Z",
        cause=cause,
    )
    outcome = judge_change(change)
    assert outcome.needs_person is handoff
    text = tell_outcome(language, change, outcome.telling)
    checked = check_reply(text, language, facts_of(Memory(actions={"k": row("refund", status)}), handoff=handoff))
    assert checked.holds, [(s.sentence, s.why) for s in checked.sentences if not s.holds]
