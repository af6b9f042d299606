"""What the agent says by itself: every phrase in every language, and nothing that its own reply check would stop."""

import string
from typing import Any, get_args

import pytest

from agent.core.claims import check_reply
from agent.core.facts import facts_of
from agent.core.outcomes import judge_change, tell_outcome
from agent.core.state import Memory
from agent.core.wording import Phrase, say
from common.events import ActionChanged
from common.events.model import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
KINDS = ("refund", "cancel", "address_change", "return_label", "account_change")
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


OUTCOMES = [
    ("refund", "failed", "bank_returned", True),
    *(
        (kind, *rest)
        for kind in KINDS
        for rest in (
            ("succeeded", "settled", False),
            ("rejected", "decided", False),
            ("failed", "refused", True),
            ("awaiting_approval", "overdue", True),
        )
    ),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("kind", "status", "cause", "handoff"), OUTCOMES)
def test_outcome_messages_hold_before_the_reply_check(
    language: Language, kind: str, status: str, cause: str, *, handoff: bool
) -> None:
    change = ActionChanged(
        **row(kind, status),
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
    checked = check_reply(text, language, facts_of(Memory(actions={"k": row(kind, status)}), handoff=handoff))
    assert checked.holds, [(s.sentence, s.why) for s in checked.sentences if not s.holds]
