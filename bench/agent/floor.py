"""The floor of an agent turn: a bare asyncio loop around the SDK that loses nothing in a crash, and nothing else.

No policy, no reply check, no guard, no quotas, no streaming to the customer. It makes the same model calls, the same
HTTP calls but the reply check's look into the ledger, and as many rows and saves as it takes to resume anywhere:
``python -m bench.agent.floor``.
"""

import asyncio
import json
import os
from typing import Any

import aiohttp
import anthropic
import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.chain import uvloop_run

Json = dict[str, Any]
TABLES = """
create schema if not exists bare;
set search_path = bare;
create table inbox (event_id text primary key);
create table messages (id text primary key, text text not null, at timestamptz default now());
create table runs (id text primary key, work jsonb not null, state jsonb not null default '{}', status text not null,
                   claimed_until timestamptz, version bigint not null default 0);
create table outbox (id bigint generated always as identity primary key, key text not null, value bytea not null);
"""
_CLAIM = """
update runs set status = 'running', version = version + 1, claimed_until = clock_timestamp() + interval '4 seconds'
where id = $1 and status = 'queued' returning version
"""
_SAVE = "update runs set state = $3 where id = $1 and version = $2 and status = 'running'"
_END = "update runs set state = $3, status = 'done', work = '{}' where id = $1 and version = $2 and status = 'running'"


class Floor:
    """One worker: takes messages from Kafka, answers them side by side, publishes what its outbox holds."""

    def __init__(self, pool: Any, producer: Any, http: aiohttp.ClientSession, tools: list[Json]) -> None:
        self.pool, self.producer, self.http, self.tools = pool, producer, http, tools
        self.url, self.replies = os.environ["BENCH_NEIGHBOURS"], os.environ["BENCH_REPLIES"]
        self.model = anthropic.AsyncAnthropic(
            api_key="k", base_url=self.url, max_retries=0, http_client=anthropic.DefaultAioHttpClient()
        )
        self.running: set[asyncio.Task[None]] = set()
        self.wake = asyncio.Event()

    async def take_in(self, record: Any) -> None:
        """Rows first, then the first event, then a task of its own."""
        work = json.loads(record.value)["message"]
        message_id = work["message_id"]
        async with self.pool.acquire() as conn, conn.transaction():
            await conn.execute("insert into inbox values ($1) on conflict do nothing", message_id)
            await conn.execute("insert into messages (id, text) values ($1, $2)", message_id, work["text"])
            await conn.execute(
                "insert into runs (id, work, status) values ($1, $2, 'queued')", message_id, json.dumps(work)
            )
        await self.producer.send(self.replies, _event(message_id, "status", "looking"), key=message_id.encode())
        task = asyncio.create_task(self.answer(work))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def answer(self, work: Json) -> None:
        """The loop: ask, save, call, save, until the model has nothing left to call."""
        run = work["message_id"]
        version = await self.pool.fetchval(_CLAIM, run)
        messages: list[Json] = [{"role": "user", "content": work["text"]}]
        await self.get("/v1/customer")
        while True:
            text, calls = await self.ask(messages, work["conversation_id"])
            content: list[Json] = [{"type": "text", "text": text}] if text else []
            messages.append({"role": "assistant", "content": [*content, *calls]})
            await self.pool.execute(_SAVE, run, version, json.dumps({"messages": messages}))
            if not calls:
                break
            results = []
            for call in calls:
                result = await self.call(call["name"], call["input"])
                results.append({"type": "tool_result", "tool_use_id": call["id"], "content": json.dumps(result)})
                state = json.dumps({"messages": messages, "results": results})
                said = [] if call["name"] == "get_order" else [_event(run, "action", call["name"])]
                await self.save(run, version, state, said)
            messages.append({"role": "user", "content": results})
        ending = [_event(run, "token", text), _event(run, "done", text)]
        await self.save(run, version, json.dumps({"messages": messages}), ending, text)

    async def ask(self, messages: list[Json], subject: str) -> tuple[str, list[Json]]:
        """One streamed turn."""
        text, calls, raw = "", list[Json](), list[str]()
        stream = await self.model.messages.create(
            model="m", max_tokens=1024, stream=True, messages=messages, tools=self.tools,
            system="You are the support agent of a store.", metadata={"user_id": subject},
        )  # type: ignore[call-overload]  # fmt: skip
        async for event in stream:
            if event.type == "content_block_delta":
                if event.delta.type == "text_delta":
                    text += event.delta.text
                else:
                    raw[-1] += event.delta.partial_json
            elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                calls.append({"type": "tool_use", "id": event.content_block.id, "name": event.content_block.name})
                raw.append("")
        return text, [call | {"input": json.loads(body)} for call, body in zip(calls, raw, strict=True)]

    async def call(self, name: str, args: Json) -> Json:
        body = {"args": args, "context": {}}
        async with self.http.post(f"{self.url}/v1/tools/{name}", json=body) as answer:
            found: Json = await answer.json()
            return found

    async def get(self, path: str) -> Json:
        async with self.http.get(f"{self.url}{path}") as answer:
            found: Json = await answer.json()
            return found

    async def save(self, run: str, version: int, state: str, said: list[bytes], words: str = "") -> None:
        """The checkpoint, or with ``words`` the end, and the events it sends, in one transaction."""
        async with self.pool.acquire() as conn, conn.transaction():
            await conn.execute(_END if words else _SAVE, run, version, state)
            if words:
                await conn.execute("insert into messages (id, text) values ($1, $2)", f"{run}:reply", words)
            if said:
                await conn.execute("insert into outbox (key, value) select $1, unnest($2::bytea[])", run, said)
        if said:
            self.wake.set()

    async def publish(self) -> None:
        """Send what the outbox holds, in order; forget it when the broker has it."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            rows = await self.pool.fetch("select id, key, value from outbox order by id limit 500")
            sent = [await self.producer.send(self.replies, r["value"], key=r["key"].encode()) for r in rows]
            await asyncio.gather(*sent)
            await self.pool.execute("delete from outbox where id = any($1::bigint[])", [r["id"] for r in rows])


def _event(message_id: str, event: str, text: str) -> bytes:
    return json.dumps({"message_id": message_id, "event": event, "data": {"text": text, "reply": text}}).encode()


async def main() -> None:
    """Work until killed."""
    kafka = os.environ["KAFKA_BOOTSTRAP"]
    producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True, acks="all")
    consumer = AIOKafkaConsumer(
        os.environ["BENCH_WORK"], bootstrap_servers=kafka, group_id=os.environ["BENCH_WORK"],
        enable_auto_commit=False, auto_offset_reset="earliest",
    )  # fmt: skip
    await producer.start()
    await consumer.start()
    settings = {"search_path": "bare"}
    pool = await asyncpg.create_pool(os.environ["BENCH_DSN"], min_size=2, max_size=8, server_settings=settings)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        floor = Floor(pool, producer, http, [])
        floor.tools = (await floor.get("/v1/tools"))["tools"]
        publishing = asyncio.create_task(floor.publish())
        while not publishing.done():
            batches = await consumer.getmany(timeout_ms=1000, max_records=200)
            records = [record for batch in batches.values() for record in batch]
            if records:
                await asyncio.gather(*(floor.take_in(record) for record in records))
                await consumer.commit()
        publishing.result()


if __name__ == "__main__":
    uvloop_run(main())
