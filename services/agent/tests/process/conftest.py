"""Real agent processes beside a real tool gateway and the sandbox: started, killed, frozen and woken."""

# ruff: noqa: ASYNC110 - what is waited for happens in other processes

import asyncio
import itertools
import json
import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import psutil
import pytest
from aiokafka import AIOKafkaConsumer

from agent.adapters.run_store import RunStore
from agent.intake import Intake
from common import db
from common.clock import SystemClock
from common.consumer import Received
from common.events import ActionChanged, WorkItem
from common.producer import Producer
from common.topics import ALL, LEDGER_ACTIONS, REPLIES, WORK_BY_ROUTE
from stack.databases import TestDatabase
from stack.kafka_topics import create_topics, delete_topics
from stack.ports import free_port

Json = dict[str, Any]
# The forks' own module has to be found by its name in the process they are forked from.
sys.path.append(str(Path(__file__).parent))
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["warm_agent"])
# Short, so that a dead worker's run is taken over while the test looks on.
CLAIM_TTL_S = 1.5


@dataclass
class Process:
    """One started process of ours: a program of its own, or forked from one that has everything imported."""

    started: "subprocess.Popen[bytes] | ForkServerProcess"
    url: str

    @property
    def pid(self) -> int:
        assert self.started.pid is not None
        return self.started.pid

    def ended(self) -> int | None:
        """Exit status, negative for a signal; None while it lives."""
        return self.started.poll() if isinstance(self.started, subprocess.Popen) else self.started.exitcode

    async def ready(self, seconds: float = 180) -> None:
        async with asyncio.timeout(seconds), httpx2.AsyncClient() as http:
            while True:
                try:
                    if (await http.get(f"{self.url}/readyz")).status_code == 200:
                        return
                except httpx2.TransportError:
                    assert self.ended() is None, f"the process ended with {self.ended()}"
                await asyncio.sleep(0.1)

    async def killed_or(self, otherwise: Callable[[], Any], seconds: float = 25) -> bool:
        """Say whether it died by kill -9, or lives on although ``otherwise()`` has long come true."""
        calm_since: float | None = None
        async with asyncio.timeout(seconds):
            while self.ended() is None:
                if not await otherwise():
                    calm_since = None
                elif calm_since is None:
                    calm_since = time.monotonic()
                elif time.monotonic() - calm_since > 1.0:
                    return False
                await asyncio.sleep(0.05)
        assert self.ended() == -signal.SIGKILL
        return True

    async def stopped(self, seconds: float = 25) -> None:
        """Wait until it stands still."""
        about = psutil.Process(self.pid)
        async with asyncio.timeout(seconds):
            while about.status() != psutil.STATUS_STOPPED:
                await asyncio.sleep(0.02)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def idle(self, seconds: float = 20) -> None:
        """Wait until it holds no run any more, twice as long as a claim lives so that it had the time to find out."""
        calm_since = time.monotonic()
        async with asyncio.timeout(seconds), httpx2.AsyncClient() as http:
            while time.monotonic() - calm_since < 2 * CLAIM_TTL_S:
                text = (await http.get(f"{self.url}/metrics")).text
                if "agent_runs_held 0.0" not in text:
                    calm_since = time.monotonic()
                await asyncio.sleep(0.1)

    def ports(self) -> set[int]:
        """Local ports of its connections, by which the database knows it."""
        return {c.laddr.port for c in psutil.Process(self.pid).net_connections("tcp")}

    async def leave(self, seconds: float = 30) -> None:
        """Stop as a deployment does: what it has read is committed, so that its successor doesn't read it again."""
        if self.ended() is None:
            os.kill(self.pid, signal.SIGTERM)
        async with asyncio.timeout(seconds):
            while self.ended() is None:
                await asyncio.sleep(0.05)

    def end(self) -> None:
        if self.ended() is None:
            os.kill(self.pid, signal.SIGCONT)
            self.started.kill()
        self.started.wait() if isinstance(self.started, subprocess.Popen) else self.started.join()


@dataclass(frozen=True)
class Asked:
    """One customer's message on its way, and the facts it will be held against."""

    work: WorkItem
    order_id: str
    # What tells this conversation's model calls from all others.
    mark: str

    @property
    def message_id(self) -> str:
        return self.work.message.message_id


@dataclass
class House:
    """Everything but the agent processes under test."""

    environment: dict[str, str]
    sandbox_url: str
    pool: db.Database
    ledger: "asyncpg.Pool[asyncpg.Record]"
    producer: Producer
    make_work: Callable[..., WorkItem]
    started: list[Process] = field(default_factory=list)

    def start(self, part: str, *, crash_at: str = "", action: str = "kill", name: str = "") -> Process:
        """Fork an agent process; ``name`` lets a restarted one take its place in the group at once."""
        port = free_port()
        own = {"AGENT_PORT": str(port), "CRASH_POINT": crash_at, "CRASH_ACTION": action}
        if name:
            own["INSTANCE_ID"] = name
        environment = {"PATH": os.environ["PATH"]} | self.environment | own
        from start_agent import run  # found by the path above

        forked = _FORKS.Process(target=run, args=(part, environment))
        forked.start()
        process = Process(forked, f"http://127.0.0.1:{port}")
        self.started.append(process)
        return process

    async def ask(self, text: str, *, paid: str = "64.00", **over: Any) -> Asked:
        """Make a customer with a delivered order; ``{order}`` in the text is its number."""
        order_id, customer = f"{next(_numbers)}", f"C-{secrets.token_hex(4)}"
        now = datetime.now(UTC)
        async with httpx2.AsyncClient(base_url=f"{self.sandbox_url}/_sandbox") as http:
            await http.put(f"/customers/{customer}", json={
                "name": "Ada", "email": f"{customer.lower()}@customers.example", "tier": "standard",
                "lifetime_value": "100.00", "fraud_score": 0.1, "open_tickets": []})  # fmt: skip
            await http.put(f"/orders/{order_id}", json={
                "customer_id": customer, "status": "delivered", "currency": "USD", "note": "",
                "placed_at": (now - timedelta(days=9)).isoformat(),
                "delivered_at": (now - timedelta(days=3)).isoformat(),
                "address": {"line1": "1 Elm", "city": "Portland", "postal_code": "97201", "country": "US"},
                "lines": [{"line_id": "L1", "title": "Blender", "quantity": 1, "paid": paid}]})  # fmt: skip
        token = secrets.token_hex(8)
        own = {"conversation_id": f"conv_{token}", "message_id": f"msg_{token}", "customer_id": customer}
        work = self.make_work(text.format(order=order_id, token=token), **own | over)
        return Asked(work, order_id, order_id if "{order}" in text else token)

    async def take_in(self, asked: Asked) -> None:
        """What a consumer does with the record: status and queued run; the workers are woken by its commit."""
        intake = Intake("agent-loop", self.pool, RunStore(self.pool), self.producer, SystemClock())
        record = Received(asked.work, f"ev_{asked.message_id}", asked.work.message.conversation_id,
                          datetime.now(UTC), {})  # fmt: skip
        await intake.on_work([record])

    async def send(self, asked: Asked) -> None:
        """Put the message on its topic, for a consumer to find; it arrives now, not when it was made up."""
        topic, event_id = WORK_BY_ROUTE[asked.work.route], f"ev_{asked.message_id}"
        key, now = asked.work.message.conversation_id, datetime.now(UTC)
        arriving = asked.work.message.model_copy(update={"received_at": now})
        work = asked.work.model_copy(update={"message": arriving})
        await self.producer.send(topic, key, work, event_id=event_id, occurred_at=now)

    async def run_done(self, asked: Asked) -> bool:
        return bool(
            await self.pool.fetchval("select status = 'done' from runs where message_id = $1", asked.message_id)
        )

    async def until_leading(self, process: Process, seconds: float = 15) -> None:
        """Wait until this process's relay holds the outbox."""
        async with asyncio.timeout(seconds):
            while await self.pool.fetchval(_LEADERS_PORT) not in process.ports():
                await asyncio.sleep(0.1)

    async def all_said(self, asked: Asked) -> bool:
        return await self.run_done(asked) and not await self.pool.fetchval("select count(*) from outbox")

    async def until_done(self, asked: Asked, seconds: float) -> float:
        """Wait for the answer to have left; returns the seconds it took."""
        began = time.monotonic()
        async with asyncio.timeout(seconds):
            while not await self.all_said(asked):
                await asyncio.sleep(0.03)
        return time.monotonic() - began

    async def until_published(self, message_id: str, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not any(event["event"] == "done" for _, event in await self.replies(message_id)):
                await asyncio.sleep(0.2)

    def paid_behind_the_customers_back(self, asked: Asked) -> ActionChanged:
        """A change that somebody approved while the customer was away."""
        message = asked.work.message
        return ActionChanged(
            key=f"refund:{asked.order_id}:L1", version=3, kind="refund", customer_id=message.customer_id or "",
            conversation_id=message.conversation_id, order_id=asked.order_id, line_id="L1", amount="64.00",
            currency="USD", status="succeeded", previous_status="pending", policy_version="p", policy_reason="r",
            attempts=1, changed_at=datetime.now(UTC), cause="settled", inline=False, verdict="approval",
        )  # fmt: skip

    async def publish(self, change: ActionChanged) -> None:
        event_id, now = f"ev_{change.key}:{change.version}", datetime.now(UTC)
        await self.producer.send(LEDGER_ACTIONS, change.key, change, event_id=event_id, occurred_at=now)

    async def books(self, asked: Asked) -> list[Any]:
        """Everything that must not change any more once the message is answered."""
        conversation = asked.work.message.conversation_id
        return [
            await self.replies(asked.message_id),
            await self.refunds(asked),
            await self.ledger.fetch("select * from actions_history where key like $1 order by seq",
                                    f"%:{asked.order_id}:%"),
            await self.pool.fetch("select * from runs where conversation_id = $1", conversation),
            await self.pool.fetch("select * from conversations where id = $1", conversation),
            await self.pool.fetch("select * from messages where conversation_id = $1 order by id", conversation),
        ]  # fmt: skip

    async def saved_model_calls(self, asked: Asked) -> int:
        state = await self.pool.fetchval(
            "select run_state from conversations where id = $1", asked.work.message.conversation_id
        )
        return int(((state or {}).get("run") or {}).get("model_calls", 0))

    async def model_calls(self, asked: Asked) -> int:
        """How often a model was really asked about this order."""
        async with httpx2.AsyncClient() as http:
            calls = (await http.get(f"{self.sandbox_url}/_sandbox/model/calls")).json()
        return sum(asked.mark in json.dumps(call["messages"]) for call in calls)

    async def refunds(self, asked: Asked) -> list[tuple[str, str]]:
        async with httpx2.AsyncClient() as http:
            found = (await http.get(f"{self.sandbox_url}/_sandbox/refunds?order_id={asked.order_id}")).json()
        return [(r["line_id"], r["amount"]) for r in found]

    async def replies(self, message_id: str) -> list[tuple[str, Json]]:
        """Every record of the message on the topic, repeats included: (event id, event)."""
        consumer = AIOKafkaConsumer(
            self.environment["TOPIC_PREFIX"] + REPLIES.name,
            bootstrap_servers=self.environment["KAFKA_BOOTSTRAP"],
            auto_offset_reset="earliest",
            group_id=None,
        )
        await consumer.start()
        found: list[tuple[str, Json]] = []
        try:
            ends = await consumer.end_offsets(consumer.assignment())
            while any([await consumer.position(p) < end for p, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [(dict(r.headers)["event_id"].decode(), json.loads(r.value or b"{}")) for r in records]
        finally:
            await consumer.stop()
        return [(event_id, event) for event_id, event in found if event["message_id"] == message_id]


_LEADERS_PORT = """
select a.client_port from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.granted and a.application_name = 'relay' and a.usename = current_user
"""
_numbers = itertools.count(730_000_001)


def _spawn(module: tuple[str, ...], environment: dict[str, str], url: str) -> Process:
    started = subprocess.Popen(
        [sys.executable, "-m", *module],
        env={k: v for k, v in os.environ.items() if k not in _NOT_INHERITED} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Process(started, url)


_NOT_INHERITED = {"CRASH_POINT", "CRASH_ACTION", "INSTANCE_ID"}


@pytest.fixture(scope="module")
def neighbours(
    module_database: TestDatabase,
    kafka_bootstrap: str,
    redis_url: str,
    keys: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, str]]:
    """The sandbox and the tool gateway, running; returns the environment of an agent process."""
    prefix, sandbox = f"t{secrets.token_hex(4)}.", f"http://127.0.0.1:{free_port()}"
    asyncio.run(create_topics(kafka_bootstrap, prefix))
    shared = {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "REDIS_URL": redis_url,
        "TOPIC_PREFIX": prefix,
        "KEYS_DIR": str(keys),
    }
    data = str(tmp_path_factory.mktemp("sandbox"))
    stand_in = {"SANDBOX_PORT": sandbox.rpartition(":")[2], "SANDBOX_DATA_DIR": data, "SANDBOX_KEYS_DIR": str(keys)}
    tools = f"http://127.0.0.1:{free_port()}"
    till = {
        "TOOLGATEWAY_PORT": tools.rpartition(":")[2],
        "TOOLGATEWAY_DATABASE_URL": module_database.dsn("ledger"),
        "TOOLGATEWAY_COMMERCE_URL": f"{sandbox}/commerce",
        "TOOLGATEWAY_PAYMENTS_URL": f"{sandbox}/payments",
        "TOOLGATEWAY_PAYMENTS_WEBHOOK_SECRET": "whsec-test",
        "TOOLGATEWAY_STAFF_JWKS_URL": f"{sandbox}/staff-login/jwks.json",
        "TOOLGATEWAY_APPROVALS_URL": "http://127.0.0.1:9",
    }
    processes = [_spawn(("sandbox",), shared | stand_in, sandbox), _spawn(("toolgateway",), shared | till, tools)]
    try:
        for process in processes:
            asyncio.run(process.ready())
        yield shared | {
            "AGENT_DATABASE_URL": module_database.dsn("support"),
            "AGENT_TOOLGATEWAY_URL": tools,
            "AGENT_GATEWAY_URL": "http://127.0.0.1:9",
            "AGENT_CLAIM_TTL_S": str(CLAIM_TTL_S),
            "ANTHROPIC_API_KEY": "sandbox",
            "ANTHROPIC_BASE_URL": f"{sandbox}/anthropic",
            "OPENAI_API_KEY": "",
            "SANDBOX_URL": sandbox,
            "LEDGER_DSN": module_database.dsn("ledger"),
        }
    finally:
        for process in processes:
            process.end()
        asyncio.run(delete_topics(kafka_bootstrap, prefix, ALL))


@pytest.fixture(scope="module")
def standby(neighbours: dict[str, str]) -> Iterator[Process]:
    """A healthy worker of the tool loop, for all tests of a file."""
    port = free_port()
    process = _spawn(("agent", "loop"), neighbours | {"AGENT_PORT": str(port)}, f"http://127.0.0.1:{port}")
    asyncio.run(process.ready())
    yield process
    process.end()


@pytest.fixture
async def house(neighbours: dict[str, str], make_work: Any) -> AsyncIterator[House]:
    producer = Producer(neighbours["KAFKA_BOOTSTRAP"], neighbours["TOPIC_PREFIX"])
    await producer.start()
    pool = await db.open_pool(neighbours["AGENT_DATABASE_URL"], "support")
    ledger = await db.open_pool(neighbours["LEDGER_DSN"], "ledger", min_size=1)
    made = House(neighbours, neighbours["SANDBOX_URL"], pool, ledger, producer, make_work)
    yield made
    for process in made.started:
        process.end()
    await producer.stop()
    await pool.close()
    await ledger.close()
