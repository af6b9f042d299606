"""Transitions, twins, ceilings, digests, changes and the roll-out, as tables."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import toolgateway
from toolgateway.core.actions import Action
from toolgateway.core.ceilings import Decidable, Person, why_not
from toolgateway.core.changes import (
    CancelFacts,
    Doubts,
    LabelFacts,
    decide_account_change,
    decide_address_change,
    decide_cancel,
    decide_return_label,
)
from toolgateway.core.digests import approval_digest
from toolgateway.core.judgments import AutomaticMoney, Judgment, stricter, tightened_by_switch
from toolgateway.core.money_facts import MoneyFacts, Refunded
from toolgateway.core.policy import Rollout
from toolgateway.core.transitions import MOVES, IllegalMove, check_move
from toolgateway.core.twins import Number, Read, answer_counted, answer_once
from toolgateway.policy import differences, load_policy, packaged_policy

POLICY = load_policy(packaged_policy())
CLEAN = Doubts("clean", 0.9)
NOW = datetime(2026, 11, 29, tzinfo=UTC)


def row(status: str = "succeeded", **over: Any) -> Action:
    values: dict[str, Any] = {
        "key": "refund:4417028:L1", "fact": "refund:4417028:L1", "n": 1, "generation": 1, "kind": "refund",
        "customer_id": "C-1", "conversation_id": None, "order_id": "4417028", "line_id": "L1",
        "amount": Decimal("64.00"),
        "currency": "USD", "minor_units": 6400, "args": {}, "request": "{}", "status": status, "verdict": "auto",
        "policy_version": "2026-11-29.1", "policy_reason": "within_limits", "approved_by": None, "external_ref": None,
        "attempts": 1, "created_at": NOW, "updated_at": NOW, "version": 1, "cause": "settled", "requested_by": "agent",
        "requested_staff": None, "facts": {}, "digest": "d",
    }  # fmt: skip
    return Action(**(values | over))


def test_every_move_outside_the_table_is_an_error() -> None:
    statuses = (None, "pending", "awaiting_approval", "succeeded", "rejected", "failed")
    for before in statuses:
        for after in statuses[1:]:
            for cause in ("proposed", "settled", "decided", "bank_returned", "adopted", "made_up"):
                legal = cause in MOVES.get((before, after), ())  # type: ignore[arg-type]
                if legal:
                    check_move(before, after, cause)  # type: ignore[arg-type]
                else:
                    with pytest.raises(IllegalMove):
                        check_move(before, after, cause)  # type: ignore[arg-type]


def test_nothing_leads_out_of_rejected_and_nothing_back_to_waiting() -> None:
    assert not [move for move in MOVES if move[0] == "rejected"]
    assert [move[0] for move in MOVES if move[1] == "awaiting_approval"] == [None, "awaiting_approval"]


def test_the_database_holds_the_same_table_of_moves() -> None:
    sql = (Path(toolgateway.__file__).parent / "migrations" / "0001_ledger.sql").read_text()
    block = sql[sql.index("insert into legal_moves") : sql.index("create table actions (")]
    assert set(re.findall(r"\('(\w+)', '(\w+)'\)", block)) == {move for move in MOVES if move[0] is not None}


@pytest.mark.parametrize(
    ("status", "same", "more", "by", "expected"),
    [
        ("succeeded", True, True, "agent", "read"),
        ("succeeded", False, True, "agent", "person"),
        ("succeeded", False, False, "agent", "read"),
        ("failed", True, True, "agent", "read"),
        ("failed", False, True, "agent", "person"),
        ("rejected", True, True, "agent", "read"),
        ("pending", True, False, "agent", "read"),
        ("succeeded", True, True, "staff", "read"),
        ("succeeded", False, True, "staff", 2),
        ("failed", True, True, "staff", 2),
        ("rejected", True, True, "staff", 2),
        ("pending", False, True, "staff", "person"),
        ("awaiting_approval", True, True, "staff", "read"),
    ],
)
def test_a_twin_reads_the_winner(status: str, same: bool, more: bool, by: Any, expected: object) -> None:
    answer = answer_once(row(status), same=same, more_possible=more, by=by)
    if isinstance(expected, int):
        assert answer == Number(generation=expected)
    else:
        assert isinstance(answer, Read)
        assert answer.unmet is (expected == "person")


@pytest.mark.parametrize(
    ("status", "same", "by", "expected"),
    [
        ("succeeded", False, "agent", Number(n=2)),
        ("failed", False, "agent", Number(n=2)),
        ("succeeded", True, "agent", None),
        ("failed", True, "agent", None),
        ("failed", True, "staff", Number(n=1, generation=2)),
        ("pending", False, "agent", None),
        ("awaiting_approval", False, "staff", None),
    ],
)
def test_n_rises_only_past_a_final_row_that_differs(status: str, same: bool, by: Any, expected: object) -> None:
    answer = answer_counted(row(status), same=same, by=by)
    assert answer == expected if expected else isinstance(answer, Read)


@pytest.mark.parametrize(
    ("person", "amount", "currency", "allowed"),
    [
        (Person("dana", "viewer"), "1.00", "USD", False),
        (Person("dana", "admin"), "1.00", "USD", False),
        (Person("dana", "approver"), "500.00", "USD", True),
        (Person("dana", "approver"), "500.01", "USD", False),
        (Person("dana", "approver", Decimal("250")), "250.00", "EUR", True),
        (Person("dana", "approver", Decimal("250")), "250.01", "EUR", False),
        (Person("dana", "approver"), "75000", "JPY", True),
        (Person("dana", "approver"), "75001", "JPY", False),
        (Person("dana", "approver", Decimal("100")), "30.000", "KWD", True),
        (Person("dana", "approver", Decimal("100")), "30.001", "KWD", False),
        (Person("dana", "approver"), "1.00", "CHF", False),
        (Person("lee", "lead"), "99999.00", "CHF", True),
    ],
)
def test_ceilings_scale_with_the_currencys_handoff_limit(
    person: Person, amount: str, currency: str, allowed: bool
) -> None:
    reason = why_not(person, Decidable(Decimal(amount), currency, leads_only=False, requested_by=None), POLICY)
    assert (reason is None) is allowed


def test_nobody_decides_their_own_request_and_an_overdue_one_is_a_leads() -> None:
    own = Decidable(Decimal("1.00"), "USD", leads_only=False, requested_by="dana")
    overdue = Decidable(Decimal("1.00"), "USD", leads_only=True, requested_by=None)
    assert why_not(Person("dana", "lead"), own, POLICY)
    assert why_not(Person("dana", "approver"), overdue, POLICY)
    assert why_not(Person("lee", "lead"), overdue, POLICY) is None


def test_bb_appr_03_a_digest_changes_with_anything_it_binds() -> None:
    bound: dict[str, Any] = {
        "key": "refund:1:L1", "generation": 1, "version": 1, "kind": "refund", "customer_id": "C", "currency": "EUR",
        "minor_units": 1000, "args": {"a": "1"}, "policy_version": "v", "facts": {"x": "1"},
    }  # fmt: skip
    changed = [
        {"minor_units": 9000}, {"kind": "cancel"}, {"version": 2}, {"facts": {"x": "2"}}, {"args": {"a": "2"}},
        {"customer_id": "D"}, {"currency": "USD"}, {"policy_version": "w"}, {"key": "refund:1:L2"}, {"generation": 2},
    ]  # fmt: skip
    digests = {approval_digest(**(bound | change)) for change in ({}, *changed)}
    assert len(digests) == len(changed) + 1
    assert approval_digest(**bound) == approval_digest(**dict(reversed(bound.items())))


def test_the_switch_and_the_ceiling_turn_automatic_money_into_approval() -> None:
    auto, money = Judgment("auto", "within_limits"), AutomaticMoney(Decimal(0), Decimal(0), Decimal(100), Decimal(1000))
    assert tightened_by_switch(auto, "on", money, Decimal(100)) == auto
    assert tightened_by_switch(auto, "approval", money, Decimal(1)).verdict == "approval"
    assert tightened_by_switch(auto, "on", money, Decimal("100.01")).reason == "automatic_money_ceiling"
    assert tightened_by_switch(auto, "on", replace(money, this_day=Decimal(950)), Decimal(51)).verdict == "approval"
    assert tightened_by_switch(auto, "on", replace(money, hour_ceiling=None), Decimal(1)).verdict == "approval"
    assert stricter(auto, Judgment("deny", "x")).verdict == "deny"


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        ({}, "auto", "within_rules"),
        ({"amount": Decimal("500.00")}, "auto", "within_rules"),
        ({"amount": Decimal("500.01")}, "approval", "above_handoff_limit"),
        ({"order_status": "shipped"}, "deny", "already_shipped"),
        ({"order_status": "cancelled"}, "deny", "already_cancelled"),
        ({"open_refund": True}, "deny", "order_has_refund"),
        ({"amount": None}, "deny", "refundable_unknown"),
        ({"disputed": True}, "handoff", "dispute_open"),
        ({"currency": "CHF"}, "approval", "currency_without_limits"),
    ],
)
def test_an_order_is_cancelled_before_it_leaves(change: dict[str, Any], verdict: str, reason: str) -> None:
    facts = replace(CancelFacts("USD", "processing", Decimal("50.00"), open_refund=False), **change)
    judged = decide_cancel(facts, CLEAN, POLICY)
    assert (judged.verdict, judged.reason) == (verdict, reason)


def test_the_other_changes_follow_their_rules() -> None:
    fresh = LabelFacts("delivered", NOW - timedelta(days=30), lines_known=True)
    late = replace(fresh, delivered_at=NOW - timedelta(days=30, seconds=1))
    assert decide_return_label(fresh, CLEAN, POLICY, NOW).verdict == "auto"
    assert decide_return_label(late, CLEAN, POLICY, NOW).reason == "return_window_over"
    assert decide_return_label(replace(fresh, lines_known=False), CLEAN, POLICY, NOW).verdict == "deny"
    assert decide_return_label(replace(fresh, order_status="lost"), CLEAN, POLICY, NOW).verdict == "deny"
    assert decide_address_change("processing", CLEAN, POLICY).verdict == "auto"
    assert decide_address_change("shipped", CLEAN, POLICY).verdict == "deny"
    assert decide_address_change("processing", Doubts("flagged", 0.9), POLICY).verdict == "approval"
    assert decide_account_change("email", CLEAN, POLICY, stepped_up=False).reason == "step_up_required"
    assert decide_account_change("email", CLEAN, POLICY, stepped_up=True).verdict == "auto"
    assert decide_account_change("tier", CLEAN, POLICY, stepped_up=True).verdict == "deny"
    assert decide_account_change("email", Doubts(None, None), POLICY, stepped_up=True).verdict == "approval"


def test_a_refund_stands_once_whether_the_provider_lists_it_or_only_we_know() -> None:
    listed = Refunded("refund:4417028:L1", "L1", 6400)
    money = MoneyFacts("USD", 10_000, 6_400, disputed=False, refunds=(listed,))
    assert money.line_refunded("L1", [row()]) == Decimal("64.00")
    assert money.rest([row()]) == Decimal("36.00")
    unlisted = replace(money, refunded_minor=0, refunds=())
    assert unlisted.line_refunded("L1", [row("pending")]) == Decimal("64.00")
    assert unlisted.rest([row("pending")]) == Decimal("36.00")
    assert unlisted.rest([row("failed")]) == Decimal("100.00")
    assert replace(money, disputed=True).rest([]) == 0


def test_a_roll_out_keeps_each_customer_on_one_version() -> None:
    candidate = POLICY.model_copy(update={"version": "2026-12-01.1"})
    rollout = Rollout(current=POLICY, candidate=candidate, percent=5)
    chosen = {f"C-{n}": rollout.policy_for(f"C-{n}").version for n in range(4_000)}
    share = sum(version == "2026-12-01.1" for version in chosen.values()) / len(chosen)
    assert 0.035 < share < 0.065
    assert all(rollout.policy_for(customer).version == version for customer, version in chosen.items())
    assert {version for c in list(chosen)[:50] for version in [Rollout(current=POLICY).policy_for(c).version]} == {
        POLICY.version
    }


def test_a_policy_diff_names_what_changed() -> None:
    refund = POLICY.refund.model_copy(update={"refunds_in_window": 3})
    changed = POLICY.model_copy(update={"version": "2026-12-01.1", "refund": refund})
    assert differences(POLICY, changed) == [
        "refund.refunds_in_window: 2 → 3",
        "version: 2026-11-29.1 → 2026-12-01.1",
    ]
