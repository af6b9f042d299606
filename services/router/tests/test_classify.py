"""The offline handle, run as outside programs run it."""

import json
import subprocess
import sys
from typing import Any

from router.adapters.local import LocalReader
from router.classify import answer_lines
from router.core.intents import INTENTS


def _run(payload: bytes) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "router.classify"], input=payload, capture_output=True, timeout=60, check=True
    )
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_every_line_gets_its_answer_in_order() -> None:
    lines = [
        '{"id":"a","text":"Where is my order 4417028?","unknown":1}',
        "not json",
        '{"id":"c"}',
        '{"id":"d","text":"Ich möchte mit einem Menschen sprechen"}',
        "",
        '{"id":"f","text":"x","history":"no list"}',
        '{"id":7,"text":"\\ud800 hola"}',
        "[1]",
        '{"id":"i","text":"ok","history":[{"from":"us","text":"Shall I?"}]}',
    ]
    answers = _run("\n".join(lines).encode())
    assert [answer.get("id") for answer in answers] == ["a", None, "c", "d", None, "f", 7, None, "i"]
    assert ["error" in answer for answer in answers] == [False, True, True, False, True, True, False, True, False]
    first, person, followed = answers[0], answers[3], answers[8]
    assert first["intent"] == "where_is_my_order"
    assert set(first["probabilities"]) == set(INTENTS)
    assert abs(sum(first["probabilities"].values()) - 1) < 1e-3
    assert first["language"] == "en"
    assert -1 <= first["sentiment"] <= 1
    assert (person["route"], person["language"]) == ("human", "de")
    assert followed["route"] == "agent"


def test_a_partner_that_waits_for_each_answer_gets_it() -> None:
    command = [sys.executable, "-m", "router.classify"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(3):
            process.stdin.write(json.dumps({"id": n, "text": "hola"}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == n
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def test_a_bare_answer_is_read_with_what_was_asked_before(reader: LocalReader) -> None:
    alone = {"id": 1, "text": "4417028"}
    before = [
        {"from": "customer", "text": "where is my parcel, it should be here by now"},
        {"from": "us", "text": "Your order number?"},
    ]
    answers = answer_lines(reader, [json.dumps(alone).encode(), json.dumps(alone | {"history": before}).encode()])
    assert answers[1]["intent"] == "where_is_my_order"
    assert answers[0]["probabilities"]["where_is_my_order"] < answers[1]["probabilities"]["where_is_my_order"]
