"""What the gateway holds of one customer: exported, erased, and neither hook nor topic brings it back."""

import asyncio
import hashlib
import hmac
import json
import re
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from common.events import AccountChanged, Addressee, ReplyEvent
from common.ids import new_id
from common.privacy.command import Unfinished
from common.privacy.subject import Subject
from common.topics import ACCOUNTS_CHANGED, REPLIES
from gateway.privacy import Privacy

pytestmark = pytest.mark.asyncio(loop_scope="module")
TABLES = ("conversations", "messages", "idempotency", "events", "threads", "sources", "codes", "deliveries")
SECRET = b"a hook secret for tests"


class Accounts:
    """The store's accounts, as far as addresses go."""

    def __init__(self, world: Any) -> None:
        self._world = world

    async def addresses_on_file(self, customer_id: str) -> frozenset[str]:
        return frozenset(filter(None, self._world.directory.customers.get(customer_id, {}).values()))


def privacy_of(world: Any, redis: Any = None) -> Privacy:
    return Privacy(world.pool, Accounts(world), redis, world.topic_prefix)


async def whole(world: Any, customer: str) -> tuple[Privacy, Subject]:
    privacy = privacy_of(world)
    return privacy, await privacy.find(Subject(customer_id=customer))


async def erase(world: Any, customer: str) -> dict[str, int]:
    privacy, subject = await whole(world, customer)
    return await privacy.erase(subject, "erased-1")


async def rows_of(world: Any, mark: str = "") -> list[str]:
    """Rows that hold ``mark``; what waits in the outbox is on its way and counted by nobody."""
    rows = [r[0] for table in TABLES for r in await world.pool.fetch(f"select t::text from {table} t")]
    return sorted(row for row in rows if mark in row)


async def everything(world: Any) -> str:
    waiting = await world.pool.fetch("select key || convert_from(payload, 'UTF8') from outbox")
    return str([await rows_of(world), [row[0] for row in waiting]])


async def mail_in(world: Any, text: str, *, sender: str, own: str) -> tuple[int, Any]:
    head = f"From: <{sender}>\r\nTo: help@store\r\nSubject: About {sender}\r\nMessage-ID: {own}\r\n"
    body = f"{head}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n".encode()
    signed = hmac.new(SECRET, b"/v1/inbound/email\n" + body, hashlib.sha256).hexdigest()
    headers = {"X-Hook-Signature": signed}
    status, answer = await world.nobody().call("POST", "/v1/inbound/email", data=body, headers=headers)
    return status, answer


async def chatted(world: Any, customer: str, text: str) -> tuple[str, str]:
    """One message by chat with its answer."""
    conversation = await world.customer(customer).open()
    message = await world.customer(customer).said(conversation, text)
    done = {"message_id": message, "route": "fixed", "handoff": False, "citations": [], "reply": f"re: {text}"}
    await world.reply(conversation, message, [{"event": "done", "data": done}])
    await world.customer(customer).follow(conversation, message)
    return conversation, message


async def mail_to(world: Any, address: str) -> dict[str, str]:
    """The first mail to an address; earlier tests' may still be leaving."""
    count = 1
    while not (found := [m for m in await world.mail.wait_for(count) if m["to"] == address]):
        count = len(world.mail.sent) + 1
    return dict(found[0])


async def test_an_export_holds_all_of_theirs_and_nothing_of_anybody_else(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya, bob = f"C-maya{tag}", f"C-bob{tag}"
    world.directory.add(maya, email=f"maya{tag}@x.example", phone="+15550001")
    await chatted(world, maya, f"maya{tag} asks")
    await chatted(world, bob, f"bob{tag} asks")
    await mail_in(world, f"maya{tag} mails", sender=f"Maya{tag}@x.example", own=f"<m1@{tag}>")
    privacy, subject = await whole(world, maya)
    assert subject.addresses == {f"maya{tag}@x.example", "+15550001"}
    found = [item async for item in privacy.export(subject)]
    text = json.dumps(found)
    assert {i["table"] for i in found} >= {"conversations", "messages", "events", "threads", "sources", "codes"}
    assert f"maya{tag} asks" in text
    assert f"maya{tag} mails" in text, "a mail nobody proved, from the address on file"
    assert f"bob{tag}" not in text


async def test_an_erasure_takes_all_of_theirs_and_what_is_read_of_it_is_missing(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya, bob = f"C-maya{tag}", f"C-bob{tag}"
    world.directory.add(maya, email=f"maya{tag}@x.example")
    conversation, message = await chatted(world, maya, f"maya{tag} asks")
    theirs, _ = await chatted(world, bob, f"bob{tag} asks")
    await mail_in(world, f"maya{tag} mails", sender=f"maya{tag}@x.example", own=f"<m1@{tag}>")
    before = await rows_of(world, f"bob{tag}")
    counts = await erase(world, maya)
    assert (counts["conversations"], counts["events"], counts["sources"], counts["codes"]) == (2, 1, 1, 1)
    assert f"maya{tag}" not in await everything(world)
    assert await rows_of(world, f"bob{tag}") == before
    for path in ("", "/events", f"/messages/{message}/events"):
        status, _ = await world.customer(maya).call("GET", f"/v1/conversations/{conversation}{path}")
        assert status == 404
    assert (await world.customer(maya).post(conversation, "hello?"))[0] == 404
    assert len(await world.customer(bob).transcript(theirs)) == 2
    await chatted(world, maya, "begun anew")
    assert sum((await erase(world, maya)).values()) > 0, "and that can be erased, too"


async def test_a_late_reply_is_dropped_and_is_no_dead_letter(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya = f"C-maya{tag}"
    conversation, message = await chatted(world, maya, "asks")
    await erase(world, maya)
    late = [{"event": "status", "data": {"text": f"late {tag}"}}, {"event": "token", "data": {"text": f"late {tag}"}}]
    await world.reply(conversation, message, late)
    await world.reply(conversation, new_id("msg"), late, proactive=True)
    # One that never was is dead-lettered as ever; under the same key, so all before it was taken by then.
    never = ReplyEvent(
        conversation_id=f"conv_never{tag}", message_id="msg_never", channel="chat", owner_version=0, seq=1,
        event="status", data={"text": "x"},
    )  # fmt: skip
    await world.producer.send(REPLIES, conversation, never, event_id=f"ev{tag}", occurred_at=datetime.now(UTC))
    letters = await world.read(REPLIES.dlq, 1)
    assert {letter["conversation_id"] for letter in letters} == {f"conv_never{tag}"}
    assert f"late {tag}" not in await everything(world)


async def test_what_a_hook_hands_in_again_stays_taken_and_stores_nothing(world: Any) -> None:
    tag = secrets.token_hex(4)
    sender, own = f"maya{tag}@x.example", f"<m1@{tag}>"
    world.directory.add(f"C-maya{tag}", email=sender)
    assert (await mail_in(world, f"maya{tag} mails", sender=sender, own=own))[0] == 202
    await erase(world, f"C-maya{tag}")
    assert await mail_in(world, f"maya{tag} mails", sender=sender, own=own) == (
        200,
        {"conversation_id": "erased", "message_id": "erased"},
    )
    assert f"maya{tag}" not in await everything(world)
    hashed = await world.pool.fetchval("select string_agg(t::text, '') from erased_sources t")
    assert tag not in hashed
    # A new mail begins anew.
    assert (await mail_in(world, "again", sender=sender, own=f"<m2@{tag}>"))[0] == 202


async def test_a_thread_that_somebody_else_has_a_part_in_stays(world: Any) -> None:
    """Two customers share an address at home; who wrote from it proved to be the other one."""
    tag = secrets.token_hex(4)
    maya, bob, sender = f"C-maya{tag}", f"C-bob{tag}", f"home{tag}@x.example"
    world.directory.add(bob, email=sender)
    await mail_in(world, f"bob{tag} mails", sender=sender, own=f"<m1@{tag}>")
    [code] = re.findall(r"\b\d{6}\b", (await mail_to(world, sender))["text"])
    world.directory.add(maya, email=sender)
    _, before = await whole(world, maya)
    assert before.conversations == frozenset(), "the code in it was asked for Bob"
    await mail_in(world, code, sender=sender, own=f"<m2@{tag}>")
    await erase(world, maya)
    assert f"bob{tag} mails" in await everything(world)


async def test_a_notice_to_an_old_address_leaves_before_anything_is_erased(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya, old = f"C-maya{tag}", f"old{tag}@x.example"
    await chatted(world, maya, f"maya{tag} asks")
    event = AccountChanged(
        key=f"account_change:{maya}:email:1", version=2, customer_id=maya, field="email",
        tell=(Addressee(channel="email", address=old),), changed_at="2026-11-29T00:00:00Z",
    )  # fmt: skip
    async with world.pool.acquire() as conn:
        await conn.execute(
            "insert into deliveries (id, channel, address, text, kind, customer_id, next_attempt_at)"
            " values ($1, 'email', $2, 'changed', 'notice', $3, now() + interval '1 hour')",
            f"n{tag}", old, maya,
        )  # fmt: skip
    with pytest.raises(Unfinished, match="notice"):
        await erase(world, maya)
    assert f"maya{tag} asks" in await everything(world)
    await world.pool.execute("update deliveries set state = 'failed' where kind = 'notice'")
    assert (await erase(world, maya))["deliveries"] == 1
    assert old not in await everything(world)
    # The event's own notice is marked as the customer's, so that it can be found at all.
    await world.producer.send(ACCOUNTS_CHANGED, event.key, event, event_id=f"ev{tag}", occurred_at=event.changed_at)
    async with asyncio.timeout(20):
        while not await world.pool.fetchval("select count(*) from deliveries where customer_id = $1", maya):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_another_customers_notice_to_a_shared_address_stays_theirs(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya, bob, home = f"C-maya{tag}", f"C-bob{tag}", f"home{tag}@x.example"
    world.directory.add(maya, email=home)
    for owner in (bob, None):
        await world.pool.execute(
            "insert into deliveries (id, channel, address, text, kind, customer_id, next_attempt_at)"
            " values ($1, 'email', $2, 'changed', 'notice', $3, now() + interval '1 hour')",
            f"n{owner}{tag}", home, owner,
        )  # fmt: skip
    privacy, subject = await whole(world, maya)
    exported = [i["row"]["id"] async for i in privacy.export(subject) if i["table"] == "deliveries"]
    assert exported == [f"nNone{tag}"]
    assert (await privacy.erase(subject, "erased-1"))["deliveries"] == 1
    left = await world.pool.fetch("select id from deliveries where address = $1", home)
    assert [row["id"] for row in left] == [f"n{bob}{tag}"]


async def test_a_message_beside_the_erasure_is_refused_or_erased_with_the_rest(world: Any) -> None:
    tag = secrets.token_hex(4)
    maya = f"C-maya{tag}"
    conversation, _ = await chatted(world, maya, f"maya{tag} asks")

    async def write() -> set[int]:
        return {(await world.customer(maya).post(conversation, f"maya{tag} {n}"))[0] for n in range(30)}

    writing = asyncio.create_task(write())
    await asyncio.sleep(0.1)
    await erase(world, maya)
    assert await writing <= {202, 404}
    assert f"maya{tag}" not in await everything(world)


async def test_the_hint_in_redis_goes_too(world: Any, redis_url: str) -> None:
    redis, maya = Redis.from_url(redis_url), f"C-maya{secrets.token_hex(4)}"
    try:
        key = f"{world.topic_prefix}context:{maya}:active"
        await redis.set(key, "conv_x", ex=60)
        privacy = privacy_of(world, redis)
        subject = Subject(customer_id=maya)
        assert [i async for i in privacy.export(subject)] == [
            {"table": "redis", "row": {"key": key, "value": "conv_x"}}
        ]
        assert (await privacy.erase(subject, "erased-1"))["redis"] == 1
        assert await redis.get(key) is None
    finally:
        await redis.aclose()


async def test_tries_of_the_last_hour_still_count_against_a_guesser(world: Any) -> None:
    maya = f"C-maya{secrets.token_hex(4)}"
    for ago in ("1 minute", "2 hours"):
        await world.pool.execute(
            f"insert into code_tries (bucket, tried_at) values ($1, now() - interval '{ago}')", f"proved:{maya}"
        )
    assert (await erase(world, maya))["code_tries"] == 1
    assert await world.pool.fetchval("select count(*) from code_tries where bucket = $1", f"proved:{maya}") == 1
