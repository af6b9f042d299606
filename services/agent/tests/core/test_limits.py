"""The conversation's token limit as a rule: when the next model call may be made, and what a return changes."""

from decimal import Decimal

import pytest

from agent.core.endings import begin_anew, begin_over, keep_spending
from agent.core.limits import Limits, tokens_left, tokens_used_up
from agent.core.state import Memory, RunProgress

LIMITS = Limits(tokens_per_conversation=150_000)


@pytest.mark.parametrize(
    ("tokens", "before", "left"),
    [
        (0, 0, 150_000),
        (149_999, 0, 1),
        (150_000, 0, 0),
        (160_000, 0, -10_000),
        (160_000, 160_000, 150_000),
        (309_999, 160_000, 1),
        (310_000, 160_000, 0),
    ],
)
def test_a_call_may_be_made_as_long_as_some_of_the_tokens_are_left(tokens: int, before: int, left: int) -> None:
    memory = Memory(tokens=tokens, tokens_before=before)
    assert tokens_left(memory, LIMITS) == left
    assert (tokens_used_up(memory, LIMITS) is None) is (left > 0)


def test_the_reason_names_what_was_used_since_the_agent_has_it() -> None:
    assert tokens_used_up(Memory(tokens=320_000, tokens_before=160_000), LIMITS) == "160000 tokens in this conversation"


def test_a_return_begins_a_new_allowance_and_forgets_nothing_of_what_was_used() -> None:
    memory = Memory(tokens=160_000, cost_usd=Decimal("0.48"))
    begin_anew(memory)
    assert (memory.tokens, memory.cost_usd) == (160_000, Decimal("0.48"))
    assert tokens_left(memory, LIMITS) == 150_000


def test_what_a_run_used_after_its_last_save_is_carried_over_once() -> None:
    saved, cut_short = Memory(tokens=100, cost_usd=Decimal(1)), Memory(tokens=220, cost_usd=Decimal(3))
    assert keep_spending(saved, cut_short)
    assert (saved.tokens, saved.cost_usd) == (220, Decimal(3))
    assert not keep_spending(saved, cut_short)


def test_a_message_that_is_begun_over_keeps_what_it_has_used() -> None:
    run = RunProgress(message_id="m", tokens=220, cost_usd=Decimal("0.01"), prompt_version="abc", model_calls=3)
    again = begin_over(run)
    assert (again.tokens, again.cost_usd, again.prompt_version) == (220, Decimal("0.01"), "abc")
    assert again.model_calls == 0


def test_what_others_booked_meanwhile_is_not_taken_back() -> None:
    saved = Memory(tokens=500, cost_usd=Decimal(5))
    assert not keep_spending(saved, Memory(tokens=220, cost_usd=Decimal(3)))
    assert (saved.tokens, saved.cost_usd) == (500, Decimal(5))
