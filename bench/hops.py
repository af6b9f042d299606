"""The floor of a hop (a record read from one topic and sent on to another), and the same through our own consumer."""

import asyncio
import time
from typing import Any

import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from common import db
from common.consumer import Consumer, Received, Subscription
from common.events import ReplyEvent
from common.ids import derived_id
from common.inbox import first_time
from common.outbox import INBOX_SQL
from common.producer import Producer
from common.settings import BusSettings
from common.topics import LEDGER_ACTIONS, REPLIES

RECORDS = 20_000
# Any other topic will do; what is measured is that a record arrives there.
ONWARD = LEDGER_ACTIONS
_KEYS = 500


async def fill(kafka: str, topic: str) -> None:
    """Write the records both consumers read: real events, 500 keys."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True, acks="all")
    await producer.start()
    event = ReplyEvent(
        conversation_id="c", message_id="m", channel="chat", owner_version=0, seq=1, event="token", data={"text": "hi"}
    )
    value = event.model_dump_json().encode()
    for start in range(0, RECORDS, 1_000):
        sends = [
            await producer.send(topic, value, key=f"c{n % _KEYS}".encode(), headers=[("event_id", f"ev-{n}".encode())])
            for n in range(start, start + 1_000)
        ]
        await asyncio.gather(*sends)
    await producer.stop()


async def bare(kafka: str, topic: str, onward: str, group: str, pool: "asyncpg.Pool[Any] | None" = None) -> float:
    """Read each record and send it on, in batches with one commit; with a pool, after one bare insert. Records/s."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=kafka, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    producer = AIOKafkaProducer(bootstrap_servers=kafka, enable_idempotence=True, acks="all")
    await producer.start()
    await consumer.start()
    seen, started = 0, time.perf_counter()

    async def handle(record: Any) -> None:
        event_id = record.headers[0][1].decode()
        if pool is not None:
            await pool.execute("insert into bare_inbox (event_id) values ($1) on conflict do nothing", event_id)
        await (await producer.send(onward, record.value, key=record.key, headers=list(record.headers)))

    try:
        while seen < RECORDS:
            records = [r for part in (await consumer.getmany(timeout_ms=1_000, max_records=200)).values() for r in part]
            await asyncio.gather(*(handle(record) for record in records))
            await consumer.commit()
            seen += len(records)
    finally:
        await consumer.stop()
        await producer.stop()
    return RECORDS / (time.perf_counter() - started)


async def ours(kafka: str, prefix: str, group: str, pool: "asyncpg.Pool[Any] | None" = None) -> float:
    """The same hop through the product's consumer and producer: decoded, in lanes; with a pool, through the inbox."""
    settings = BusSettings(KAFKA_BOOTSTRAP=kafka, TOPIC_PREFIX=prefix)
    producer = Producer(kafka, prefix)
    await producer.start()
    seen, finished = 0, asyncio.Event()

    async def handle(batch: list[Received[ReplyEvent]]) -> None:
        nonlocal seen
        if pool is not None:
            async with pool.acquire() as conn, conn.transaction():
                await first_time(conn, group, [received.event_id for received in batch])
        await asyncio.gather(
            *(
                producer.send(ONWARD, r.key, r.event, event_id=derived_id("hop", r.event_id), occurred_at=r.occurred_at)
                for r in batch
            )
        )
        seen += len(batch)
        if seen >= RECORDS:
            finished.set()

    # A handler that works on a whole batch at once is how the product's own hot topics are read.
    subscription = Subscription(REPLIES, group, ReplyEvent, handle, lanes=False)
    consumer = Consumer(settings, producer, [subscription])
    started = time.perf_counter()
    await consumer.start()
    await asyncio.wait_for(finished.wait(), 120)
    rate = RECORDS / (time.perf_counter() - started)
    await consumer.stop()
    await producer.stop()
    return rate


async def measure(kafka: str, dsn: str, prefix: str) -> list[str]:
    """Fill one topic and pass it on four ways; returns report lines."""
    topic = prefix + REPLIES.name
    await fill(kafka, topic)
    conn = await asyncpg.connect(dsn)
    await conn.execute("create schema if not exists hops; set search_path = hops")
    await conn.execute("create table bare_inbox (event_id text primary key);" + INBOX_SQL)
    await conn.close()
    pool = await db.open_pool(dsn, "hops")
    try:
        onward = prefix + ONWARD.name
        memory_floor = await bare(kafka, topic, onward, f"{prefix}bare")
        memory = await ours(kafka, prefix, "ours")
        inbox_floor = await bare(kafka, topic, onward, f"{prefix}bare-insert", pool)
        inbox = await ours(kafka, prefix, "ours-inbox", pool)
    finally:
        await pool.close()
    return [
        _compare("consumer hop, in-memory handler", memory, memory_floor, 0.6),
        _compare("consumer hop, inbox, against a bare insert a record", inbox, inbox_floor, 0.6),
    ]


def _compare(what: str, ours_rate: float, floor: float, goal: float) -> str:
    return f"{what:52} {ours_rate:9.0f}/s   floor {floor:9.0f}/s   ratio {ours_rate / floor:.2f} (goal ≥ {goal})"
