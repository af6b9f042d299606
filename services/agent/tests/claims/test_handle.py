"""`python -m agent.check_reply`: line in, line out, bad lines answered and passed over."""

import io
import json
import subprocess
import sys

from agent.check_reply import run

GOOD = {
    "id": "a",
    "language": "en",
    "reply": "I refunded $27.00.",
    "facts": {"actions": [], "orders": [], "handoff": False, "extra": 1},
    "tags": ["ignored"],
}


def ask(*lines: str) -> list[dict[str, object]]:
    out = io.StringIO()
    run([lines], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_answered_with_its_claims() -> None:
    (answer,) = ask(json.dumps(GOOD))
    assert answer["id"] == "a"
    assert answer["holds"] is False
    assert answer["claims"] == [
        {
            "sentence": "I refunded $27.00.",
            "kind": "refund",
            "state": "done",
            "amount": "27.00",
            "currency": "USD",
            "holds": False,
        }
    ]


def test_bad_lines_are_errors_in_their_place_and_the_rest_goes_on() -> None:
    answers = ask("{not json", json.dumps({"id": "b"}), json.dumps([1]), json.dumps(GOOD))
    assert [("error" in a, a["id"]) for a in answers] == [(True, None), (True, "b"), (True, None), (False, "a")]


def test_the_command_reads_standard_input_to_its_end() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent.check_reply"],
        input=json.dumps(GOOD) + "\n" + json.dumps(GOOD),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "a"]


def test_processes_share_a_large_block_and_its_order_stays() -> None:
    lines = [json.dumps({**GOOD, "id": str(n)}) if n % 7 else "{not json" for n in range(50)]
    done = subprocess.run(
        [sys.executable, "-m", "agent.check_reply"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [str(n) if n % 7 else None for n in range(50)]
    assert {answer["holds"] for answer in answers if "holds" in answer} == {False}
