"""The real process on real Kafka: killed in mid-payment, restarted, resumed; and its events arrive."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientError
from aiokafka import AIOKafkaConsumer

from common.topics import APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS

KEY = "refund:4417028:L2"


@asynccontextmanager
async def process(gateway: Any, environment: dict[str, str], crash_at: str = "") -> AsyncIterator[Any]:
    """Run ``python -m toolgateway`` on a port of its own and point ``gateway`` at it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolgateway",
        env={**os.environ, **environment, "TOOLGATEWAY_PORT": str(port), "CRASH_POINT": crash_at},
        stderr=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    url, gateway.url = gateway.url, f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                async with gateway.http.get(f"{gateway.url}/readyz") as answer:
                    if answer.status == 200:
                        break
            except ClientError:
                pass
            await asyncio.sleep(0.1)
        yield running
    finally:
        gateway.url = url
        if running.returncode is None:
            running.terminate()
        await running.wait()


@pytest.fixture
async def environment(
    gateway: Any, kafka_bootstrap: str, redis_url: str, topic_prefix: str, make_topics: Any
) -> dict[str, str]:
    await make_topics([APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS])
    settings = gateway.settings
    return {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "REDIS_URL": redis_url,
        "TOPIC_PREFIX": topic_prefix,
        "KEYS_DIR": str(settings.keys_dir),
        "TOOLGATEWAY_DATABASE_URL": settings.database_url,
        "TOOLGATEWAY_COMMERCE_URL": settings.commerce_url,
        "TOOLGATEWAY_PAYMENTS_URL": settings.payments_url,
        "TOOLGATEWAY_APPROVALS_URL": settings.approvals_url,
        "TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "0.4",
        "TOOLGATEWAY_PAYMENTS_TRIES": "1",
    }


@pytest.mark.parametrize("point", ["pay.before_call", "pay.after_call", "settle.before_commit"])
async def test_killed_in_mid_payment_and_resumed_it_has_paid_once(
    gateway: Any, environment: dict[str, str], topic_prefix: str, kafka_bootstrap: str, point: str
) -> None:
    async with process(gateway, environment, crash_at=point) as first:
        with pytest.raises(ClientError):
            await gateway.refund()
        assert await first.wait() == -9
    assert (await gateway.row(KEY))["status"] == "pending"
    await asyncio.sleep(1.5)
    async with process(gateway, environment):
        _, row = await gateway.resume(KEY)
        assert row["status"] == "succeeded"
        assert (await gateway.refund())["result"]["repeated"] is True
        assert await _statuses(f"{topic_prefix}{LEDGER_ACTIONS.name}", kafka_bootstrap, 2) == ["pending", "succeeded"]
    assert len(gateway.provider.moved()) == 1


async def _statuses(topic: str, bootstrap: str, count: int) -> list[str]:
    """Return the statuses of the first ``count`` events; one that a dying relay sent twice has the same id twice."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    seen: dict[bytes, str] = {}
    try:
        async with asyncio.timeout(20):
            while len(seen) < count:
                record = await consumer.getone()
                seen[dict(record.headers)["event_id"]] = json.loads(record.value or b"{}")["status"]
    finally:
        await consumer.stop()
    return list(seen.values())
