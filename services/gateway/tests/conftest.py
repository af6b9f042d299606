"""A gateway on real servers, with the store's systems, the router and the agent played by the test."""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer

from common import db
from common.clock import SystemClock
from common.errors import OutcomeUnknown, Transient
from common.events import ReplyEvent
from common.http import serve
from common.ids import new_id
from common.producer import Producer
from common.statements import BadStatement, ServiceCredentials, Signer, Verifier
from common.topics import ACCOUNTS_CHANGED, CHANNEL_INBOUND, MESSAGES, REPLIES, Topic
from gateway.app import Gateway, Outside, wire
from gateway.core.identities import same_address, same_phone
from gateway.settings import Settings
from stack.databases import TestDatabase
from stack.kafka_topics import create_topics, delete_topics
from stack.ports import free_port

HOOK_SECRET = "a hook secret for tests"
ISSUER = "https://login.sandbox.local"


class FakeLogin:
    """Plays the store's login: a token is `customer:<id>`, optionally `:<seconds it still holds>`."""

    away = False

    async def claims(self, token: str, now: datetime) -> dict[str, Any]:
        if self.away:
            raise Transient("the login is away")
        kind, _, rest = token.partition(":")
        customer_id, _, seconds = rest.partition(":")
        holds_s = float(seconds or 3_600)
        if kind != "customer" or holds_s <= 0:
            raise BadStatement("no token of ours")
        return {"sub": customer_id, "exp": (now + timedelta(seconds=holds_s)).timestamp()}


@dataclass
class FakeDirectory:
    """Plays the store's accounts."""

    customers: dict[str, dict[str, str]] = field(default_factory=dict)
    away: bool = False

    def add(self, customer_id: str, *, email: str, phone: str = "") -> None:
        self.customers[customer_id] = {"email": email, "phone": phone}

    async def customer_with_phone(self, phone: str) -> str | None:
        self._answer()
        return next((c for c, v in self.customers.items() if same_phone(phone, v["phone"])), None)

    async def customer_with_email(self, email: str) -> str | None:
        self._answer()
        return next((c for c, v in self.customers.items() if same_address(email, v["email"])), None)

    async def email_on_file(self, customer_id: str) -> str | None:
        self._answer()
        return self.customers.get(customer_id, {}).get("email")

    def _answer(self) -> None:
        if self.away:
            raise Transient("the accounts are away")


@dataclass
class FakeMail:
    """Plays the store's mail; `trouble` holds what the next sends raise."""

    sent: list[dict[str, str]] = field(default_factory=list)
    trouble: list[Transient | OutcomeUnknown] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def send(self, *, key: str, to: str, channel: str, subject: str, text: str) -> None:
        if self.trouble:
            raise self.trouble.pop(0)
        async with self._news:
            self.sent.append({"key": key, "to": to, "channel": channel, "subject": subject, "text": text})
            self._news.notify_all()

    async def wait_for(self, count: int) -> list[dict[str, str]]:
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: len(self.sent) >= count)
        return self.sent


@dataclass
class Event:
    """One server-sent event as a client reads it."""

    id: int
    event: str
    data: dict[str, Any]


class Client:
    """A customer's (or visitor's) HTTP client."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str | None) -> None:
        self.http, self.url = http, url
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def call(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> tuple[int, Any]:
        async with self.http.request(method, self.url + path, headers={**self.headers, **(headers or {})}, **more) as r:
            return r.status, await r.json(content_type=None) if "json" in r.content_type else await r.text()

    async def open(self) -> str:
        status, body = await self.call("POST", "/v1/conversations")
        assert status == 201, body
        conversation_id: str = body["conversation_id"]
        return conversation_id

    async def post(
        self, conversation_id: str, text: str, key: str | None = None, **body: Any
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Idempotency-Key": key or uuid.uuid4().hex, "Accept": "application/json"}
        return await self.call(
            "POST", f"/v1/conversations/{conversation_id}/messages", headers=headers, json={"text": text, **body}
        )

    async def said(self, conversation_id: str, text: str, key: str | None = None) -> str:
        status, body = await self.post(conversation_id, text, key)
        assert status == 202, body
        message_id: str = body["message_id"]
        return message_id

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> AsyncIterator[AsyncIterator[Event]]:
        async with self.http.request(method, self.url + path, headers={**self.headers, **(headers or {})}, **more) as r:
            assert r.status == 200, await r.text()
            assert r.content_type == "text/event-stream"
            yield read_events(r)

    async def follow(self, conversation_id: str, message_id: str, after: int | None = None) -> list[Event]:
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        path = f"/v1/conversations/{conversation_id}/messages/{message_id}/events"
        async with asyncio.timeout(20), self.stream("GET", path, headers=headers) as events:
            return [e async for e in events]

    async def transcript(self, conversation_id: str) -> list[dict[str, Any]]:
        status, body = await self.call("GET", f"/v1/conversations/{conversation_id}")
        assert status == 200, body
        messages: list[dict[str, Any]] = body["messages"]
        return messages


async def read_events(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if "data" in fields:
                yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@dataclass
class World:
    """A running gateway and everything around it."""

    url: str
    gateway: Gateway
    pool: db.Database
    mail: FakeMail
    directory: FakeDirectory
    login: FakeLogin
    producer: Producer
    http: aiohttp.ClientSession
    keys: Path
    kafka_bootstrap: str
    topic_prefix: str
    started_ms: int = 0

    def start_over(self) -> None:
        """Forget what earlier tests sent and arranged."""
        self.started_ms = time.time_ns() // 1_000_000
        self.mail.sent.clear()
        self.mail.trouble.clear()
        self.directory.customers.clear()

    def customer(self, customer_id: str, holds_s: float = 3_600) -> Client:
        return Client(self.http, self.url, f"customer:{customer_id}:{holds_s}")

    def nobody(self) -> Client:
        return Client(self.http, self.url, None)

    async def visitor(self) -> Client:
        status, body = await self.nobody().call("POST", "/v1/visitors")
        assert status == 201, body
        return Client(self.http, self.url, body["token"])

    def service(self, name: str = "agent") -> dict[str, str]:
        signer = Signer.from_file(name, self.keys / f"{name}.pem")
        return {"Authorization": ServiceCredentials(signer, "gateway.service").bearer(datetime.now(UTC))}

    def verifier(self) -> Verifier:
        return Verifier.from_file(self.keys / "trusted.jwks.json")

    async def inbound(self, **event: Any) -> None:
        await self.producer.send_raw(CHANNEL_INBOUND.name, event["thread_ref"].encode(), json.dumps(event).encode(), [])

    async def reply(self, conversation_id: str, message_id: str, steps: Iterable[dict[str, Any]], **more: Any) -> None:
        """Play the agent: write these events, `{"event", "data"}` each, numbered from `start`."""
        start = more.pop("start", 1)
        for n, step in enumerate(steps, start):
            event = ReplyEvent(
                **{"channel": "chat", "owner_version": 0, **more},
                conversation_id=conversation_id,
                message_id=message_id,
                seq=n,
                event=step["event"],
                data=step["data"],
            )
            await self.producer.send(
                REPLIES, conversation_id, event, event_id=new_id("ev"), occurred_at=datetime.now(UTC)
            )

    async def published(self, count: int) -> list[dict[str, Any]]:
        """Return the first `count` messages on support.messages.v1, once there are that many."""
        return await self.read(MESSAGES, count)

    async def read(self, topic: Topic | str, count: int) -> list[dict[str, Any]]:
        name = self.topic_prefix + (topic if isinstance(topic, str) else topic.name)
        consumer = AIOKafkaConsumer(name, bootstrap_servers=self.kafka_bootstrap, auto_offset_reset="earliest")
        await consumer.start()
        try:
            async with asyncio.timeout(20):
                found: list[dict[str, Any]] = []
                while len(found) < count:
                    record = await consumer.getone()
                    if record.timestamp >= self.started_ms:
                        found.append(json.loads(record.value))
        finally:
            await consumer.stop()
        return sorted(found, key=lambda e: e.get("received_at", ""))


def answer(message_id: str, text: str = "It is on its way.", **done: Any) -> list[dict[str, Any]]:
    """The events of a whole answer."""
    return [
        {"event": "status", "data": {"text": "Looking…"}},
        {"event": "token", "data": {"text": text}},
        {
            "event": "done",
            "data": {
                "message_id": message_id,
                "route": "fixed",
                "handoff": False,
                "citations": [],
                "reply": text,
                **done,
            },
        },
    ]


@pytest.fixture(scope="module")
def settings(
    module_database: TestDatabase, kafka_bootstrap: str, redis_url: str, module_prefix: str, keys: Path
) -> Settings:
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        redis_url=redis_url,
        topic_prefix=module_prefix,
        profile="dev",
        keys_dir=keys,
        database_url=module_database.dsn("gateway"),
        port=free_port(),
        login_jwks_url="http://127.0.0.1:9/jwks.json",
        hook_secret=HOOK_SECRET,
        commerce_url="http://127.0.0.1:9",
        mail_url="http://127.0.0.1:9",
        heartbeat_s=0.5,
        # The tests of one file share customers; those about the limit bring their own.
        messages_per_10s=10_000,
    )


@pytest.fixture(scope="module")
def module_prefix() -> str:
    return f"t{uuid.uuid4().hex[:8]}."


RunGateway = Callable[..., "contextlib.AbstractAsyncContextManager[World]"]
TABLES = "conversations, messages, idempotency, events, threads, sources, codes, code_tries, deliveries, outbox, inbox"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run_gateway(settings: Settings, keys: Path) -> AsyncIterator[RunGateway]:
    """Start a gateway; further ones share its database and topics (replicas)."""
    topics = (ACCOUNTS_CHANGED, CHANNEL_INBOUND, MESSAGES, REPLIES)
    await create_topics(settings.kafka_bootstrap, settings.topic_prefix, topics)
    directory, mail, login = FakeDirectory(), FakeMail(), FakeLogin()

    @contextlib.asynccontextmanager
    async def run(*, port: int | None = None, consume: bool = True, **changes: Any) -> AsyncIterator[World]:
        mine = settings.model_copy(update={**changes, "port": port or free_port()})
        stop = asyncio.Event()
        async with contextlib.AsyncExitStack() as closing:
            pool = await db.open_pool(mine.database_url, "gateway", plan_once=True)
            closing.push_async_callback(pool.close)
            gateway = wire(mine, pool, Outside(login, directory, mail), SystemClock())
            closing.push_async_callback(gateway.close)
            await gateway.producer.start()
            closing.push_async_callback(gateway.producer.stop)
            if consume:
                await gateway.consumer.start()
                closing.push_async_callback(gateway.consumer.stop)
            parts = [
                asyncio.create_task(part)
                for part in (gateway.neighbours.run(), gateway.relay.run(), gateway.postman.run())
            ]
            serving = asyncio.create_task(serve(gateway.app, mine.host, mine.port, stop))
            url = f"http://{mine.host}:{mine.port}"
            http = await closing.enter_async_context(aiohttp.ClientSession())
            await _until_alive(http, url)
            yield World(
                url, gateway, pool, mail, directory, login, gateway.producer, http, keys,
                mine.kafka_bootstrap, mine.topic_prefix,
            )  # fmt: skip
            gateway.hub.close()
            stop.set()
            await serving
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    yield run
    await delete_topics(settings.kafka_bootstrap, settings.topic_prefix, topics)


async def _until_alive(http: aiohttp.ClientSession, url: str) -> None:
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with http.get(url + "/livez") as r:
                    if r.status == 200:
                        return
            await asyncio.sleep(0.02)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_world(run_gateway: RunGateway) -> AsyncIterator[World]:
    async with run_gateway() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def world(shared_world: World, module_database: TestDatabase) -> World:
    """The file's gateway, empty again: a group takes seconds to join, a truncate takes none."""
    admin = await asyncpg.connect(module_database.dsn("admin"), server_settings={"search_path": "gateway"})
    try:
        # Numbers go on: the relay still holds those of rows it has sent and not yet marked.
        await admin.execute(f"truncate {TABLES} cascade")
    finally:
        await admin.close()
    shared_world.start_over()
    return shared_world
