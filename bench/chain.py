"""The floor of a turn: HTTP → message row → Kafka → Kafka → HTTP tool call → run row → Kafka → SSE, and nothing else.

Bare libraries and no product logic: no login, no idempotency, no inbox, no policy. Four processes, as the product has
for its fixed path: ``python -m bench.chain gateway|router|agent|tools``.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import asyncpg
import uvicorn
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

KAFKA, DSN = os.environ.get("BENCH_KAFKA", ""), os.environ.get("BENCH_DSN", "")
PREFIX = os.environ.get("BENCH_PREFIX", "bench.")
MESSAGES, WORK, REPLIES = f"{PREFIX}messages", f"{PREFIX}work", f"{PREFIX}replies"
TABLES = """
create table if not exists messages (id text primary key, text text not null, at timestamptz default now());
create table if not exists runs (id text primary key, result jsonb not null, at timestamptz default now());
"""


def _producer() -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=KAFKA, enable_idempotence=True, acks="all")


async def _read(topic: str, group: str, handle: Any) -> None:
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=KAFKA, group_id=PREFIX + group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        while True:
            batches = await consumer.getmany(timeout_ms=1000, max_records=200)
            records = [record for batch in batches.values() for record in batch]
            if records:
                await asyncio.gather(*(handle(record) for record in records))
                await consumer.commit()
    finally:
        await consumer.stop()


def gateway(port: int) -> None:
    """Take a message, stream what comes back."""
    waiting: dict[str, asyncio.Queue[bytes]] = {}
    producer: Any = None
    pool: Any = None

    async def on_reply(record: Any) -> None:
        if queue := waiting.get(record.key.decode()):
            queue.put_nowait(record.value)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        nonlocal producer, pool
        producer, pool = _producer(), await asyncpg.create_pool(DSN, min_size=2, max_size=8)
        await producer.start()
        task = asyncio.create_task(_read(REPLIES, "gateway", on_reply))
        yield
        task.cancel()

    async def post(request: Request) -> StreamingResponse:
        body = await request.json()
        message_id = body["id"]
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        waiting[message_id] = queue
        await pool.execute("insert into messages (id, text) values ($1, $2)", message_id, body["text"])
        await producer.send(MESSAGES, json.dumps(body).encode(), key=message_id.encode())

        async def stream() -> AsyncIterator[bytes]:
            while True:
                value = await queue.get()
                event = json.loads(value)["event"]
                yield b"event: " + event.encode() + b"\ndata: " + value + b"\n\n"
                if event == "done":
                    waiting.pop(message_id, None)
                    return

        return StreamingResponse(stream(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/messages", post, methods=["POST"])], lifespan=lifespan)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


def router(_: int) -> None:
    """Pass each message on."""

    async def main() -> None:
        producer = _producer()
        await producer.start()

        async def on_message(record: Any) -> None:
            await (await producer.send(WORK, record.value, key=record.key))

        await _read(MESSAGES, "router", on_message)

    uvloop_run(main())


def agent(_: int) -> None:
    """First event, one tool call, one row, the rest of the events."""

    async def main() -> None:
        producer = _producer()
        await producer.start()
        pool = await asyncpg.create_pool(DSN, min_size=2, max_size=8)
        session = aiohttp.ClientSession()
        tools = os.environ["BENCH_TOOLS"]

        async def on_work(record: Any) -> None:
            async def say(event: str, text: str) -> None:
                await producer.send(REPLIES, json.dumps({"event": event, "text": text}).encode(), key=record.key)

            await say("status", "looking")
            async with session.post(f"{tools}/tools/get_order", json={"order_id": "4417028"}) as response:
                order = await response.json()
            await pool.execute(
                "insert into runs (id, result) values ($1, $2) on conflict do nothing",
                record.key.decode(),
                json.dumps(order),
            )
            await say("token", order["status"])
            await (await producer.send(REPLIES, b'{"event":"done","text":""}', key=record.key))

        await _read(WORK, "agent", on_work)

    uvloop_run(main())


def tools(port: int) -> None:
    """Answer with an order."""

    async def get_order(request: Request) -> JSONResponse:
        body = await request.json()
        return JSONResponse({"order_id": body["order_id"], "status": "shipped", "lines": [{"line_id": "L1"}]})

    app = Starlette(routes=[Route("/tools/get_order", get_order, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


def uvloop_run(work: Any) -> None:
    """Run on the loop the product runs on."""
    import uvloop  # noqa: PLC0415 - only two of the four processes need it

    uvloop.run(work)


if __name__ == "__main__":
    {"gateway": gateway, "router": router, "agent": agent, "tools": tools}[sys.argv[1]](int(sys.argv[2]))
