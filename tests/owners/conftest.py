"""Approvals as a process of its own beside the agent service's real owner API."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from common import db
from common.outbox import Relay
from common.producer import Producer
from common.topics import APPROVALS_REQUESTED, HANDOFFS, LEDGER_ACTIONS, REPLIES
from stack.databases import TestDatabase
from stack.ports import free_port
from tests.owners.world import AgentApi, Desk, agent_app, begin


@pytest.fixture
async def desk(  # noqa: PLR0917 - pytest names what a fixture needs by its arguments
    database: TestDatabase, keys: Path, kafka_bootstrap: str, redis_url: str, topic_prefix: str, make_topics: Any
) -> AsyncIterator[Desk]:
    """Approvals isn't started yet; the agent service is, and what it hands over is on its way."""
    await make_topics((HANDOFFS, APPROVALS_REQUESTED, LEDGER_ACTIONS, REPLIES))
    support = await db.open_pool(database.dsn("support"), "support", max_size=3)
    approvals = await db.open_pool(database.dsn("approvals"), "approvals", max_size=2)
    await begin(support)
    agent = AgentApi(agent_app(support, keys))
    await agent.start()
    producer = Producer(kafka_bootstrap, topic_prefix)
    await producer.start()
    relaying = asyncio.create_task(Relay(database.dsn("support"), "support", producer).run())
    url, port = f"http://127.0.0.1:{agent.port}", free_port()
    environment = {
        "PROFILE": "dev", "KEYS_DIR": str(keys), "KAFKA_BOOTSTRAP": kafka_bootstrap, "REDIS_URL": redis_url,
        "TOPIC_PREFIX": topic_prefix, "APPROVALS_DATABASE_URL": database.dsn("approvals"), "APPROVALS_PORT": str(port),
        "APPROVALS_STAFF_JWKS_URL": f"{url}/staff-login/jwks.json", "APPROVALS_TOOLGATEWAY_URL": url,
        "APPROVALS_AGENT_URL": url,
    }  # fmt: skip
    desk = Desk(support, approvals, agent, keys, environment, port)
    try:
        yield desk
    finally:
        await desk.end()
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
        await producer.stop()
        await agent.stop()
        await support.close()
        await approvals.close()
