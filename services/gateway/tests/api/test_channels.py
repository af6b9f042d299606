"""Other channels: who is believed, what waits for a code, and where the conversation goes on."""

import asyncio
import hashlib
import hmac
import json
import re
from typing import Any

import pytest

from common.errors import OutcomeUnknown, Transient

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = b"a hook secret for tests"


async def hook(world: Any, name: str, body: bytes, *, signature: str | None = None) -> tuple[int, Any]:
    path = f"/v1/inbound/{name}"
    signed = hmac.new(SECRET, path.encode() + b"\n" + body, hashlib.sha256).hexdigest()
    headers = {"X-Hook-Signature": signed if signature is None else signature}
    status, answer = await world.nobody().call("POST", path, data=body, headers=headers)
    return status, answer


def mail(text: str, *, sender: str = "maya@example.com", own: str = "<m1@x>", refs: str = "", more: str = "") -> bytes:
    references = f"References: {refs}\r\nIn-Reply-To: {refs}\r\n" if refs else ""
    head = f"From: Maya <{sender}>\r\nTo: help@store\r\nSubject: My order\r\nMessage-ID: {own}\r\n{references}{more}"
    return f"{head}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n".encode()


def code_in(text: str) -> str:
    [code] = re.findall(r"\b\d{6}\b", text)
    return str(code)


async def test_a_mail_waits_for_its_code_and_then_goes_on_by_itself(world: Any) -> None:
    """BB-AUTH-09."""
    world.directory.add("C-1", email="maya@example.com")
    status, landed = await hook(world, "email", mail("Please refund order 4417028"))
    assert status == 202
    [sent] = await world.mail.wait_for(1)
    assert sent["to"] == "maya@example.com"
    assert await world.pool.fetchval("select count(*) from outbox") == 0

    reply = f"{code_in(sent['text'])}\r\n\r\nOn Mon, Jan 5 Store wrote:\r\n> Your code is 000000"
    status, _ = await hook(world, "email", mail(reply, own="<m2@x>", refs="<m1@x>"))
    assert status == 202
    [event] = await world.published(1)
    assert (event["message_id"], event["text"]) == (landed["message_id"], "Please refund order 4417028")
    assert (event["customer_id"], event["channel"], event["seq"]) == ("C-1", "email", 1)
    session = world.verifier().session(event["assertion"], _now())
    assert (session.verified_by, session.verified_fields) == ("otp", ("otp",))
    texts = [r["text"] for r in await world.pool.fetch("select text from messages order by ordinal")]
    assert texts == ["Please refund order 4417028", "••••••"]


async def test_the_answer_to_a_mail_leaves_once_and_says_that_an_ai_wrote_it(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    await hook(world, "email", mail("Where is it?"))
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    await hook(world, "email", mail(code, own="<m2@x>", refs="<m1@x>"))
    [event] = await world.published(1)
    steps = [
        {"event": "done", "data": {"route": "fixed", "handoff": False, "reply": "It is in Lyon.", "language": "fr"}}
    ]
    for _ in range(2):
        await world.reply(
            event["conversation_id"], event["message_id"], steps, channel="email", thread_ref=event["thread_ref"]
        )
    answer = (await world.mail.wait_for(2))[1]
    assert (answer["to"], answer["channel"], answer["subject"]) == ("maya@example.com", "email", "Re: My order")
    assert answer["text"].startswith("It is in Lyon.")
    assert "assistant IA" in answer["text"]
    row = await world.pool.fetchrow("select state, attempts from deliveries")
    assert (await _settled(world), row["attempts"]) == ("sent", 1)


# In each text the card lies across the 8,000th character.
@pytest.mark.parametrize("before", [7_981, 7_990, 7_998])
@pytest.mark.parametrize("channel", ["email", "whatsapp", "topic"])
async def test_a_card_number_on_the_cut_of_a_long_text_is_masked(world: Any, channel: str, before: int) -> None:
    world.directory.add("C-1", email="maya@example.com", phone="+15550101")
    text = "a" * before + " 4111 1111 1111 1111 " + "and so on, " * 1_000
    if channel == "email":
        assert (await hook(world, "email", mail(text)))[0] == 202
    elif channel == "whatsapp":
        body = json.dumps({"message_id": "w1", "from": "+15550101", "text": text}).encode()
        assert (await hook(world, "whatsapp", body))[0] == 202
    else:
        identity = {"kind": "channel_identity", "value": "+15550101"}
        await world.inbound(channel="voice", thread_ref="call-1", credential=identity, message_id="m1", text=text)
        await world.mail.wait_for(2)
    [row] = await world.pool.fetch("select text from messages where author = 'customer'")
    assert row["text"] == ("a" * before + " [card ••••1111] and so on, ")[:8_000]
    assert "4111 1" not in row["text"]


@pytest.mark.parametrize(
    ("subject", "answered"),
    [
        ("Card 4111 1111 1111 1111 charged", "Re: Card [card ••••1111] charged"),
        ("Card 4111 1111\r\n 1111 1111 charged", "Re: Card [card ••••1111] charged"),
        ("=?utf-8?b?NDExMSAxMTEx?=\r\n =?utf-8?b?IDExMTEgMTExMQ==?=", "Re: [card ••••1111]"),
        ("AW: Mein Passwort lautet geheim77", "Re: Mein Passwort lautet ••••••"),
        ("A" * 290 + " 4111111111111111", "Re: " + "A" * 290 + " [card •••"),
        ("Order 4417028", "Re: Order 4417028"),
    ],
)
async def test_a_secret_in_a_subject_is_neither_stored_nor_sent_back(world: Any, subject: str, answered: str) -> None:
    def mail_of(*args: Any, **more: Any) -> bytes:
        return mail(*args, **more).replace(b"Subject: My order", f"Subject: {subject}".encode())

    world.directory.add("C-1", email="maya@example.com")
    await hook(world, "email", mail_of("It was charged twice"))
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    await hook(world, "email", mail_of(f"{int(code) ^ 1:06d}", own="<m2@x>", refs="<m1@x>"))
    assert (await world.mail.wait_for(2))[1]["subject"] == answered
    for table in ("threads", "deliveries"):
        rows = await world.pool.fetch(f"select subject from {table}")
        assert {row["subject"] for row in rows} == {answered}


async def test_wrong_codes_are_counted_before_they_are_compared(world: Any) -> None:
    """BB-AUTH-05."""
    world.directory.add("C-1", email="maya@example.com")
    await hook(world, "email", mail("Where is it?"))
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    wrong = [f"{n:06d}" for n in range(100, 130) if f"{n:06d}" != code][:20]
    barrier = asyncio.Barrier(len(wrong))

    async def guess(n: int, digits: str) -> None:
        await barrier.wait()
        status, _ = await hook(world, "email", mail(digits, own=f"<g{n}@x>", refs="<m1@x>"))
        assert status == 202

    await asyncio.gather(*(guess(n, digits) for n, digits in enumerate(wrong)))
    assert await world.pool.fetchval("select count(*) from code_tries") == 5
    await hook(world, "email", mail(code, own="<right@x>", refs="<m1@x>"))
    assert await world.pool.fetchval("select count(*) from codes where consumed_at is not null") == 0
    refusals = {r["text"] for r in await world.pool.fetch("select text from messages where author = 'system'")}
    assert len(refusals) == 1
    assert code not in {r["text"] for r in await world.pool.fetch("select text from messages")}


async def test_a_right_code_sent_twice_at_once_counts_once(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    await hook(world, "email", mail("Where is it?"))
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    await asyncio.gather(*(hook(world, "email", mail(code, own=f"<r{n}@x>", refs="<m1@x>")) for n in range(2)))
    await world.published(1)
    rows = await world.pool.fetch("select id from messages where seq is not null and text = 'Where is it?'")
    assert len(rows) == 1
    assert await world.pool.fetchval("select count(*) from codes where consumed_at is not null") == 1


async def test_no_more_than_three_codes_an_hour_are_sent(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    for n in range(5):
        await hook(world, "email", mail("Where is it?", own=f"<t{n}@x>"))
    await world.mail.wait_for(5)
    codes = [m for m in world.mail.sent if re.search(r"\b\d{6}\b", m["text"])]
    assert len(codes) == 3


async def test_strangers_guesses_do_not_lock_the_signed_in_customer(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    await hook(world, "email", mail("Where is it?"))
    await world.mail.wait_for(1)
    for n in range(6):
        await hook(world, "email", mail("000000", own=f"<g{n}@x>", refs="<m1@x>"))
    maya = world.customer("C-1")
    conversation = await maya.open()
    await ask_code(world, conversation)
    sent = await world.mail.wait_for(8)
    message = await maya.said(conversation, code_in(sent[-1]["text"]))
    [event] = await world.published(1)
    assert (event["message_id"], event["resumed_code"], event["text"]) == (message, True, "••••••")


async def ask_code(world: Any, conversation: str, customer: str = "C-1") -> int:
    body = {"conversation_id": conversation, "customer_id": customer, "purpose": "account_change"}
    status, _ = await world.nobody().call("POST", "/v1/internal/codes", json=body, headers=world.service())
    return int(status)


async def test_in_chat_a_right_code_is_step_up_and_a_wrong_one_is_answered_at_once(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    maya = world.customer("C-1")
    conversation = await maya.open()
    assert await ask_code(world, conversation) == 202
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    wrong = await maya.said(conversation, "000000" if code != "000000" else "000001", "w")
    assert wrong == await maya.said(conversation, "000000" if code != "000000" else "000001", "w")
    events = await maya.follow(conversation, wrong)
    assert [e.event for e in events] == ["status", "token", "done"]
    assert events[-1].data["route"] == "fixed"
    assert await world.pool.fetchval("select count(*) from code_tries") == 1

    await maya.said(conversation, f" {code} ")
    [event] = await world.published(1)
    session = world.verifier().session(event["assertion"], _now())
    assert session.verified_fields == ("login", "otp")
    assert (event["resumed_code"], event["seq"]) == (True, 1)


async def test_six_digits_without_an_outstanding_code_are_a_message(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    await maya.said(conversation, "441702")
    [event] = await world.published(1)
    assert (event["text"], event["resumed_code"]) == ("441702", False)


async def test_a_code_goes_only_to_services_and_only_for_the_conversations_own_customer(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    conversation = await world.customer("C-1").open()
    assert await ask_code(world, conversation, "C-2") == 404
    body = {"conversation_id": conversation, "customer_id": "C-1", "purpose": "x"}
    assert (await world.customer("C-1").call("POST", "/v1/internal/codes", json=body))[0] == 401


async def test_a_signed_whatsapp_message_is_its_phones_customer_and_carries_the_chat_on(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com", phone="+15550100")
    conversation = await world.customer("C-1").open()
    body = json.dumps(
        {"message_id": "wa-1", "from": "+15550100", "text": "and the blender?", "sent_at": "now"}
    ).encode()
    first = await hook(world, "whatsapp", body)
    again = await hook(world, "whatsapp", body)
    assert (first[0], again[0]) == (202, 200)
    assert first[1] == again[1]
    [event] = await world.published(1)
    assert (event["conversation_id"], event["channel"]) == (conversation, "whatsapp")
    assert world.verifier().session(event["assertion"], _now()).verified_by == "whatsapp_hook"
    assert await world.pool.fetchval("select count(*) from messages") == 1


async def test_an_unknown_phone_gets_no_session(world: Any) -> None:
    body = json.dumps({"message_id": "wa-1", "from": "+15559999", "text": "refund 4417028", "sent_at": "now"}).encode()
    await hook(world, "whatsapp", body)
    [event] = await world.published(1)
    assert (event["assertion"], event["customer_id"], event["visitor"]) == (None, None, True)


async def test_a_signature_for_another_path_or_body_is_refused(world: Any) -> None:
    body = mail("hello")
    other = hmac.new(SECRET, b"/v1/inbound/whatsapp\n" + body, hashlib.sha256).hexdigest()
    bare = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    for signature in ("", "zz", other, bare, "0" * 64, "é" * 64):
        raw = signature.encode().decode("latin-1")
        assert (await hook(world, "email", body, signature=raw))[0] == 401
    assert await world.pool.fetchval("select count(*) from messages") == 0


BAD_WEBHOOKS = (
    (b"{", 400),
    (b"[]", 422),
    (b"{}", 422),
    (b'{"message_id":1,"from":"+1","text":"x"}', 422),
    (b'{"message_id":"a","from":"+1555","text":""}', 422),
    (b'{"message_id":"a","from":"\\u0000","text":"x"}', 422),
)
BAD_MAILS = (b"", b"\x00\xff", b"From: x", b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n" * 300)


async def test_bad_webhooks_are_told_what_is_wrong(world: Any) -> None:
    for body, expected in BAD_WEBHOOKS:
        assert (await hook(world, "whatsapp", body))[0] == expected, body


async def test_bad_mails_never_fail_on_our_side(world: Any) -> None:
    for raw in BAD_MAILS:
        assert (await hook(world, "email", raw))[0] in (202, 400, 422), raw[:40]


async def test_a_token_on_the_topic_is_a_login_and_a_bad_one_is_dead_lettered(world: Any) -> None:
    conversation = await world.customer("C-1").open()
    common = {"channel": "email", "thread_ref": "t-1", "text": "any news?"}
    token = {"kind": "session_token", "value": "customer:C-1"}
    await world.inbound(**common, message_id="m1", credential=token)
    await world.inbound(**common, message_id="m1", credential=token)
    await world.inbound(**common, message_id="m2", credential={"kind": "session_token", "value": "forged"})
    [event] = await world.published(1)
    assert (event["conversation_id"], event["customer_id"], event["thread_ref"]) == (conversation, "C-1", "t-1")
    [dead] = await world.read("channel.inbound.v1.dlq", 1)
    assert dead["message_id"] == "m2"
    assert await world.pool.fetchval("select count(*) from messages") == 1


async def test_a_bare_identity_on_the_topic_needs_the_code_first(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com", phone="+15550100")
    common = {
        "channel": "voice",
        "thread_ref": "call-1",
        "credential": {"kind": "channel_identity", "value": "+15550100"},
    }
    await world.inbound(**common, message_id="m1", text="cancel order 4417029")
    sent = await world.mail.wait_for(2)
    [code_mail] = [m for m in sent if m["channel"] == "email"]
    assert code_mail["to"] == "maya@example.com"
    await world.inbound(**common, message_id="m2", text=code_in(code_mail["text"]))
    [event] = await world.published(1)
    assert (event["text"], event["channel"], event["customer_id"]) == ("cancel order 4417029", "voice", "C-1")
    assert event["thread_ref"] == "call-1"


async def test_a_proved_thread_is_taken_into_the_customers_active_conversation(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com")
    conversation = await world.customer("C-1").open()
    await hook(world, "email", mail("Please refund order 4417028"))
    code = code_in((await world.mail.wait_for(1))[0]["text"])
    await hook(world, "email", mail(code, own="<m2@x>", refs="<m1@x>"))
    [event] = await world.published(1)
    assert event["conversation_id"] == conversation
    await hook(world, "email", mail("And another thing", own="<m3@x>", refs="<m1@x>"))
    second = (await world.published(2))[1]
    assert (second["conversation_id"], second["text"]) == (conversation, "And another thing")


async def test_a_lookalike_address_is_a_stranger(world: Any) -> None:
    world.directory.add("C-1", email="quick@example.com")
    await hook(world, "email", mail("refund 4417028", sender="quic\u212a@example.com"))
    [event] = await world.published(1)
    assert event["assertion"] is None
    assert world.mail.sent == []


async def test_an_out_of_office_note_starts_nothing(world: Any) -> None:
    status, body = await hook(world, "email", mail("I am away", more="Auto-Submitted: auto-replied\r\n"))
    assert (status, body) == (202, {"ignored": "automatic"})
    assert await world.pool.fetchval("select count(*) from messages") == 0


async def test_a_session_is_renewed_while_the_login_holds_and_not_after(world: Any) -> None:
    for holds_s, expected in ((3_600, 200), (1.0, 410)):
        maya = world.customer("C-1", holds_s)
        conversation = await maya.open()
        await maya.said(conversation, "hello")
        assertion = (await world.published(1 if expected == 200 else 2))[-1]["assertion"]
        if expected == 410:
            await world.pool.execute("update conversations set session_until = now() - interval '1 second'")
        status, body = await world.nobody().call(
            "POST", "/v1/internal/assertions/renew", json={"assertion": assertion}, headers=world.service()
        )
        assert status == expected
        if expected == 200:
            assert world.verifier().session(body["assertion"], _now()).conversation_id == conversation
    forged = await world.nobody().call(
        "POST", "/v1/internal/assertions/renew", json={"assertion": "a.b.c"}, headers=world.service()
    )
    assert forged[0] == 410


async def test_flushed_contexts_are_found_again_in_the_database(world: Any) -> None:
    world.directory.add("C-1", email="maya@example.com", phone="+15550100")
    conversation = await world.customer("C-1").open()
    await world.gateway.redis.delete(f"{world.topic_prefix}context:C-1:active")
    body = json.dumps({"message_id": "wa-1", "from": "+15550100", "text": "hi"}).encode()
    assert (await hook(world, "whatsapp", body))[1]["conversation_id"] == conversation


async def _settled(world: Any) -> str:
    async with asyncio.timeout(10):
        while True:
            state: str = await world.pool.fetchval("select state from deliveries")
            if state not in ("waiting", "sending"):
                return state
            await asyncio.sleep(0.02)


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


async def test_mail_that_was_refused_goes_again_and_mail_of_unknown_fate_does_not(world: Any) -> None:
    for n, trouble in enumerate((Transient("refused"), OutcomeUnknown("lost"))):
        body = json.dumps({"message_id": f"wa-{n}", "from": f"+1555000{n}", "text": "hours?"}).encode()
        _, landed = await hook(world, "whatsapp", body)
        world.mail.trouble.append(trouble)
        done = [{"event": "done", "data": {"route": "rag", "handoff": False, "reply": "From nine."}}]
        await world.reply(
            landed["conversation_id"], landed["message_id"], done, channel="whatsapp", thread_ref=f"+1555000{n}"
        )
        if n == 0:
            assert (await world.mail.wait_for(1))[0]["to"] == "+15550000"
    async with asyncio.timeout(20):
        states: list[str] = []
        while states != ["sent", "unknown"]:
            await asyncio.sleep(0.05)
            states = [r["state"] for r in await world.pool.fetch("select state from deliveries order by created_at")]
    assert len(world.mail.sent) == 1
