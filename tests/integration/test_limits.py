"""The bands of the policy, at their edges and under a crowd."""

import asyncio
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.world import until


@pytest.mark.parametrize(
    ("amount", "status"),
    [
        ("100.00", "succeeded"),
        ("100.01", "awaiting_approval"),
        ("500.00", "awaiting_approval"),
        ("500.01", "handoff"),
        ("600.01", "denied"),
    ],
)
async def test_each_band_of_amounts_gets_its_verdict(world: Any, amount: str, status: str) -> None:
    customer = await world.customer()
    order = await world.order(customer, "600.00")
    body = await world.refund(customer, order, "L1", amount)
    assert body["status"] == status, body
    assert await world.refunds(order) == ([("L1", amount)] if status == "succeeded" else [])


async def test_ten_lines_at_once_pay_two_and_queue_eight(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, *["20.00"] * 10)
    answers = await asyncio.gather(*(world.refund(customer, order, f"L{n}", "20.00") for n in range(1, 11)))
    assert Counter(a["status"] for a in answers) == {"succeeded": 2, "awaiting_approval": 8}
    assert len(await world.refunds(order)) == 2


async def test_an_approved_row_pays_once_however_many_decide_and_the_customer_is_told(world: Any) -> None:
    customer = await world.customer()
    order, conversation = await world.order(customer, "250.00"), await world.conversation(customer)
    turn = await world.say(
        customer, f"My blender arrived damaged, order {order}. Please refund the 250.00.", conversation
    )
    assert [a["status"] for a in turn.actions] == ["awaiting_approval"], turn
    assert await world.refunds(order) == []
    key = quote(f"refund:{order}:L1", safe="")
    _, item = await world.staff("GET", f"/v1/approvals/{key}")
    match = {"If-Match": f'"{item["version"]}"'}
    decisions = await asyncio.gather(
        *(
            world.staff("POST", f"/v1/approvals/{key}/decision", {"decision": "approve", "note": "ok"}, **match)
            for _ in range(5)
        )
    )
    assert sorted(status for status, _ in decisions) == [200, 409, 409, 409, 409]

    async def told() -> bool:
        return any(
            "250.00" in m["text"] and m["from"] == "agent" for m in (await world.transcript(customer, conversation))[2:]
        )

    await until(told, "the outcome reached the customer")
    assert await world.refunds(order) == [("L1", "250.00")]
    row = await world.row(f"refund:{order}:L1")
    assert (row["status"], row["approved_by"]) == ("succeeded", "dana")


async def test_an_approver_decides_up_to_their_ceiling_and_a_viewer_nothing(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, "400.00")
    await world.refund(customer, order, "L1", "400.00")
    path = f"/v1/approvals/{quote(f'refund:{order}:L1', safe='')}"
    _, item = await world.staff("GET", path)
    version = {"If-Match": f'"{item["version"]}"'}
    approve = {"decision": "approve", "note": ""}
    assert (await world.staff("POST", f"{path}/decision", approve, role="viewer", staff="vic", **version))[0] == 403
    assert (await world.staff("POST", f"{path}/decision", approve))[0] == 428
    assert await world.refunds(order) == []
    assert (await world.staff("POST", f"{path}/decision", {"decision": "reject", "note": "no"}, **version))[0] == 200
    assert (await world.row(f"refund:{order}:L1"))["status"] == "rejected"
    assert await world.refunds(order) == []
