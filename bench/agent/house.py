"""The two loops under test and what they need: a database of their own, topics, neighbours, and messages to answer."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.agent.floor import TABLES
from bench.stage import own_topics
from common.events import CustomerMessage, ReplyEvent, WorkItem
from common.migrate import Roles, migrate_all
from common.producer import event_headers
from common.statements import SESSION_AUDIENCE, Signer, session_claims
from common.topics import REPLIES, WORK_AGENT
from stack.kafka_topics import create_topics
from stack.ports import free_port
from toolgateway.core.catalogue import tool_catalogue

_ROLES, _DATABASE = "benchagent_", "bench_agent"


@dataclass
class Loop:
    """One worker process and where its messages go in and its events come out."""

    name: str
    work: str
    replies: str
    pid: int = 0
    url: str = ""


@dataclass
class Heard:
    """When a message was sent, its first token came and it ended; seconds since the epoch."""

    conversation_id: str
    sent: float
    token: float = 0.0
    done: float = 0.0
    reply: str = ""
    events: int = 0
    finished: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class House:
    """Everything but the loops; ``stack`` names KAFKA_BOOTSTRAP, DATABASE_URL, REDIS_URL and KEYS_DIR."""

    stack: dict[str, str]
    http: aiohttp.ClientSession
    producer: AIOKafkaProducer
    prefix: str
    dsn: str
    neighbours: str
    signer: Signer
    heard: dict[str, Heard] = field(default_factory=dict)

    async def pace(self, turn_s: float) -> None:
        """Say how long a model turn takes from now on, and forget what they took."""
        kept = [{k: tool[k] for k in ("name", "description", "input_schema")} for tool in tool_catalogue()]
        body = {"turn_s": turn_s, "tools": kept}
        async with self.http.put(f"{self.neighbours}/pace", json=body) as answer:
            answer.raise_for_status()

    async def books(self) -> dict[str, dict[str, float]]:
        """Return what the model took and when its first sentences were complete, by conversation."""
        async with self.http.get(f"{self.neighbours}/books") as answer:
            found: dict[str, dict[str, float]] = await answer.json()
            return found

    async def say(self, loop: Loop, text: str, within_s: float) -> Heard:
        """Send one customer's first message to a loop and wait for the end of its answer."""
        work = self._work(text)
        message = work.message
        heard = self.heard[message.message_id] = Heard(message.conversation_id, time.time())
        headers = event_headers(f"ev_{message.message_id}", datetime.now(UTC))
        await self.producer.send(
            loop.work,
            work.model_dump_json(by_alias=True).encode(),
            key=message.conversation_id.encode(),
            headers=[(name, value.encode()) for name, value in headers.items()],
        )
        async with asyncio.timeout(within_s):
            await heard.finished.wait()
        return heard

    def _work(self, text: str) -> WorkItem:
        token, now = secrets.token_hex(8), datetime.now(UTC)
        claims = session_claims(customer_id="C-1", conversation_id=f"conv_{token}", channel="chat", verified_by="login")
        message = CustomerMessage(
            conversation_id=f"conv_{token}", message_id=f"msg_{token}", seq=1, text=text, channel="chat",
            customer_id="C-1", assertion=self.signer.sign(SESSION_AUDIENCE, claims, 600, now), visitor=False,
            received_at=now,
        )  # fmt: skip
        return WorkItem(message=message, route="agent", intent="refund", confidence=0.95, language="en")

    async def listen(self, loops: list[Loop]) -> None:
        """Book every event of every loop, until cancelled."""
        consumer = AIOKafkaConsumer(
            *(loop.replies for loop in loops), bootstrap_servers=self.stack["KAFKA_BOOTSTRAP"], group_id=None
        )
        await consumer.start()
        try:
            async for record in consumer:
                event = ReplyEvent.model_validate_json(record.value) if b"owner_version" in record.value else None
                self._book(event or _bare(record.value))
        finally:
            await consumer.stop()

    def _book(self, event: Any) -> None:
        heard = self.heard.get(event.message_id)
        if heard is None:
            return
        heard.events += 1
        if event.event == "token":
            heard.token = heard.token or time.time()
        elif event.event == "done":
            heard.done, heard.reply = time.time(), event.data["reply"]
            heard.finished.set()


@dataclass
class _Bare:
    message_id: str
    event: str
    data: dict[str, Any]


def _bare(value: bytes) -> _Bare:
    return _Bare(**json.loads(value))


async def own_database(dsn: str) -> str:
    """Make an empty database with the product's schemas and the floor's tables; returns its address."""
    conn = await asyncpg.connect(dsn)
    await conn.execute(f"drop database if exists {_DATABASE} with (force)")
    await conn.execute(f"create database {_DATABASE}")
    await conn.close()
    own = dsn.rsplit("/", 1)[0] + f"/{_DATABASE}"
    await migrate_all(own, Roles(_ROLES))
    conn = await asyncpg.connect(own)
    await conn.execute(TABLES)
    await conn.close()
    return own


async def own_house(stack: dict[str, str], http: aiohttp.ClientSession, neighbours: str) -> House:
    """Make database, topics and producer."""
    kafka, prefix = stack["KAFKA_BOOTSTRAP"], f"bench{secrets.token_hex(3)}."
    dsn = await own_database(stack["DATABASE_URL"])
    await create_topics(kafka, prefix)
    await own_topics(kafka, [f"{prefix}bare.work", f"{prefix}bare.replies"])
    producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True, acks="all")
    await producer.start()
    signer = Signer.from_file("gateway", Path(stack["KEYS_DIR"]) / "gateway.pem")
    return House(stack, http, producer, prefix, dsn, neighbours, signer)


def loops_of(prefix: str) -> tuple[Loop, Loop]:
    """Return the product's loop and the floor's."""
    return (
        Loop("product", prefix + WORK_AGENT.name, prefix + REPLIES.name),
        Loop("bare loop", f"{prefix}bare.work", f"{prefix}bare.replies"),
    )


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[int]:
    """Run one process; yields its id."""
    process = subprocess.Popen([sys.executable, "-m", *command], env={**os.environ, **environment})  # noqa: S603 - ours
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextmanager
def product(house: House, loop: Loop) -> Iterator[None]:
    """Run ``python -m agent loop`` against the neighbours."""
    port = free_port()
    role = _as_role(house.dsn)
    environment = {
        "PROFILE": "dev", "KAFKA_BOOTSTRAP": house.stack["KAFKA_BOOTSTRAP"], "TOPIC_PREFIX": house.prefix,
        "REDIS_URL": house.stack["REDIS_URL"], "KEYS_DIR": house.stack["KEYS_DIR"], "AGENT_PORT": str(port),
        "AGENT_DATABASE_URL": role, "AGENT_TOOLGATEWAY_URL": house.neighbours,
        "AGENT_GATEWAY_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": house.neighbours, "OPENAI_API_KEY": "", "AGENT_MODEL_CALLS_PER_MINUTE": "1000000",
        "AGENT_MODEL_SILENCE_S": "30",
    }  # fmt: skip
    with running(["agent", "loop"], environment) as loop.pid:
        loop.url = f"http://127.0.0.1:{port}"
        yield


@contextmanager
def bare(house: House, loop: Loop) -> Iterator[None]:
    """Run the floor."""
    environment = {
        "KAFKA_BOOTSTRAP": house.stack["KAFKA_BOOTSTRAP"], "BENCH_WORK": loop.work, "BENCH_REPLIES": loop.replies,
        "BENCH_NEIGHBOURS": house.neighbours, "BENCH_DSN": house.dsn,
    }  # fmt: skip
    with running(["bench.agent.floor"], environment) as loop.pid:
        yield


def _as_role(dsn: str) -> str:
    scheme, _, rest = dsn.partition("//")
    return f"{scheme}//{_ROLES}support:support@{rest.rpartition('@')[2]}"
