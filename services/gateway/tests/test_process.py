"""The gateway as a process: it stops with streams open, and a killed one loses nothing a client can't resume."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from common.events import ReplyEvent
from common.ids import new_id
from common.producer import Producer
from common.topics import ACCOUNTS_CHANGED, CHANNEL_INBOUND, MESSAGES, REPLIES
from gateway.settings import Settings
from stack.kafka_topics import create_topics, delete_topics

pytestmark = pytest.mark.asyncio(loop_scope="module")
# What our own machine takes to load the code of a service, several times over.
_START_S = 60


def environment(settings: Settings) -> dict[str, str]:
    return os.environ | {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
        "REDIS_URL": settings.redis_url,
        "TOPIC_PREFIX": settings.topic_prefix,
        "KEYS_DIR": str(settings.keys_dir),
        "INSTANCE_ID": "gateway",
        "GATEWAY_DATABASE_URL": settings.database_url,
        "GATEWAY_PORT": str(settings.port),
        "GATEWAY_LOGIN_JWKS_URL": settings.login_jwks_url,
        "GATEWAY_HOOK_SECRET": settings.hook_secret,
        "GATEWAY_COMMERCE_URL": settings.commerce_url,
        "GATEWAY_MAIL_URL": settings.mail_url,
    }


@contextlib.asynccontextmanager
async def running(settings: Settings, http: aiohttp.ClientSession) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "gateway", env=environment(settings))
    try:
        async with asyncio.timeout(_START_S):
            while not await is_ready(settings, http):
                assert process.returncode is None
                await asyncio.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def is_ready(settings: Settings, http: aiohttp.ClientSession) -> bool:
    try:
        async with http.get(f"http://{settings.host}:{settings.port}/readyz") as r:
            return r.status == 200
    except aiohttp.ClientError:
        return False


async def reply(settings: Settings, conversation: str, message: str, seqs: list[int]) -> None:
    producer = Producer(settings.kafka_bootstrap, settings.topic_prefix)
    await producer.start()
    done = {"message_id": message, "route": "rag", "handoff": False, "citations": [], "reply": "Within 30 days."}
    steps = {1: ("status", {"text": "…"}), 2: ("token", {"text": "Within"}), 3: ("done", done)}
    for seq in seqs:
        event = ReplyEvent(
            conversation_id=conversation, message_id=message, channel="chat", owner_version=0,
            seq=seq, event=steps[seq][0], data=steps[seq][1],
        )  # fmt: skip
        await producer.send(REPLIES, conversation, event, event_id=new_id("ev"), occurred_at=datetime.now(UTC))
    await producer.stop()


async def visit(http: aiohttp.ClientSession, url: str) -> tuple[dict[str, str], str, str]:
    """Return a visitor's headers, conversation and first message."""
    async with http.post(f"{url}/v1/visitors") as r:
        headers = {"Authorization": f"Bearer {(await r.json())['token']}"}
    async with http.post(f"{url}/v1/conversations", headers=headers) as r:
        conversation = (await r.json())["conversation_id"]
    more = {"Idempotency-Key": "k", "Accept": "application/json", **headers}
    body = {"text": "What is your return policy?"}
    async with http.post(f"{url}/v1/conversations/{conversation}/messages", headers=more, json=body) as r:
        return headers, conversation, (await r.json())["message_id"]


async def read_ids(response: aiohttp.ClientResponse, *, until: int) -> list[int]:
    ids: list[int] = []
    async for raw in response.content:
        if raw.startswith(b"id: "):
            ids.append(int(raw[4:]))
        if raw == b"\n" and ids and ids[-1] >= until:
            break
    return ids


@pytest.mark.stack
async def test_a_killed_gateway_resumes_and_a_stopped_one_leaves_within_three_seconds(settings: Settings) -> None:
    topics = (ACCOUNTS_CHANGED, CHANNEL_INBOUND, MESSAGES, REPLIES)
    await create_topics(settings.kafka_bootstrap, settings.topic_prefix, topics)
    url = f"http://{settings.host}:{settings.port}"
    async with aiohttp.ClientSession() as http:
        async with running(settings, http) as process:
            headers, conversation, message = await visit(http, url)
            path = f"{url}/v1/conversations/{conversation}/messages/{message}/events"
            await reply(settings, conversation, message, [1, 2])
            async with http.get(path, headers=headers) as r:
                assert await asyncio.wait_for(read_ids(r, until=2), 20) == [1, 2]
                process.send_signal(signal.SIGKILL)
                await process.wait()
        await reply(settings, conversation, message, [2, 3])
        async with running(settings, http) as process:
            async with http.get(path, headers={**headers, "Last-Event-ID": "2"}) as r:
                assert await asyncio.wait_for(read_ids(r, until=3), 30) == [3]
            open_streams: list[Any] = [
                await http.get(f"{url}/v1/conversations/{conversation}/events", headers=headers) for _ in range(20)
            ]
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 10) == 0
            assert time.monotonic() - began < 3
            for stream in open_streams:
                stream.close()
    await delete_topics(settings.kafka_bootstrap, settings.topic_prefix, topics)
