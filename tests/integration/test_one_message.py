"""The main job: one message, one run, one refund, one stream of events, however often it is sent."""

import asyncio
import secrets
from typing import Any

from tests.integration.world import until

ASK = "My blender arrived damaged, order {}. Please refund the blender."


async def test_a_damaged_blender_is_refunded_once_and_the_screen_says_so_after_the_ledger(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, "64.00")
    turn = await world.say(customer, ASK.format(order))
    row = await world.row(f"refund:{order}:L1")
    assert row is not None
    assert row["status"] == "succeeded", (row, turn)
    assert await world.refunds(order) == [("L1", "64.00")]
    assert [(a["type"], a["status"], a["amount"]) for a in turn.actions] == [("refund", "succeeded", "64.00")]
    assert "64.00" in turn.done["reply"]
    assert turn.events[0][1] == "status"


async def test_the_same_key_fifty_times_at_once_is_one_message_one_run_one_refund_and_the_same_events(
    world: Any,
) -> None:
    customer = await world.customer()
    order, conversation = await world.order(customer, "64.00"), await world.conversation(customer)
    key, text = secrets.token_hex(8), ASK.format(order)
    turns = await asyncio.gather(*(world.say(customer, text, conversation, key) for _ in range(50)))
    assert len({turn.message_id for turn in turns}) == 1
    assert len({str(turn.events) for turn in turns}) == 1
    assert [number for number, _, _ in turns[0].events] == list(range(1, len(turns[0].events) + 1))
    assert await world.refunds(order) == [("L1", "64.00")]
    runs = await world.sql("select count(*) as n from support.runs where conversation_id = $1", conversation)
    stored = "select count(*) as n from gateway.messages where conversation_id = $1 and direction = 'inbound'"
    assert (runs[0]["n"], (await world.sql(stored, conversation))[0]["n"]) == (1, 1)
    async with world.post(customer, conversation, "Something else", key) as other:
        assert other.status == 422


async def test_the_same_refund_asked_twice_in_one_chat_and_in_another_pays_once_and_the_answer_says_what_happened(
    world: Any,
) -> None:
    customer = await world.customer()
    order, conversation = await world.order(customer, "64.00"), await world.conversation(customer)
    await world.say(customer, ASK.format(order), conversation)
    again = await world.say(customer, ASK.format(order), conversation)
    elsewhere = await world.say(customer, ASK.format(order))
    assert await world.refunds(order) == [("L1", "64.00")]
    assert len(await world.sql("select 1 from ledger.actions where order_id = $1", order)) == 1
    for turn in (again, elsewhere):
        assert "64.00" in turn.done["reply"], turn.done


async def test_a_model_that_asks_for_the_same_refund_twice_in_one_turn_pays_once(world: Any) -> None:
    customer = await world.customer()
    order = await world.order(customer, "64.00")
    call = {
        "name": "issue_refund",
        "input": {"order_id": order, "line_id": "L1", "amount": "64.00", "reason": "damaged"},
    }
    await world.script(order, {"tool_use": [call, call]}, {"text": "Your refund of 64.00 USD has been made."})
    turn = await world.say(customer, ASK.format(order))
    assert await world.refunds(order) == [("L1", "64.00")]
    assert len(await world.sql("select 1 from ledger.actions where order_id = $1", order)) == 1
    assert "64.00" in turn.done["reply"]


async def test_where_is_my_order_is_answered_without_any_model_in_four_languages(world: Any) -> None:
    questions = {
        "en": "Where is my order {}?",
        "es": "¿Dónde está mi pedido {}?",
        "fr": "Où est ma commande {} ?",
        "de": "Wo ist meine Bestellung {}?",
    }
    customer = await world.customer()
    order = await world.order(customer, "58.00", status="shipped")
    calls = len(await world.sandbox("GET", "model/calls"))
    for question in questions.values():
        turn = await world.say(customer, question.format(order))
        assert (turn.done["route"], order in turn.done["reply"]) == ("fixed", True), turn.done
    assert len(await world.sandbox("GET", "model/calls")) == calls


async def test_a_policy_question_is_answered_from_an_article_that_is_cited(world: Any) -> None:
    turn = await world.say(await world.customer(), "How long do I have to return something I don't want?")
    assert turn.done["route"] == "rag", turn.done
    assert turn.done["citations"]
    assert "30" in turn.done["reply"]


async def test_a_customer_who_asks_for_a_person_gets_one_with_the_facts_and_the_agent_falls_silent(world: Any) -> None:
    customer = await world.customer()
    conversation = await world.conversation(customer)
    turn = await world.say(customer, "I want to talk to a human being, please", conversation)
    assert (turn.done["handoff"], turn.done["handoff_reason"]) == (True, "asked")

    async def queued() -> Any:
        _, body = await world.staff("GET", "/v1/handoffs")
        return next((h for h in body["items"] if h["conversation_id"] == conversation), None)

    handoff = await until(queued, "the handoff in the queue")
    status, whole = await world.staff("GET", f"/v1/handoffs/{handoff['id']}")
    assert status == 200
    assert set(whole["packet"]) >= {"customer", "language", "reason", "orders", "actions", "next_step", "transcript"}
    assert (await world.staff("POST", f"/v1/handoffs/{handoff['id']}/claim", {}))[0] == 200
    silent = await world.say(customer, "Are you there?", conversation)
    assert (silent.done["route"], silent.done["reply"]) == ("human", "")
    await world.staff("POST", f"/v1/handoffs/{handoff['id']}/reply", {"text": "Dana here, how can I help?"})

    async def told() -> bool:
        return any(m["from"] == "staff" and "Dana" in m["text"] for m in await world.transcript(customer, conversation))

    await until(told, "the person's answer in the transcript")
