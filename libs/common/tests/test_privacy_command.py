"""The command line all parts share: what it prints, how it ends, and what it never prints."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from common.errors import Transient
from common.privacy import Subject
from common.privacy.command import UNFINISHED, Unfinished, main


class Part:
    """A part that holds one row of everybody it is asked about."""

    def __init__(self, reasons: list[str] | None = None, trouble: Exception | None = None) -> None:
        self.reasons, self.trouble, self.erased = reasons or [], trouble, list[tuple[Subject, str]]()

    async def find(self, subject: Subject) -> Subject:
        return subject.with_more(Subject(customer_id=subject.customer_id, conversations=frozenset({"conv_1"})))

    async def unfinished(self, _: Subject) -> list[str]:
        return self.reasons

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        yield {"table": "runs", "row": {"id": subject.customer_id, "work": {"assertion": "eyJhbGciOi"}}}

    async def erase(self, subject: Subject, pseudonym: str) -> dict[str, int]:
        if self.trouble:
            raise self.trouble
        if self.reasons:
            raise Unfinished(self.reasons)
        self.erased.append((subject, pseudonym))
        return {"runs": 1}

    def run(self, *argv: str) -> int:
        @asynccontextmanager
        async def opened() -> AsyncIterator["Part"]:
            yield self

        return main("part", opened, list(argv))


def test_what_is_found_is_added_to_what_was_known(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Subject(customer_id="C-1", addresses=frozenset({"a@x.example"}))
    monkeypatch.setattr("sys.stdin", io.StringIO(known.line()))
    assert Part().run("find", "C-1", "--known") == 0
    assert json.loads(capsys.readouterr().out) == {
        "customer_id": "C-1", "addresses": ["a@x.example"], "conversations": ["conv_1"], "keys": [], "orders": [],
    }  # fmt: skip


def test_an_export_is_one_object_a_line_and_holds_no_token(capsys: Any) -> None:
    assert Part().run("export", "C-1") == 0
    line = json.loads(capsys.readouterr().out)
    assert line == {"part": "part", "table": "runs", "row": {"id": "C-1", "work": {"assertion": "[secret]"}}}


def test_an_erasure_is_counted_under_the_name_it_was_given(capsys: Any) -> None:
    part = Part()
    assert part.run("erase", "C-1", "--as", "erased-00000000000000a7") == 0
    assert [(s.conversations, name) for s, name in part.erased] == [(frozenset({"conv_1"}), "erased-00000000000000a7")]
    assert json.loads(capsys.readouterr().out) == {"part": "part", "erased": {"runs": 1}}
    assert part.run("erase", "C-1") == 0
    assert part.erased[1][1].startswith("erased-")
    assert part.run("erase", "C-1", "--as", "C-1") == 2
    assert len(part.erased) == 2, "a name that could lead back to somebody is not taken"
    assert "C-1" not in part.erased[1][1]


@pytest.mark.parametrize("verb", ["check", "erase"])
def test_what_is_unfinished_is_said_and_ends_in_three(capsys: Any, verb: str) -> None:
    part = Part(["1 row is open"])
    assert part.run(verb, "C-1") == UNFINISHED
    assert json.loads(capsys.readouterr().out) == {"part": "part", "unfinished": "1 row is open"}
    assert part.erased == []


def test_a_part_that_is_away_ends_in_one_and_says_to_run_it_again(capsys: Any) -> None:
    assert Part(trouble=Transient("the database is away")).run("erase", "C-1") == 1
    assert "run it again: the database is away" in capsys.readouterr().err


@pytest.mark.parametrize("known", ["{broken", '{"customer_id": "C-2"}', '{"customer_id": "C-1", "more": 1}'])
def test_what_was_known_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch, known: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(known))
    part = Part()
    assert part.run("erase", "C-1", "--known") == 2
    assert part.erased == []


def test_nobody_is_no_customer() -> None:
    assert Part().run("erase", "") == 2
