"""Export and erasure of one customer over the whole product, beside another customer who must notice nothing."""

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import subprocess
import sys
from collections.abc import Iterable
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient
from redis.asyncio import Redis

from common import topics
from stack.privacy import erase_customer, export_customer
from tests.integration.world import until

ASK = "My blender arrived damaged, order {}. Please refund the blender."


class Person:
    """A customer with a full history; ``marks`` are strings that stand nowhere but in what is theirs."""

    def __init__(self, world: Any, name: str) -> None:
        self.world, self.tag = world, f"{name}{secrets.token_hex(4)}"
        self.email, self.new_email = f"{self.tag}.old@mail.example", f"{self.tag}.new@mail.example"
        self.phone = f"+1503{secrets.randbelow(10**7):07d}"
        self.street = f"{self.tag} Street 1"
        self.said, self.noted = f"It was a gift of aunt {self.tag}.", f"note about {self.tag}"
        self.id = self.order = self.big_order = self.chat = ""

    @property
    def marks(self) -> list[str]:
        # Every other string of theirs holds the tag.
        return [self.tag, self.phone]

    async def live(self) -> None:
        """Chat, refund, approval, a denied wish, an email change, a handoff, an email thread, a dead letter."""
        world, address = self.world, {"line1": self.street, "city": "Bonn", "postal_code": "53111", "country": "DE"}
        self.id = await world.customer(name=self.tag.title() + " " + self.tag, email=self.email, phone=self.phone)
        more = {"address": address, "note": self.noted}
        self.order = await world.order(self.id, "64.00", **more)
        self.big_order = await world.order(self.id, "250.00", **more)
        self.chat = await world.conversation(self.id)
        await world.say(self.id, ASK.format(self.order), self.chat)
        assert await world.refunds(self.order) == [("L1", "64.00")]
        await self.have_approved()
        wish = {"order_id": self.order, "address": address | {"line1": f"{self.tag} Lane 9"}}
        assert (await world.tool("change_address", wish, self.assertion()))[1]["status"] == "denied"
        await self.change_email()
        await self.talk_to_a_person()
        await self.write_an_email()
        await self.leave_a_dead_letter()

    def assertion(self) -> str:
        return str(self.world.assertion(self.id, stepped_up=True))

    async def have_approved(self) -> None:
        wish = await self.world.refund(self.id, self.big_order, "L1", "250.00")
        assert wish["status"] == "awaiting_approval"
        key = f"refund:{self.big_order}:L1"
        row = await self.world.row(key)
        body, version = {"decision": "approve", "note": self.noted}, {"If-Match": str(row["version"])}
        status, _ = await self.world.staff("POST", f"/v1/approvals/{quote(key, safe='')}/decision", body, **version)
        assert status == 200

        async def paid() -> bool:
            return bool((await self.world.row(key))["status"] == "succeeded")

        await until(paid, "the approved refund")

    async def change_email(self) -> None:
        await self.world.say(self.id, f"Please change my email to {self.new_email}", self.chat)
        await self.world.say(self.id, await self.code(self.email, 1), self.chat)
        assert (await self.world.sandbox("GET", f"customers/{self.id}"))["email"] == self.new_email

        async def told() -> bool:
            return len(await self.mails(self.email)) > 1

        await until(told, "the notice to the old address")

    async def talk_to_a_person(self) -> None:
        await self.world.say(self.id, f"I want to talk to a person. {self.said}", self.chat)

        async def handed_over() -> Any:
            _, found = await self.world.staff("GET", "/v1/handoffs?status=waiting")
            return next((h["id"] for h in found["items"] if h["conversation_id"] == self.chat), None)

        handoff = await until(handed_over, "the handoff")
        for move, body in (("claim", {}), ("reply", {"text": f"Dear {self.noted}"}), ("close", {})):
            status, answer = await self.world.staff("POST", f"/v1/handoffs/{handoff}/{move}", body)
            assert status == 200, answer

    async def write_an_email(self) -> None:
        await self.mail_in(f"Where is my order {self.order}? {self.said}")
        code = await self.code(self.new_email, 1)
        await self.mail_in(code)

        async def answered() -> bool:
            return len(await self.mails(self.new_email)) > 1

        await until(answered, "the answer by mail")

    async def mail_in(self, text: str) -> None:
        mail = EmailMessage()
        mail["From"], mail["To"] = f"{self.tag.title()} <{self.new_email}>", "help@store.example"
        mail["Subject"], mail["Message-ID"] = f"Question of {self.tag}", f"<{secrets.token_hex(8)}@{self.tag}.example>"
        mail["References"] = f"<thread@{self.tag}.example>"
        mail.set_content(text)
        raw, path = mail.as_bytes(), "/v1/inbound/email"
        mac = hmac.new(self.world.stack["HOOK_SECRET"].encode(), path.encode() + b"\n" + raw, hashlib.sha256)
        url, headers = self.world.stack["GATEWAY_URL"] + path, {"X-Hook-Signature": mac.hexdigest()}
        async with self.world.http.post(url, data=raw, headers=headers) as answer:
            assert answer.status == 202, await answer.text()

    async def leave_a_dead_letter(self) -> None:
        broken = json.dumps({"conversation_id": self.chat, "text": self.said}).encode()
        await send(self.world, [(topics.MESSAGES.name, self.chat.encode(), broken)])

        async def buried() -> bool:
            return any(self.tag.encode() in (r.value or b"") for r in await held(self.world, topics.MESSAGES.dlq))

        await until(buried, "the dead letter")

    async def mails(self, to: str) -> list[dict[str, Any]]:
        return list(await self.world.sandbox("GET", f"mail?to={quote(to, safe='')}"))

    async def code(self, to: str, nth: int) -> str:
        async def sent() -> str | None:
            codes = [found.group() for m in await self.mails(to) if (found := re.search(r"\b\d{6}\b", m["text"]))]
            return codes[nth - 1] if len(codes) >= nth else None

        return str(await until(sent, "a one-time code"))


# ---- looking everywhere, by nothing of the product's own ----
async def every_row(world: Any) -> dict[str, list[str]]:
    """Every table of every schema, each row as text."""
    connection = await asyncpg.connect(world.stack["DATABASE_URL"])
    try:
        tables = await connection.fetch(
            "select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n"
            " on n.oid = c.relnamespace where c.relkind = 'r'"
            " and n.nspname in ('gateway', 'support', 'ledger', 'approvals')"
        )
        names = [row["name"] for row in tables]
        # bytea is shown as hex by JSON: what an outbox row carries has to be read as what it is.
        rows = {name: [r[0] for r in await connection.fetch(f"select t::text from {name} t")] for name in names}
        for name in names:
            if name.endswith(".outbox"):
                rows[name] += [
                    r[0] for r in await connection.fetch(f"select convert_from(payload, 'UTF8') from {name}")
                ]
        return rows
    finally:
        await connection.close()


async def held(world: Any, name: str) -> list[ConsumerRecord]:
    consumer = AIOKafkaConsumer(name, bootstrap_servers=world.stack["KAFKA_BOOTSTRAP"], auto_offset_reset="earliest")
    await consumer.start()
    try:
        parts = consumer.assignment()
        begins, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
        found: list[ConsumerRecord] = []
        while [p for p in parts if begins[p] < ends[p] and await consumer.position(p) < ends[p]]:
            for records in (await consumer.getmany(timeout_ms=2_000)).values():
                found += records
        return found
    finally:
        await consumer.stop()


async def send(world: Any, records: Iterable[tuple[str, bytes | None, bytes | None]]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=world.stack["KAFKA_BOOTSTRAP"])
    await producer.start()
    try:
        for name, key, value in records:
            await producer.send_and_wait(
                name, value=value, key=key, headers=[("event_id", secrets.token_bytes(8).hex().encode())]
            )
    finally:
        await producer.stop()


async def redis_text(world: Any) -> str:
    redis = Redis.from_url(world.stack["REDIS_URL"])
    try:
        found = []
        async for key in redis.scan_iter(count=1_000):
            kind = await redis.type(key)
            value = (
                await redis.get(key)
                if kind == b"string"
                else await redis.zrange(key, 0, -1)
                if kind == b"zset"
                else b""
            )
            found.append(f"{key!r} {value!r}")
        return "\n".join(found)
    finally:
        await redis.aclose()


async def groups_read_all(world: Any) -> None:
    """Wait until every consumer group has read every topic to its end."""
    admin = AIOKafkaAdminClient(bootstrap_servers=world.stack["KAFKA_BOOTSTRAP"])
    consumer = AIOKafkaConsumer(bootstrap_servers=world.stack["KAFKA_BOOTSTRAP"])
    await admin.start()
    await consumer.start()

    async def read() -> bool:
        groups = [g for g, _ in await admin.list_consumer_groups() if not g.startswith("dlq-replay")]
        for group in groups:
            offsets = await admin.list_consumer_group_offsets(group)
            ends = await consumer.end_offsets(list(offsets)) if offsets else {}
            if any(0 <= at.offset < ends[part] for part, at in offsets.items()):
                return False
        return True

    try:
        await until(read, "the groups to read all")
    finally:
        await consumer.stop()
        await admin.close()


def found_in(rows: dict[str, list[str]], marks: list[str]) -> dict[str, list[str]]:
    hits = {name: [row for row in lines if any(mark in row for mark in marks)] for name, lines in rows.items()}
    return {name: lines for name, lines in hits.items() if lines}


def audit(run: Path) -> list[str]:
    """The audit's offenders; other tests of this stack may have left some."""
    command = [sys.executable, "-m", "toolgateway.audit", str(run / "stack.env")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("     ")]


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_customer_is_exported_whole_and_erased_without_trace_and_nobody_else(
    world: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(world.stack["PIDS_DIR"]).parent
    ada, bob = Person(world, "zelda"), Person(world, "quincy")
    await asyncio.gather(ada.live(), bob.live())

    # The export: everything of hers, nothing of his, no token that opens anything.
    await asyncio.to_thread(export_customer, run, ada.id)
    exported = capsys.readouterr().out
    lines = [json.loads(line) for line in exported.splitlines()]
    tables = {f"{line['part']}.{line['table']}" for line in lines}
    assert tables >= {
        "gateway.conversations", "gateway.messages", "gateway.events", "gateway.threads", "gateway.codes",
        "gateway.deliveries", "gateway.sources", "gateway.redis", "agent.conversations", "agent.messages",
        "agent.runs", "agent.handoffs", "approvals.requests", "approvals.handoffs", "approvals.staff_messages",
        "toolgateway.actions", "toolgateway.actions_history", "toolgateway.audit", "common.support.messages.v1",
        "common.support.messages.v1.dlq", "common.support.replies.v1", "common.ledger.actions.v1",
        "common.accounts.changed.v1",
    }  # fmt: skip
    for theirs in (ada.said, ada.noted, ada.street, ada.email, ada.new_email, ada.order, ada.big_order):
        assert theirs in exported, theirs
    for other in (*bob.marks, bob.id, bob.order, bob.chat):
        assert other not in exported, other
    assert "eyJ" not in exported
    assert found_in(await every_row(world), ada.marks).keys() >= {
        "gateway.messages",
        "ledger.actions",
        "support.conversations",
    }

    before, letters = await every_row(world), await held(world, topics.MESSAGES.dlq)
    broken = audit(run)
    old = {
        name: await held(world, name)
        for name in (topics.REPLIES.name, topics.HANDOFFS.name, *(t.name for t in topics.ALL if "work" in t.name))
    }
    hers = [
        (name, r.key, r.value)
        for name, records in old.items()
        for r in records
        if ada.chat.encode() in (r.value or b"")
    ]
    assert {name for name, *_ in hers} > {topics.REPLIES.name, topics.HANDOFFS.name}
    requested = [
        (topics.APPROVALS_REQUESTED.name, r.key, r.value)
        for r in await held(world, topics.APPROVALS_REQUESTED.name)
        if r.key == f"refund:{ada.big_order}:L1".encode()
    ]
    assert requested

    # The erasure: none of her strings in any table, letter or cache.
    assert await asyncio.to_thread(erase_customer, run, ada.id), capsys.readouterr().out
    report = capsys.readouterr().out
    assert "complete after" in report
    assert not any(mark in report for mark in (*ada.marks, ada.id))
    await no_trace(world, ada)

    # Nobody else noticed.
    after = await every_row(world)
    assert found_in(after, bob.marks) == found_in(before, bob.marks)
    his = [(r.key, r.value) for r in letters if bob.tag.encode() in (r.value or b"")]
    assert his
    assert [
        (r.key, r.value) for r in await held(world, topics.MESSAGES.dlq) if bob.tag.encode() in (r.value or b"")
    ] == his

    # The books are as clean as they were, and the same refund moves nothing, in a conversation begun anew.
    assert set(audit(run)) <= set(broken)
    async with world.http.get(
        f"{world.stack['GATEWAY_URL']}/v1/conversations/{ada.chat}",
        headers={"Authorization": f"Bearer {world.token(ada.id)}"},
    ) as answer:
        assert answer.status == 404
    turn = await world.say(ada.id, ASK.format(ada.order))
    assert turn.done["reply"]
    assert await world.refunds(ada.order) == [("L1", "64.00")]
    third = await world.order(ada.id, "30.00")
    assert (await world.refund(ada.id, third, "L1", "30.00"))["status"] == "awaiting_approval", (
        "two in 30 days count on"
    )

    # What comes late brings nothing back, and becomes no dead letter either.
    anew = found_in(await every_row(world), [*ada.marks, ada.chat])
    assert not any(ada.said in row or ada.noted in row for rows in anew.values() for row in rows)
    await send(world, [*hers, *requested])
    await groups_read_all(world)
    assert found_in(await every_row(world), [*ada.marks, ada.chat]) == anew
    await no_letters(world, ada)

    # While something of hers is open, nothing is touched; when it is decided, the rest goes.
    assert not await asyncio.to_thread(erase_customer, run, ada.id, 0.0)
    assert "ledger row(s) are open" in capsys.readouterr().out


async def no_trace(world: Any, person: Person) -> None:
    assert found_in(await every_row(world), person.marks) == {}
    await no_letters(world, person)
    cached = await redis_text(world)
    assert not any(name in cached for name in (*person.marks, person.chat))


async def no_letters(world: Any, person: Person) -> None:
    for topic in topics.ALL:
        letters = [r.value for r in await held(world, topic.dlq) if person.tag.encode() in (r.value or b"")]
        assert letters == [], topic.dlq
