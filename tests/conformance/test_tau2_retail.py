"""The retail benchmark's gold actions, replayed through the tool gateway as each of 52 tasks' customer."""

import re
import time
from typing import Any

import pytest

from tests.conformance import retail
from tests.conformance.conftest import Desk

# Look-ups of goods and arithmetic need no tool of ours; who somebody is, is for the login to say.
_NO_TOOL = ("calculate", "get_product_details", "get_item_details", "list_all_product_types", "find_user_id",
            "get_user_details")  # fmt: skip


async def act(desk: Desk, customer: str, name: str, args: dict[str, Any], *verified: str) -> dict[str, Any] | None:
    """Do one gold action by the tool that does it here; None where none is needed."""
    order_id = args.get("order_id")
    match name:
        case "get_order_details":
            return await desk.tool(customer, "get_order", {"order_id": order_id}, *verified)
        case "cancel_pending_order":
            call = "cancel_order", {"order_id": order_id, "reason": args["reason"]}
        case "modify_pending_order_address":
            call = "change_address", {"order_id": order_id, "address": retail.address(args)}
        case "modify_user_address":
            call = "update_account_field", {"field": "address", "value": retail.address(args)}
        case "return_delivered_order_items":
            lines = desk.shop.lines_of(str(order_id), args["item_ids"])
            call = "create_return_label", {"order_id": order_id, "line_ids": lines, "reason": "return"}
        case "transfer_to_human_agents":
            call = "hand_to_person", {"reason": args["summary"][:500]}
        case _:
            assert name.startswith(_NO_TOOL), name
            return None
    return await desk.tool(customer, *call, *verified)


def expected_status(desk: Desk, task: retail.Task, name: str, args: dict[str, Any]) -> str:
    if name == "transfer_to_human_agents":
        return "handoff"
    if name != "get_order_details":
        return "succeeded"
    if not re.fullmatch(retail.ORDER_ID_PATTERN, args["order_id"]):
        return "invalid"
    order = desk.shop.orders.get(args["order_id"])
    return "ok" if order and order["customer_id"] == task.customer else "not_found"


async def state(desk: Desk, customer: str) -> dict[str, Any]:
    """What the store says of a customer and all their orders, money included."""
    orders = {}
    for order_id in desk.shop.orders_of(customer):
        order = await desk.order(order_id)
        labels = sorted(sorted(label["line_ids"]) for label in await desk.about("labels", order_id))
        moved = sorted((r["line_id"], r["amount"]) for r in await desk.about("refunds", order_id))
        orders[order_id] = (order["status"], order["address"], labels, moved)
    return {"address": (await desk.store("GET", f"customers/{customer}"))["address"], "orders": orders}


def wanted(before: retail.Shop, after: retail.Shop, customer: str) -> dict[str, Any]:
    """The same of the copy that the gold actions were applied to; only a cancellation returns money."""
    orders = {}
    for order_id in after.orders_of(customer):
        order, was = after.orders[order_id], before.orders[order_id]["status"]
        cancelled = order["status"] == "cancelled" != was
        moved = sorted((line["line_id"], line["paid"]) for line in order["lines"]) if cancelled else []
        orders[order_id] = (order["status"], order["address"], sorted(after.labels.get(order_id, [])), moved)
    return {"address": after.customers[customer]["address"], "orders": orders}


def all_tasks() -> tuple[retail.Task, ...]:
    return retail.load_tasks(retail.load_shop("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"))


def test_fifty_two_tasks_are_in_scope(shop: retail.Shop) -> None:
    assert len(all_tasks()) == 52
    assert sum(len(round_) for round_ in retail.rounds(all_tasks())) == 52


@pytest.mark.parametrize("number", range(5))
async def test_the_gold_actions_of_every_task_lead_to_the_right_end_state(desk: Desk, number: int) -> None:
    rounds = retail.rounds(all_tasks())
    assert len(rounds) == 5
    started = time.monotonic()
    for task in rounds[number]:
        after = desk.shop.copy()
        after.apply(task)
        for name, args in task.actions:
            answer = await act(desk, task.customer, name, args, "otp")
            if answer is not None:
                assert answer["status"] == expected_status(desk, task, name, args), (task.id, name, args, answer)
        assert await state(desk, task.customer) == wanted(desk.shop, after, task.customer), task.id
    moved = await desk.store("GET", "refunds")
    touched = {order for task in rounds[number] for order in desk.shop.orders_of(task.customer)}
    assert {refund["order_id"] for refund in moved} <= touched, "nobody else's money moved"
    print(f"round {number}: {len(rounds[number])} tasks replayed in {time.monotonic() - started:.1f} s")


async def test_under_a_wrong_login_every_write_of_every_task_is_refused_and_nothing_changes(desk: Desk) -> None:
    tasks, refused = all_tasks(), 0
    stranger = next(name for name in desk.shop.customers if all(task.customer != name for task in tasks))
    customers = {task.customer for task in tasks} | {stranger}
    for task in tasks:
        for name, args in task.actions:
            answer = await act(desk, stranger, name, args)
            if answer is not None and name != "transfer_to_human_agents":
                assert answer["status"] in ("not_found", "invalid", "denied"), (task.id, name, args, answer)
                refused += name != "get_order_details"
    assert refused > 50
    for customer in customers:
        assert await state(desk, customer) == wanted(desk.shop, desk.shop, customer)
    assert await desk.store("GET", "refunds") == []
