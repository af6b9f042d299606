"""SPEC §8 as a table: each rule alone, their order, and the shorter patience under low confidence."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agent.core.handoff import Situation, decide_handoff

CALM = Situation()


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, None),
        ({"asked": True}, "asked"),
        ({"sensitive": True}, "sensitive"),
        ({"limit_hit": "8 model calls"}, "budget"),
        ({"above_ceiling": True}, "policy"),
        # stuck: two failed tool calls …
        ({"failed_calls": 1}, None),
        ({"failed_calls": 2}, "stuck"),
        ({"failed_calls": 3}, "stuck"),
        # … or three turns without progress …
        ({"idle_turns": 2}, None),
        ({"idle_turns": 3}, "stuck"),
        # … enterprise customers after two attempts: writes that came to nothing, or turns that did
        ({"attempts": 2}, None),
        ({"attempts": 1, "enterprise": True}, None),
        ({"attempts": 2, "enterprise": True}, "stuck"),
        ({"idle_turns": 1, "enterprise": True}, None),
        ({"idle_turns": 2, "enterprise": True}, "stuck"),
        ({"enterprise": True}, None),
        # upset: at −0.6, not before
        ({"sentiment": -0.59}, None),
        ({"sentiment": -0.6}, "upset"),
        ({"sentiment": -0.61}, "upset"),
        ({"sentiment": 0.6}, None),
        # over eight turns or six hundred seconds without a resolution
        ({"turns": 7}, None),
        ({"turns": 8}, None),
        ({"turns": 9}, "long"),
        ({"turns": 9, "resolved": True}, None),
        ({"agent_seconds": 599.0}, None),
        ({"agent_seconds": 600.0}, None),
        ({"agent_seconds": 601.0}, "long"),
        ({"agent_seconds": 601.0, "resolved": True}, None),
        # low confidence: below 0.70 one failed call, two turns, −0.3; at 0.70 the usual bounds
        ({"confidence": 0.69}, None),
        ({"confidence": 0.0}, None),
        ({"confidence": 0.69, "failed_calls": 1}, "stuck"),
        ({"confidence": 0.70, "failed_calls": 1}, None),
        ({"confidence": 0.71, "failed_calls": 1}, None),
        ({"confidence": 0.69, "idle_turns": 1}, None),
        ({"confidence": 0.69, "idle_turns": 2}, "stuck"),
        ({"confidence": 0.70, "idle_turns": 2}, None),
        ({"confidence": 0.69, "sentiment": -0.29}, None),
        ({"confidence": 0.69, "sentiment": -0.3}, "upset"),
        ({"confidence": 0.69, "sentiment": -0.31}, "upset"),
        ({"confidence": 0.70, "sentiment": -0.3}, None),
        # what low confidence doesn't tighten
        ({"confidence": 0.69, "turns": 8}, None),
        ({"confidence": 0.69, "agent_seconds": 600.0}, None),
        ({"confidence": 0.69, "attempts": 1, "enterprise": True}, None),
    ],
)
def test_each_rule_decides_at_its_own_bound(facts: dict[str, Any], reason: str | None) -> None:
    due = decide_handoff(replace(CALM, **facts))
    assert (due.reason if due else None) == reason


IN_ORDER: list[tuple[str, dict[str, Any]]] = [
    ("asked", {"asked": True}),
    ("sensitive", {"sensitive": True}),
    ("budget", {"limit_hit": "time"}),
    ("policy", {"above_ceiling": True}),
    ("stuck", {"failed_calls": 5}),
    ("upset", {"sentiment": -1.0}),
    ("long", {"turns": 20}),
]


@pytest.mark.parametrize(("first", "second"), list(pairwise(IN_ORDER)))
def test_of_two_rules_the_earlier_one_names_the_reason(first: Any, second: Any) -> None:
    due = decide_handoff(replace(CALM, **first[1], **second[1]))
    assert due is not None
    assert due.reason == first[0]
