"""The tool API as the agent and a hostile model meet it."""

from typing import Any

import pytest


async def test_own_order_is_shown_without_its_note(gateway: Any) -> None:
    answer = await gateway.tool("get_order", {"order_id": "4417028"})
    assert answer["status"] == "ok"
    assert answer["result"]["lines"][1] == {"line_id": "L2", "title": "Blender", "quantity": 1, "paid": "64.00"}
    assert "note" not in answer["result"]
    assert "customer_id" not in answer["result"]


async def test_an_automatic_refund_moves_the_money_once_and_says_so(gateway: Any) -> None:
    answer = await gateway.refund()
    assert answer["status"] == "succeeded"
    assert answer["result"]["key"] == "refund:4417028:L2"
    assert answer["result"]["amount"] == "64.00"
    assert answer["result"]["reference"] == gateway.provider.moved()[0]["refund_id"]
    assert [r["amount_minor"] for r in gateway.provider.moved()] == [6400]
    assert await gateway.history("refund:4417028:L2") == [("pending", "proposed"), ("succeeded", "settled")]


async def test_a_second_ask_reads_the_first_row(gateway: Any) -> None:
    first = await gateway.refund()
    second = await gateway.refund()
    assert second["status"] == "succeeded"
    assert second["result"]["repeated"] is True
    assert second["result"]["reference"] == first["result"]["reference"]
    assert len(gateway.provider.moved()) == 1


async def test_a_row_names_the_message_that_asked_first(gateway: Any) -> None:
    clean = {"guard": "clean", "intent_confidence": 0.95}
    for message in ("msg_1", "msg_2"):
        await gateway.refund(context=clean | {"message_id": message})
    await gateway.refund("L1", "39.00")
    _, found = await gateway.send("GET", "/v1/actions?conversation_id=conv_1")
    assert [(row["line_id"], row["message_id"]) for row in found["items"]] == [("L2", "msg_1"), ("L1", None)]


@pytest.mark.parametrize("amount", ["250.00"])
async def test_a_refund_above_the_limit_waits_for_a_person(gateway: Any, amount: str) -> None:
    answer = await gateway.refund("L3", amount)
    assert answer["status"] == "awaiting_approval"
    assert gateway.provider.moved() == []
    [asked] = await gateway.events("approvals.requested.v1")
    assert (asked["key"], asked["version"], asked["amount"]) == ("refund:4417028:L3", 1, "250.00")
    status, row = await gateway.decide(asked["key"], 1)
    assert (status, row["status"], row["approved_by"]) == (200, "succeeded", "dana")
    assert [r["amount_minor"] for r in gateway.provider.moved()] == [25000]
