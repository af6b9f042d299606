"""The open answer on the wire: it beats, it ends with its last event, and it forgets who left."""

import asyncio
from typing import Any

import aiohttp
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def post(world: Any, conversation: str, key: str = "k") -> aiohttp.ClientResponse:
    maya = world.customer("C-1")
    url = f"{world.url}/v1/conversations/{conversation}/messages"
    headers = {**maya.headers, "Idempotency-Key": key}
    response: aiohttp.ClientResponse = await world.http.post(url, headers=headers, json={"text": "hello"})
    return response


async def until_forgotten(world: Any) -> None:
    async with asyncio.timeout(5):
        while len(world.gateway.hub):  # noqa: ASYNC110 - a client's leaving has no event here
            await asyncio.sleep(0.01)


async def test_the_head_comes_at_once_and_a_quiet_stream_beats(world: Any) -> None:
    response = await post(world, await world.customer("C-1").open())
    async with asyncio.timeout(10):
        lines = [await response.content.readline() for _ in range(4)]
    assert lines == [b": still here\n", b"\n"] * 2
    names = ("Content-Type", "Cache-Control", "Connection", "X-Accel-Buffering")
    assert [response.headers[name] for name in names] == [
        "text/event-stream; charset=utf-8", "no-store, no-transform", "keep-alive", "no",
    ]  # fmt: skip
    assert response.headers["X-Message-Id"] == await world.pool.fetchval("select id from messages")
    response.close()


async def test_a_client_that_leaves_is_forgotten_at_once(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    response = await post(world, conversation)
    url = f"{world.url}/v1/conversations/{conversation}"
    whole = await world.http.get(f"{url}/events", headers=maya.headers)
    one = await world.http.get(f"{url}/messages/{response.headers['X-Message-Id']}/events", headers=maya.headers)
    assert len(world.gateway.hub) == 3
    for open_stream in (response, whole, one):
        open_stream.close()
    await until_forgotten(world)


async def test_a_stream_ends_with_done_and_its_connection_serves_the_next(world: Any) -> None:
    conversation = await world.customer("C-1").open()
    for number in (1, 2):
        async with asyncio.timeout(20):
            response = await post(world, conversation, f"k{number}")
            message = response.headers["X-Message-Id"]
            done = {"event": "done", "data": {"message_id": message, "route": "rag", "handoff": False, "reply": "Yes."}}
            await world.reply(conversation, message, [done])
            body = await response.read()
        assert b"event: done" in body
    await until_forgotten(world)


async def test_a_refused_message_leaves_no_listener(world: Any) -> None:
    conversation = await world.customer("C-1").open()
    assert (await post(world, "conv_none")).status == 404
    status, _ = await world.customer("C-1").post(conversation, "hello", "taken")
    assert status == 202
    assert len(world.gateway.hub) == 0
