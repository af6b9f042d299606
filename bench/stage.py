"""Puts up what is measured: a stack of its own with its customers, and the bare chain beside it on the same servers."""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from bench.chain import TABLES
from stack import tokens
from stack.ports import free_port

CHAIN = ("gateway", "router", "agent", "tools")
_PRODUCT = ("gateway", "router", "agent-fixed", "toolgateway")


@dataclass
class Stage:
    """Addresses, processes and customers of one run."""

    stack: dict[str, str]
    http: aiohttp.ClientSession
    bench_dsn: str
    chain_url: str = ""
    chain_pids: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)

    def pid(self, process: str) -> int:
        """Return the process id the supervisor wrote."""
        return int((Path(self.stack["PIDS_DIR"]) / f"{process}.pid").read_text())

    def product_pids(self, *more: str) -> list[int]:
        """Return the processes a fixed-flow turn passes through, as many as the chain has."""
        return [self.pid(name) for name in (*_PRODUCT, *more)]


async def own_database(dsn: str) -> str:
    """Make an empty database for the floors; returns its address."""
    conn = await asyncpg.connect(dsn)
    await conn.execute("drop database if exists bench with (force)")
    await conn.execute("create database bench")
    await conn.close()
    own = dsn.rsplit("/", 1)[0] + "/bench"
    conn = await asyncpg.connect(own)
    await conn.execute(TABLES)
    await conn.close()
    return own


async def own_topics(kafka: str, names: list[str]) -> None:
    """Make the floors' topics, with as many partitions as the product's have."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 6, 1) for name in names])
    finally:
        await admin.close()


@contextmanager
def chain(kafka: str, dsn: str, prefix: str) -> Iterator[tuple[str, list[int]]]:
    """Run the chain's four processes; yields its address and their ids."""
    gateway_port = free_port()
    tools_port = free_port(frozenset({gateway_port}))
    env = {
        **os.environ,
        "BENCH_KAFKA": kafka,
        "BENCH_DSN": dsn,
        "BENCH_PREFIX": prefix,
        "BENCH_TOOLS": f"http://127.0.0.1:{tools_port}",
    }
    ports = {"gateway": gateway_port, "tools": tools_port}
    running = [
        subprocess.Popen(  # noqa: S603 - our own module, our own arguments
            [sys.executable, "-m", "bench.chain", name, str(ports.get(name, 0))], env=env
        )
        for name in CHAIN
    ]
    try:
        for port in ports.values():
            _wait_until_open(port)
        yield f"http://127.0.0.1:{gateway_port}", [process.pid for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


def _wait_until_open(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"nothing listens on port {port}")


async def customers(stage: Stage, count: int) -> None:
    """Put ``count`` customers, each with a shipped and a delivered order and a conversation."""
    now = datetime.now(UTC)
    gate = asyncio.Semaphore(8)

    async def one(n: int) -> tuple[str, str]:
        async with gate:
            customer = f"B-{n}"
            await _put(stage, f"customers/{customer}", _customer(n))
            await _put(stage, f"orders/{shipped(n)}", _order(customer, "shipped", now, n))
            await _put(stage, f"orders/{delivered(n)}", _order(customer, "delivered", now, n))
            token = tokens.customer_token(Path(stage.stack["KEYS_DIR"]), customer, now)
            return token, await open_conversation(stage, token)

    for token, conversation in await asyncio.gather(*(one(n) for n in range(count))):
        stage.tokens.append(token)
        stage.conversations.append(conversation)


async def open_conversation(stage: Stage, token: str) -> str:
    """Open a conversation as one customer."""
    url, headers = f"{stage.stack['GATEWAY_URL']}/v1/conversations", {"Authorization": f"Bearer {token}"}
    async with stage.http.post(url, headers=headers, json={}) as answer:
        answer.raise_for_status()
        return str((await answer.json())["conversation_id"])


def shipped(n: int) -> str:
    """Return customer n's order on its way."""
    return str(71_000_000 + n)


def delivered(n: int) -> str:
    """Return customer n's order that has arrived."""
    return str(72_000_000 + n)


async def _put(stage: Stage, path: str, body: dict[str, Any]) -> None:
    async with stage.http.put(f"{stage.stack['SANDBOX_URL']}/_sandbox/{path}", json=body) as answer:
        answer.raise_for_status()


def _customer(n: int) -> dict[str, Any]:
    return {
        "name": f"Customer {n}",
        "email": f"b{n}@customers.example",
        "tier": "standard",
        "lifetime_value": "100.00",
        "fraud_score": 0.1,
        "open_tickets": [],
    }


def _order(customer: str, status: str, now: datetime, n: int) -> dict[str, Any]:
    order = {
        "customer_id": customer,
        "status": status,
        "currency": "USD",
        "placed_at": (now - timedelta(days=6)).isoformat(),
        "address": {"line1": "1 Elm Street", "city": "Portland", "postal_code": "97201", "country": "US"},
        "tracking_url": f"https://track.example/{n}",
        "note": "",
        "lines": [
            {"line_id": "L1", "title": "Blender", "quantity": 1, "paid": "64.00"},
            {"line_id": "L2", "title": "Kettle", "quantity": 1, "paid": "39.00"},
        ],
    }
    if status == "delivered":
        order["delivered_at"] = (now - timedelta(days=2)).isoformat()
    return order


def fresh_key() -> str:
    """Return an Idempotency-Key nobody used."""
    return secrets.token_hex(12)
