"""The bug bank's cases about dedupe, counters in Redis and providers in trouble: one test each, by id."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web

from common import db
from common.clock import SystemClock
from common.consumer import Consumer, Received, Subscription
from common.events import ReplyEvent
from common.inbox import first_time
from common.models import ModelFault, ModelGateway, ModelRequest, ModelsDown, RetryPlan
from common.models.anthropic_wire import AnthropicProvider
from common.models.retry_after import CAP_S, retry_after_s
from common.producer import Producer
from common.settings import BusSettings
from common.topics import REPLIES
from stack.databases import TestDatabase

NOW = datetime(2026, 11, 29, tzinfo=UTC)
REQUEST = ModelRequest("system", ({"role": "user", "content": "hi"},))


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[db.Database]:
    made = await db.open_pool(database.dsn("gateway"), "gateway")
    async with made.acquire() as conn:
        yield made
        await conn.execute("select 1")
    await made.close()


async def test_bb_kaf_13_each_group_handles_an_event_once_whatever_another_group_has_seen(pool: db.Database) -> None:
    handled: list[str] = []
    for group in ("audit", "notifier", "audit", "notifier"):
        async with pool.acquire() as conn, conn.transaction():
            if await first_time(conn, group, ["e1"]):
                handled.append(group)
    assert handled == ["audit", "notifier"]


async def test_bb_kaf_14_a_crash_between_the_mark_and_the_effect_leaves_neither(pool: db.Database) -> None:
    effects = "select count(*) from inbox where consumer_group = 'effect'"

    async def handle(conn: db.Connection, *, crashes: bool) -> None:
        if not await first_time(conn, "worker", ["e1"]):
            return
        if crashes:
            raise ConnectionResetError
        await conn.execute("insert into inbox (consumer_group, event_id) values ('effect', 'e1')")

    with pytest.raises(ConnectionResetError):
        await db.in_transaction(pool, lambda conn: handle(conn, crashes=True))
    assert await pool.fetchval("select count(*) from inbox") == 0
    for _ in range(2):
        await db.in_transaction(pool, lambda conn: handle(conn, crashes=False))
    assert await pool.fetchval(effects) == 1


async def test_bb_kaf_08_a_shutdown_after_an_error_commits_only_what_was_handled(
    kafka_bootstrap: str, topic_prefix: str, make_topics: Any
) -> None:
    await make_topics([REPLIES])
    bus = BusSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)
    producer = Producer(kafka_bootstrap, topic_prefix)
    await producer.start()
    handled: list[int] = []
    failed = asyncio.Event()

    async def until_the_fourth(batch: list[Received[ReplyEvent]]) -> None:
        for received in batch:
            if received.event.seq == 4:
                failed.set()
                raise OSError("the database is away")
            handled.append(received.event.seq)

    async def all_of_them(batch: list[Received[ReplyEvent]]) -> None:
        handled.extend(received.event.seq for received in batch)

    for seq in range(1, 11):
        event = ReplyEvent(conversation_id="c", message_id="m", channel="chat", owner_version=0, seq=seq,
                           event="token", data={})  # fmt: skip
        await producer.send(REPLIES, "c", event, event_id=f"e{seq}", occurred_at=NOW)
    for handler, enough in ((until_the_fourth, failed.is_set), (all_of_them, lambda: 10 in handled)):
        consumer = Consumer(bus, producer, [Subscription(REPLIES, "test", ReplyEvent, handler)])
        await consumer.start()
        async with asyncio.timeout(30):
            while not enough():  # noqa: ASYNC110 - it happens in a broker
                await asyncio.sleep(0.02)
        await consumer.stop()
    await producer.stop()
    assert set(handled) == set(range(1, 11))
    assert handled[-7:] == [4, 5, 6, 7, 8, 9, 10]


async def test_bb_llm_14_overload_inside_a_200_stream_is_tried_again_a_few_times_and_is_no_answer() -> None:
    asked: list[Any] = []
    usage = {"input_tokens": 1, "output_tokens": 0}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": usage}
    start = {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    half = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I have ref"}},
    ]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(await request.json())
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        for event in (start, *half, overloaded):
            await stream.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return stream

    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    sizes: Any = {"large": "claude-sonnet-5-5", "small": "claude-haiku-5-5"}
    provider = AnthropicProvider("key", sizes, f"http://127.0.0.1:{port}", timeout_s=5)
    gateway = ModelGateway([provider], SystemClock(), plan=RetryPlan(tries=2, first_wait_s=0.0))
    try:
        with pytest.raises(ModelsDown):
            await gateway.ask(REQUEST, 20)
        assert len(asked) == 2
    finally:
        await gateway.close()
        await runner.cleanup()


@pytest.mark.parametrize("header", ["30", "Wed, 21 Oct 2099 07:28:00 GMT", "-5", "1e9", "abc", "nan", "inf", ""])
def test_bb_llm_17_no_retry_after_makes_anybody_wait_long(header: str) -> None:
    wait = retry_after_s(header)
    assert wait is None or 0 <= wait <= CAP_S


class Overloaded:
    name = "only"

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, _request: ModelRequest, _hearer: Any = None) -> Any:
        self.asked += 1
        await asyncio.sleep(0)
        raise ModelFault("overloaded_error", retry_after_s("abc"))

    async def close(self) -> None:
        return None


async def test_bb_llm_17_in_an_outage_two_hundred_runs_together_probe_and_do_not_hammer(
    make_time_line: Any,
) -> None:
    time, provider = make_time_line(), Overloaded()
    plan = RetryPlan(tries=2, first_wait_s=0.0, longest_wait_s=0.0)
    gateway = ModelGateway([provider], time, plan=plan, breaker_threshold=3, breaker_rest_s=5.0, pause=time.pause)

    async def one(budget_s: float = 30.0) -> None:
        with pytest.raises(ModelsDown):
            await gateway.ask(REQUEST, budget_s)

    for _ in range(3):
        await one(budget_s=1.0)
    while_it_was_new = provider.asked
    assert while_it_was_new <= 3
    # A minute of outage, a wave of two hundred every four seconds, all of whom wait for the next probe: one in five.
    waves = []
    for second in range(10, 80):
        if second < 70 and second % 4 == 0:
            waves.append(asyncio.gather(*(one() for _ in range(200))))
        await time.go_to(float(second))
    await asyncio.gather(*waves)
    assert provider.asked - while_it_was_new <= 70 / 5 + 1
