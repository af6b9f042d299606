"""The tour's bookkeeping sees money that moved twice, never, wrongly, or behind the ledger's back."""

from decimal import Decimal
from typing import Any

import pytest

from stack.demo.promises import Promises, disagreements


def row(status: str = "succeeded", amount: str = "64.00") -> dict[str, Any]:
    return {
        "key": "refund:1000001:L1",
        "kind": "refund",
        "order_id": "1000001",
        "line_id": "L1",
        "status": status,
        "amount": Decimal(amount),
    }


def refund(amount: str = "64.00", line_id: str = "L1") -> dict[str, Any]:
    return {"order_id": "1000001", "line_id": line_id, "amount": amount}


def test_a_paid_row_and_its_one_refund_agree() -> None:
    assert disagreements([row()], [refund()]) == []


def test_a_waiting_row_without_money_agrees() -> None:
    assert disagreements([row("awaiting_approval")], []) == []


@pytest.mark.parametrize(
    ("rows", "refunds", "says"),
    [
        ([row()], [refund(), refund()], "moved money 2 times"),
        ([row()], [], "moved money 0 times"),
        ([row("awaiting_approval")], [refund()], "moved money 1 times"),
        ([row("failed")], [refund()], "moved money 1 times"),
        ([row(amount="64.00")], [refund("46.00")], "but the provider moved 46.00"),
        ([row()], [refund(), refund(line_id="L2")], "the ledger doesn't know"),
        ([], [refund()], "the ledger doesn't know"),
    ],
)
def test_what_does_not_add_up_is_named(rows: list[dict[str, Any]], refunds: list[dict[str, Any]], says: str) -> None:
    found = disagreements(rows, refunds)
    assert len(found) == 1
    assert says in found[0]


def test_a_broken_promise_is_remembered_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    promises = Promises()
    promises.hold("kept", kept=True, seen=1)
    promises.hold("not kept", kept=False, seen=2)
    assert (promises.kept, promises.broken) == (1, ["not kept"])
    assert "BROKEN: not kept (2)" in capsys.readouterr().out
