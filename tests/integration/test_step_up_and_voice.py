"""A one-time code before an account changes, and a number read back before anything moves by voice: over everything."""

import asyncio
import json
import re
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from common.topics import CHANNEL_INBOUND, REPLIES
from tests.integration.world import until

ASK_CODE = {
    "en": ("Please change my email address to {}.", "Please send me that code."),
    "es": ("Por favor, cambie mi correo electrónico a {}.", "Envíeme ese código, por favor."),
    "fr": ("Veuillez changer mon adresse e-mail en {}.", "Envoyez-moi ce code, s'il vous plaît."),
    "de": ("Bitte ändern Sie meine E-Mail-Adresse auf {}.", "Bitte schicken Sie mir den Code."),
}
SPOKEN = {
    "en": ("My blender arrived broken, order {}. Please refund the blender.", "Yes."),
    "es": ("La batidora llegó rota, pedido {}. Por favor, reembólseme la batidora.", "Sí."),
    "fr": ("Mon mixeur est arrivé cassé, commande {}. Remboursez-moi le mixeur, s'il vous plaît.", "Oui."),
    "de": ("Mein Mixer kam kaputt an, Bestellung {}. Bitte erstatten Sie mir den Mixer.", "Ja."),
}


async def code_sent_to(world: Any, address: str) -> str:
    async def arrived() -> str | None:
        mails = await world.sandbox("GET", f"mail?to={address}")
        return next((m[0] for mail in mails if (m := re.search(r"\b\d{6}\b", mail["text"]))), None)

    return str(await until(arrived, "the code in the customer's mail"))


async def email_of(world: Any, customer: str) -> str:
    return str((await world.sandbox("GET", f"customers/{customer}"))["email"])


@pytest.mark.parametrize("language", list(ASK_CODE))
async def test_an_account_changes_only_after_the_code_that_went_to_the_address_on_file(
    world: Any, language: str
) -> None:
    customer, new = await world.customer(), f"new-{secrets.token_hex(4)}@customers.example"
    old, conversation = await email_of(world, customer), await world.conversation(customer)
    change = {"name": "update_account_field", "input": {"field": "email", "value": new}}
    ask, say_code = ASK_CODE[language]
    await world.script(new, {"tool_use": [change]}, {"text": say_code})
    asked = await world.say(customer, ask.format(new), conversation)
    assert (asked.actions, asked.done["handoff"]) == ([], False), asked
    assert asked.done["reply"] == say_code
    code = await code_sent_to(world, old)
    assert await world.sandbox("GET", f"mail?to={new}") == []

    wrong = f"{(int(code) + 1) % 1_000_000:06d}"
    refused = await world.say(customer, wrong, conversation)
    assert refused.actions == []
    assert await email_of(world, customer) == old
    assert await world.row(f"account_change:{customer}:email:1") is None

    await world.script(new, {"text": say_code})
    released = await world.say(customer, code, conversation)
    assert [(a["type"], a["status"]) for a in released.actions] == [("account_change", "succeeded")], released
    assert await email_of(world, customer) == new
    row = await world.row(f"account_change:{customer}:email:1")
    assert (row["status"], row["attempts"]) == ("succeeded", 1)

    # The code is used up and stands nowhere: not in a message, not in what a model was sent.
    again = await world.say(customer, code, conversation)
    assert again.actions == []
    texts = await world.sql("select text from gateway.messages where conversation_id = $1", conversation)
    assert not [t for t in texts if code in t["text"] and t["text"].strip() != code]
    calls = [c for c in await world.sandbox("GET", "model/calls") if new in json.dumps(c["messages"])]
    assert calls
    assert code not in json.dumps(calls[1:])


async def test_a_model_that_calls_again_without_the_code_changes_nothing(world: Any) -> None:
    customer, new = await world.customer(), f"new-{secrets.token_hex(4)}@customers.example"
    old, conversation = await email_of(world, customer), await world.conversation(customer)
    change = {"name": "update_account_field", "input": {"field": "email", "value": new}}
    lie = {"text": f"Your email address is now {new}."}
    await world.script(new, {"tool_use": [change]}, {"tool_use": [change]}, lie, lie)
    turn = await world.say(customer, f"I have already entered the code. Change my email to {new}.", conversation)
    assert turn.actions == []
    assert await email_of(world, customer) == old
    assert f"is now {new}" not in turn.done["reply"]


class Call:
    """One phone call: what a voice adapter puts on the topic, and what it reads from the other."""

    def __init__(self, world: Any, customer: str, credential: dict[str, str], locale: str) -> None:
        self.world, self.customer, self.credential, self.locale = world, customer, credential, locale
        self.uttered = 0
        self.thread = f"call-{secrets.token_hex(6)}"

    async def speak(self, text: str) -> str:
        """Say something; returns the agent's next words."""
        before = await self.answers()
        await self.utter(text)

        async def answered() -> list[str]:
            return (await self.answers())[len(before) :]

        return str((await until(answered, f"an answer to {text!r}"))[0])

    async def utter(self, text: str) -> None:
        self.uttered += 1
        body = {"channel": "voice", "message_id": secrets.token_hex(6), "credential": self.credential, "text": text,
                "locale": self.locale, "thread_ref": self.thread, "sent_at": datetime.now(UTC).isoformat()}  # fmt: skip
        producer = AIOKafkaProducer(bootstrap_servers=self.world.stack["KAFKA_BOOTSTRAP"])
        await producer.start()
        try:
            topic = self.world.stack.get("TOPIC_PREFIX", "") + CHANNEL_INBOUND.name
            await producer.send_and_wait(topic, json.dumps(body).encode(), key=self.thread.encode())
        finally:
            await producer.stop()

    async def heard_out(self) -> bool:
        """Whether everything that was said has been answered, be it by silence."""
        done = await self.world.sql(
            "select 1 from support.runs r join support.conversations c on c.id = r.conversation_id "
            "where c.customer_id = $1 and r.status = 'done'", self.customer
        )  # fmt: skip
        return len(done) >= self.uttered

    async def answers(self) -> list[str]:
        rows = await self.world.sql(
            "select m.text from support.messages m join support.conversations c on c.id = m.conversation_id "
            "where c.customer_id = $1 and m.sender = 'agent' order by m.id", self.customer
        )  # fmt: skip
        return [row["text"] for row in rows]


@pytest.fixture
def call(world: Any) -> Any:
    def dial(customer: str, locale: str = "en") -> Call:
        return Call(world, customer, {"kind": "session_token", "value": world.token(customer)}, locale)

    return dial


async def refund_script(world: Any, order: str, *after: str) -> None:
    wish = {
        "name": "issue_refund",
        "input": {"order_id": order, "line_id": "L1", "amount": "64.00", "reason": "damaged"},
    }
    look = {"name": "get_order", "input": {"order_id": order}}
    await world.script(order, {"tool_use": [look]}, {"tool_use": [wish]}, *({"text": text} for text in after))


@pytest.mark.parametrize("language", list(SPOKEN))
async def test_by_voice_a_refund_is_read_back_and_runs_after_a_yes(world: Any, call: Any, language: str) -> None:
    customer = await world.customer()
    order, phone = await world.order(customer, "64.00"), call(customer, language)
    wish, yes = SPOKEN[language]
    await refund_script(world, order)
    question = await phone.speak(wish.format(order))
    assert "64.00 USD" in question, question
    assert order in question
    assert question.endswith("?")
    assert await world.refunds(order) == []
    assert await world.row(f"refund:{order}:L1") is None

    answer = await phone.speak(yes)
    assert "64.00" in answer, answer
    row = await world.row(f"refund:{order}:L1")
    assert (row["status"], row["verdict"]) == ("succeeded", "auto"), row
    assert await world.refunds(order) == [("L1", "64.00")]
    assert {e["channel"] for e in await replies_on(world, phone.thread)} == {"voice"}


@pytest.mark.parametrize("no", ["No, wait.", "Yes, but only half of it.", "What did you say?"])
async def test_by_voice_anything_but_a_plain_yes_moves_nothing(world: Any, call: Any, no: str) -> None:
    customer = await world.customer()
    order, phone = await world.order(customer, "64.00"), call(customer)
    await refund_script(world, order)
    await phone.speak(SPOKEN["en"][0].format(order))
    await world.script(order, {"text": "All right. What would you like me to do?"})
    await phone.speak(no)
    assert await world.refunds(order) == []
    # A yes that comes later confirms nothing any more, whoever has the conversation by then.
    await world.script(order, {"text": "What would you like me to do?"})
    await phone.utter("Yes.")
    await until(phone.heard_out, "the yes to be dealt with")
    assert await world.refunds(order) == []
    assert await world.row(f"refund:{order}:L1") is None


async def test_a_caller_known_by_number_alone_gives_the_code_first_and_still_hears_the_number_read_back(
    world: Any,
) -> None:
    number = f"+1555{secrets.randbelow(10**7):07d}"
    customer = await world.customer(phone=number)
    order = await world.order(customer, "64.00")
    phone = Call(world, customer, {"kind": "channel_identity", "value": number}, "en")
    await refund_script(world, order)
    speaking = asyncio.create_task(phone.speak(SPOKEN["en"][0].format(order)))
    code = await code_sent_to(world, await email_of(world, customer))
    assert await phone.answers() == []
    entering = asyncio.create_task(phone.speak(code))
    question = await speaking
    await entering
    assert question.endswith("?")
    assert await world.refunds(order) == []
    assert "64.00" in await phone.speak("Yes.")
    assert await world.refunds(order) == [("L1", "64.00")]


async def replies_on(world: Any, thread: str) -> list[dict[str, Any]]:
    consumer = AIOKafkaConsumer(
        world.stack.get("TOPIC_PREFIX", "") + REPLIES.name, bootstrap_servers=world.stack["KAFKA_BOOTSTRAP"],
        auto_offset_reset="earliest", group_id=None,
    )  # fmt: skip
    await consumer.start()
    try:
        ends, found = await consumer.end_offsets(consumer.assignment()), []
        while any([await consumer.position(p) < end for p, end in ends.items()]):
            for records in (await consumer.getmany(timeout_ms=300)).values():
                # Other tests leave malformed records on the same topic.
                found += [json.loads(r.value) for r in records if r.value and thread.encode() in r.value]
    finally:
        await consumer.stop()
    return [event for event in found if event["thread_ref"] == thread]
