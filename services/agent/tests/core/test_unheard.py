"""Whose row a lost write's is, what is remembered of it until the ledger answers, and which changes nobody heard of."""

from typing import Any

import pytest

from agent.core.endings import begin_anew
from agent.core.packet import Case, next_step
from agent.core.state import Memory
from agent.core.unheard import forget_heard, name_lost, note_unheard, row_of_lost, went_unheard

Json = dict[str, Any]
REFUND = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
EMAIL = {"field": "email", "value": "new@example.org"}


def row(key: str, kind: str, status: str = "succeeded", **over: Any) -> Json:
    return {"key": key, "kind": kind, "status": status, "order_id": None, "line_id": None} | over


def refund(status: str = "succeeded", line_id: str = "L2") -> Json:
    return row(f"refund:4417028:{line_id}", "refund", status, order_id="4417028", line_id=line_id)


def memory(*rows: Json) -> Memory:
    return Memory(actions={r["key"]: r for r in rows})


def test_the_row_of_a_lost_refund_is_that_lines_whoever_asked_first() -> None:
    known = memory(refund("pending"))
    fact = note_unheard("refund", REFUND, known)
    assert row_of_lost(fact, [refund("succeeded"), refund("failed", "L3")]) == refund("succeeded")
    assert row_of_lost(fact, [refund("failed", "L3")]) is None


def test_an_earlier_change_of_the_account_says_nothing_of_the_one_that_was_lost() -> None:
    phone, email = (
        row("account_change:C-1:phone:1", "account_change"),
        row("account_change:C-1:email:1", "account_change"),
    )
    fact = note_unheard("account_change", EMAIL, memory(phone))
    assert row_of_lost(fact, [phone]) is None
    assert row_of_lost(fact, [phone, email]) == email


def test_a_change_whose_row_is_known_by_its_key_is_that_row_though_it_is_remembered_already() -> None:
    phone, email = (
        row("account_change:C-1:phone:1", "account_change"),
        row("account_change:C-1:email:1", "account_change", "pending"),
    )
    fact = note_unheard("account_change", EMAIL, memory(phone, email), email["key"])
    assert row_of_lost(fact, [email, phone]) == email


@pytest.mark.parametrize(
    ("status", "is_kept"),
    [("pending", True), ("succeeded", False), ("failed", False), ("rejected", False), ("awaiting_approval", False)],
)
def test_a_lost_write_is_remembered_until_its_row_is_not_open_any_more(status: str, is_kept: bool) -> None:
    known = memory()
    note_unheard("refund", REFUND, known)
    note_unheard("refund", REFUND, known)
    forget_heard(known)
    assert len(known.unheard) == 1
    known.actions["refund:4417028:L2"] = refund(status)
    forget_heard(known)
    assert bool(known.unheard) is is_kept


@pytest.mark.parametrize(
    ("status", "is_kept"),
    [(None, False), ("pending", True), ("succeeded", False), ("failed", False), ("awaiting_approval", False)],
)
def test_what_a_person_saw_and_gave_back_is_not_lost_any_more_unless_its_row_is_open(
    status: str | None, is_kept: bool
) -> None:
    known = memory(*([refund(status)] if status else []))
    note_unheard("refund", REFUND, known)
    begin_anew(known)
    assert bool(known.unheard) is is_kept


@pytest.mark.parametrize(
    ("known_status", "change", "is_unheard"),
    [
        (None, refund(), True),
        ("pending", refund(), True),
        ("succeeded", refund(), False),
        (None, refund(line_id="L3"), False),
        (None, row("cancel:4417028", "cancel", order_id="4417028"), False),
    ],
)
def test_only_what_answers_a_lost_write_and_is_not_known_yet_went_unheard(
    known_status: str | None, change: Json, is_unheard: bool
) -> None:
    known = memory()
    note_unheard("refund", REFUND, known)
    assert went_unheard(known.unheard, known_status, change) is is_unheard
    assert not went_unheard([], known_status, change)


def test_a_person_is_told_which_write_to_look_for() -> None:
    known, case = memory(), Case("policy", "", "en", "refund", "C-1", rows_current=True)
    note_unheard("refund", REFUND, known)
    assert name_lost(known) == "refund:4417028:L2"
    assert next_step(case, known).startswith("Look in the ledger for refund:4417028:L2")
    known.actions["refund:4417028:L2"] = refund("pending")
    assert next_step(case, known).startswith("Wait for refund:4417028:L2")
