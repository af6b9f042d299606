"""The offline handle: one line in, one line out, in order, by the very policy the service runs."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from toolgateway.decide import answers
from toolgateway.policy import load_policy, packaged_policy

POLICY = load_policy(packaged_policy())


def case(args: dict[str, Any] | None = None, facts: dict[str, Any] | None = None, **order: Any) -> str:
    lines = [{"line_id": "L2", "title": "Blender", "quantity": 1, "paid": "64.00"}]
    base = {"customer_id": "C", "status": "delivered", "currency": "USD", "lines": lines, **order}
    return json.dumps(
        {
            "id": "a",
            "kind": "refund",
            "args": {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged", **(args or {})},
            "facts": {
                "order": base, "refunded": {}, "refunds_30d": 0, "refund_sum_30d": "0.00", "fraud_score": 0.1,
                "disputed": False, "guard": "clean", "intent_confidence": 0.9, "now": "2026-11-29T10:00:00Z",
                **(facts or {}),
            },
            "unknown": "ignored",
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (case(), "auto"),
        (case({"amount": "64"}), "deny"),
        (case({"amount": 64.0}), "deny"),
        (case({"amount": "6e1"}), "deny"),
        (case({"amount": None}), "deny"),
        (case({"reason": "because"}), "deny"),
        (case({"line_id": "L9"}), "deny"),
        (case(None, {"refunded": {"L2": "0.01"}}), "deny"),
        (case(None, {"disputed": True}), "handoff"),
        (case(None, {"refunds_30d": 2}), "approval"),
        (case(None, {"guard": "down"}), "approval"),
        (case(None, {"guard": None}), "approval"),
        (case(None, {"intent_confidence": None}), "approval"),
        (case(None, {"fraud_score": "low"}), "approval"),
        (case({"amount": "64.00"}, None, currency="CHF"), "approval"),
    ],
)
def test_each_line_is_judged(line: str, verdict: str) -> None:
    [answer] = answers([line], POLICY)
    assert answer["verdict"] == verdict, answer
    assert answer["policy_version"] == POLICY.version


def test_a_bad_line_is_named_and_the_rest_goes_on() -> None:
    bad = ["nope", '{"id":"b"}', '{"id":"c","kind":"refund","args":{},"facts":{"order":{"lines":[{"paid":5}]}}}', "[]"]
    got = list(answers([*bad, case()], POLICY))
    assert [("error" in answer) for answer in got] == [True, True, True, True, False]
    assert [answer["id"] for answer in got] == [None, "b", "c", None, "a"]


def test_the_handle_is_a_program_and_judges_two_hundred_lines_a_second() -> None:
    lines = "\n".join(case() for _ in range(2_000))
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "toolgateway.decide"],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert time.monotonic() - started < 10
    assert done.stdout.count('"verdict": "auto"') == 2_000
