"""Another customer's order reads exactly like a missing one, by whatever way and with whatever statement one asks."""

from typing import Any

import pytest

MISSING = "9999999999"


async def test_through_the_chat(world: Any) -> None:
    owner, thief = await world.customer(), await world.customer()
    order = await world.order(owner, "64.00", status="shipped")
    foreign = await world.say(thief, f"Where is my order {order}?")
    missing = await world.say(thief, f"Where is my order {MISSING}?")
    assert foreign.done["reply"].replace(order, "#") == missing.done["reply"].replace(MISSING, "#")


@pytest.mark.parametrize("tool", ["get_order", "issue_refund", "cancel_order"])
async def test_through_the_tool_api(world: Any, tool: str) -> None:
    owner, thief = await world.customer(), await world.customer()
    order = await world.order(owner, "64.00")

    async def ask(order_id: str) -> Any:
        args = {"order_id": order_id}
        if tool == "issue_refund":
            args |= {"line_id": "L1", "amount": "64.00", "reason": "damaged"}
        if tool == "cancel_order":
            args |= {"reason": "changed my mind"}
        status, body = await world.tool(tool, args, world.assertion(thief))
        return status, str(body).replace(order_id, "#")

    assert await ask(order) == await ask(MISSING)
    assert await world.refunds(order) == []


async def test_with_a_forged_an_expired_a_re_signed_or_no_assertion(world: Any) -> None:
    owner = await world.customer()
    order = await world.order(owner, "64.00")
    good = world.assertion(owner)
    head, body, signature = good.split(".")
    bad = {
        "absent": None,
        "empty": "",
        "forged": f"{head}.{body}.{signature[::-1]}",
        "expired": world.assertion(owner, ttl_s=-60),
        "re-signed by the agent": world.assertion(owner, signer="agent"),
        "re-signed by the store's login": world.assertion(owner, signer="login"),
    }
    answers = set()
    for assertion in bad.values():
        for order_id in (order, MISSING):
            answers.add(str(await world.tool("get_order", {"order_id": order_id}, assertion)))
    assert len(answers) == 1
    assert answers.pop().startswith("(401,")
    assert (await world.tool("get_order", {"order_id": order}, good))[1]["status"] == "ok"


async def test_another_customers_conversation_is_missing(world: Any) -> None:
    owner, thief = await world.customer(), await world.customer()
    conversation = await world.conversation(owner)
    turn = await world.say(owner, "Where is my order?", conversation)
    base = f"{world.stack['GATEWAY_URL']}/v1/conversations"
    headers = {"Authorization": f"Bearer {world.token(thief)}"}
    seen = set()
    for one in (conversation, "conv_none"):
        for path in (f"/{one}", f"/{one}/events", f"/{one}/messages/{turn.message_id}/events"):
            async with world.http.get(base + path, headers=headers) as answer:
                seen.add((answer.status, (await answer.text()).replace(one, "#")))
        async with world.post(thief, one, "hello") as answer:
            seen.add((answer.status, (await answer.text()).replace(one, "#")))
    assert {status for status, _ in seen} == {404}
    assert len(seen) == 1
