"""kill -9 where it hurts: money moves once, every message is answered once, and its stream goes on."""

import asyncio
from typing import Any

from tests.integration.world import until

ASK = "My blender arrived damaged, order {}. Please refund the blender."


async def test_the_toolgateway_dies_after_the_provider_paid_and_before_it_was_written_down(world: Any) -> None:
    customer = await world.customer()
    order, conversation = await world.order(customer, "64.00"), await world.conversation(customer)
    lost = {"target": "payments", "kind": "timeout_after_effect", "times": 1, "delay_ms": 20_000, "order_id": order}
    await world.sandbox("POST", "faults", lost)
    asking = asyncio.create_task(world.say(customer, ASK.format(order), conversation))
    await until(lambda: world.refunds(order), "the money to move")
    world.kill("toolgateway")
    turn = await asking
    assert not [a for a in turn.actions if a["status"] == "succeeded"], turn

    async def settled() -> bool:
        row = await world.row(f"refund:{order}:L1")
        return row is not None and row["status"] == "succeeded"

    await until(settled, "the reconciler to have it finished")
    assert await world.refunds(order) == [("L1", "64.00")]

    async def told() -> bool:
        return "64.00" in (await world.transcript(customer, conversation))[-1]["text"]

    await until(told, "the customer to be told")


async def test_the_agent_dies_in_mid_turn_and_another_goes_on_without_repeating(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, "64.00")
    await world.sandbox("POST", "faults", {"target": "model", "kind": "slow", "times": 3, "delay_ms": 1500})
    asking = asyncio.create_task(world.say(customer, ASK.format(order)))

    async def running() -> bool:
        return bool(await world.sql("select 1 from support.runs where status = 'running'"))

    await until(running, "a worker to hold the run")
    await asyncio.sleep(2)
    for process in ("agent-loop", "agent-loop-2"):
        world.kill(process)
    turn = await asking
    assert await world.refunds(order) == [("L1", "64.00")]
    assert [n for n, _, _ in turn.events] == list(range(1, len(turn.events) + 1))
    assert "64.00" in turn.done["reply"]
    transcript = await world.sql("select count(*) as n from gateway.messages where text = $1", turn.done["reply"])
    assert transcript[0]["n"] == 1


async def test_kafka_dies_in_mid_conversation_and_every_message_is_answered_once(world: Any) -> None:
    """BB-KAF-06."""
    customer = await world.customer()
    order, conversation = await world.order(customer, "64.00"), await world.conversation(customer)
    first = await world.say(customer, f"Where is my order {order}?", conversation)
    asking = asyncio.create_task(world.say(customer, ASK.format(order), conversation))
    await asyncio.sleep(0.05)
    world.kill("kafka")
    turn = await asking
    after = await world.say(customer, f"Where is my order {order}?", conversation)
    assert await world.refunds(order) == [("L1", "64.00")]
    answers = [m["text"] for m in await world.transcript(customer, conversation) if m["from"] == "agent"]
    assert len(answers) == 3, answers
    assert len({first.message_id, turn.message_id, after.message_id}) == 3


async def test_the_gateway_dies_in_mid_stream_and_the_stream_resumes_to_done(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, "64.00")
    await world.sandbox("POST", "faults", {"target": "model", "kind": "slow", "times": 2, "delay_ms": 1500})
    asking = asyncio.create_task(world.say(customer, ASK.format(order)))
    await asyncio.sleep(1.5)
    world.kill("gateway")
    turn = await asking
    assert [n for n, _, _ in turn.events] == list(range(1, len(turn.events) + 1))
    assert await world.refunds(order) == [("L1", "64.00")]
