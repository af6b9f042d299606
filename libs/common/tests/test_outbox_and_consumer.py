"""A fact and its event leave together; an event that comes twice works once; a bad one spoils nobody else's."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient

from common import db, dlq, outbox
from common.consumer import Consumer, Received, Subscription
from common.errors import Malformed, Transient
from common.events import ReplyEvent
from common.inbox import first_time
from common.outbox import Outgoing, Relay, enqueue, enqueue_all
from common.producer import Producer
from common.settings import BusSettings
from common.telemetry import continue_trace, trace_headers
from common.topics import REPLIES, Topic
from stack.databases import TestDatabase

NOW = datetime(2026, 11, 29, tzinfo=UTC)
MakeTopics = Callable[[Iterable[Topic]], Awaitable[None]]


def reply(conversation: str, seq: int, text: str = "hi") -> ReplyEvent:
    return ReplyEvent(
        conversation_id=conversation,
        message_id="m",
        channel="chat",
        owner_version=0,
        seq=seq,
        event="token",
        data={"text": text},
    )


@pytest.fixture
async def bus(kafka_bootstrap: str, topic_prefix: str, make_topics: MakeTopics) -> BusSettings:
    await make_topics([REPLIES])
    return BusSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)


@pytest.fixture
async def producer(bus: BusSettings) -> AsyncIterator[Producer]:
    made = Producer(bus.kafka_bootstrap, bus.topic_prefix)
    await made.start()
    yield made
    await made.stop()


@asynccontextmanager
async def consuming(bus: BusSettings, producer: Producer, handler: Any, **options: Any) -> AsyncIterator[Consumer]:
    consumer = Consumer(bus, producer, [Subscription(REPLIES, "test", ReplyEvent, handler, **options)])
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a broker
            await asyncio.sleep(0.01)


async def dead_letters(bus: BusSettings, at_least: int) -> list[Any]:
    consumer = AIOKafkaConsumer(
        bus.topic_prefix + REPLIES.dlq, bootstrap_servers=bus.kafka_bootstrap, auto_offset_reset="earliest"
    )
    await consumer.start()
    found: list[Any] = []
    try:
        async with asyncio.timeout(20):
            while len(found) < at_least:
                found += [r for part in (await consumer.getmany(timeout_ms=500)).values() for r in part]
        found += [r for part in (await consumer.getmany(timeout_ms=300)).values() for r in part]
    finally:
        await consumer.stop()
    return found


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[db.Database]:
    made = await db.open_pool(database.dsn("gateway"), "gateway")
    yield made
    await made.close()


@asynccontextmanager
async def relaying(database: TestDatabase, producer: Producer) -> AsyncIterator[None]:
    task = asyncio.create_task(Relay(database.dsn("gateway"), "gateway", producer).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_events_leave_with_their_commit_in_order_and_not_without_it(
    database: TestDatabase, pool: db.Database, bus: BusSettings, producer: Producer
) -> None:
    seen: list[ReplyEvent] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event for r in batch)

    async with relaying(database, producer), consuming(bus, producer, handler):
        for n in range(1, 21):
            async with pool.acquire() as conn, conn.transaction():
                await enqueue(conn, REPLIES, "c1", reply("c1", n), occurred_at=NOW)
        with contextlib.suppress(ZeroDivisionError):
            async with pool.acquire() as conn, conn.transaction():
                await enqueue(conn, REPLIES, "c1", reply("c1", 99), occurred_at=NOW)
                raise ZeroDivisionError
        async with pool.acquire() as conn, conn.transaction():
            await enqueue(conn, REPLIES, "c1", reply("c1", 21), occurred_at=NOW)
        await until(lambda: len(seen) >= 21)
    assert [event.seq for event in seen] == list(range(1, 22))
    assert await pool.fetchval("select count(*) from outbox") == 0


async def test_a_repeated_step_enqueues_its_event_once(pool: db.Database) -> None:
    for _ in range(2):
        async with pool.acquire() as conn, conn.transaction():
            await enqueue(conn, REPLIES, "c1", reply("c1", 1), occurred_at=NOW, event_id="same")
    assert await pool.fetchval("select count(*) from outbox") == 1


async def test_a_row_that_can_never_be_sent_blocks_only_its_own_key(
    database: TestDatabase, pool: db.Database, bus: BusSettings, producer: Producer
) -> None:
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event.conversation_id for r in batch)

    async with pool.acquire() as conn, conn.transaction():
        huge = reply("huge", 1).model_copy(update={"data": {"text": "x" * 1_300_000}})
        await enqueue_all(
            conn,
            [
                Outgoing(REPLIES, "huge", huge, occurred_at=NOW),
                Outgoing(REPLIES, "huge", reply("huge", 2), occurred_at=NOW),
                Outgoing(REPLIES, "fine", reply("fine", 1), occurred_at=NOW),
            ],
        )
    async with relaying(database, producer), consuming(bus, producer, handler):
        await until(lambda: "fine" in seen)
        async with asyncio.timeout(10):
            while await pool.fetchval("select count(*) from outbox where key = 'fine'"):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
    assert seen == ["fine"]
    stuck = await pool.fetch("select key, attempts, last_error from outbox order by id")
    assert [(r["key"], r["attempts"] > 0) for r in stuck] == [("huge", True), ("huge", False)]


async def test_only_one_of_two_relays_publishes(
    database: TestDatabase, pool: db.Database, bus: BusSettings, producer: Producer
) -> None:
    seen: list[int] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event.seq for r in batch)

    async with relaying(database, producer), relaying(database, producer), consuming(bus, producer, handler):
        for n in range(1, 51):
            async with pool.acquire() as conn, conn.transaction():
                await enqueue(conn, REPLIES, "c1", reply("c1", n), occurred_at=NOW)
        await until(lambda: len(seen) >= 50)
        await asyncio.sleep(0.3)
    assert seen == list(range(1, 51))


@pytest.mark.parametrize("apart", [True, False], ids=["in two batches", "in one batch"])
async def test_the_second_delivery_of_an_event_does_nothing(
    pool: db.Database, bus: BusSettings, producer: Producer, apart: bool
) -> None:
    worked: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        async with pool.acquire() as conn, conn.transaction():
            new = await first_time(conn, "test", [r.event_id for r in batch])
        worked.extend(r.event_id for r in batch if r.event_id in new)

    async def send(*event_ids: str) -> None:
        for event_id in event_ids:
            await producer.send(REPLIES, "c1", reply("c1", 1), event_id=event_id, occurred_at=NOW)

    await send("ev-1", "ev-1")
    async with consuming(bus, producer, handler):
        if apart:
            await until(lambda: worked)
        await send("ev-1", "ev-2")
        await until(lambda: "ev-2" in worked)
    assert worked == ["ev-1", "ev-2"]


async def test_what_was_handled_is_committed_and_not_read_again(bus: BusSettings, producer: Producer) -> None:
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event_id for r in batch)

    for event_id in ("ev-1", "ev-2"):
        await producer.send(REPLIES, "c1", reply("c1", 1), event_id=event_id, occurred_at=NOW)
        async with consuming(bus, producer, handler):
            await until(lambda wanted=event_id: wanted in seen)
    assert seen == ["ev-1", "ev-2"]


async def test_what_was_handled_is_committed_while_the_consumer_goes_on(bus: BusSettings, producer: Producer) -> None:
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event_id for r in batch)

    admin = AIOKafkaAdminClient(bootstrap_servers=bus.kafka_bootstrap)
    await admin.start()
    try:
        async with consuming(bus, producer, handler), asyncio.timeout(20):
            for n in (1, 2, 3):
                await producer.send(REPLIES, "c1", reply("c1", n), event_id=f"e{n}", occurred_at=NOW)
                committed = 0
                while committed < n:
                    offsets = await admin.list_consumer_group_offsets(f"{bus.topic_prefix}test")
                    committed = sum(o.offset for o in offsets.values() if o.offset > 0)
                assert len(seen) == n, "nothing is committed before it was handled"
    finally:
        await admin.close()


async def test_a_second_consumer_of_the_group_is_not_given_what_the_first_has_handled(
    bus: BusSettings, producer: Producer
) -> None:
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event_id for r in batch)

    async with consuming(bus, producer, handler):
        for n in range(30):
            await producer.send(REPLIES, f"c{n}", reply(f"c{n}", 1), event_id=f"e{n}", occurred_at=NOW)
        await until(lambda: len(seen) == 30)
        async with consuming(bus, producer, handler):
            await producer.send(REPLIES, "last", reply("last", 1), event_id="last", occurred_at=NOW)
            await until(lambda: "last" in seen)
    assert sorted(seen) == sorted([f"e{n}" for n in range(30)] + ["last"])


BAD = [None, b"", b"{", b'"text"', b"[]", b"\xff\xfe", b'{"conversation_id":"c"}', b'{"seq":"NaN"}', b"nul\x00"]


async def test_malformed_records_are_dead_lettered_whole_and_the_partition_moves_on(
    bus: BusSettings, producer: Producer
) -> None:
    """BB-KAF-09."""
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event.data["text"] for r in batch)

    for value in BAD:
        await producer.send_raw(REPLIES.name, b"c1", value, [("event_id", b"\xff"), ("odd", b"\x00")])
    good = reply("c1", 1, "after").model_dump_json().encode()
    await producer.send_raw(REPLIES.name, b"c1", good, [])
    async with consuming(bus, producer, handler):
        await until(lambda: seen)
        letters = await dead_letters(bus, len(BAD))
    assert seen == ["after"]
    assert [letter.value for letter in letters] == BAD
    for letter in letters:
        headers = dict(letter.headers)
        assert headers["odd"] == b"\x00"
        assert headers["dlq.group"] == b"test"
        assert headers["dlq.error"].startswith(b"Malformed")


async def test_one_record_that_a_handler_refuses_does_not_take_its_neighbours_along(
    bus: BusSettings, producer: Producer
) -> None:
    """BB-KAF-03."""
    seen: list[int] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        if any(r.event.seq == 2 for r in batch):
            raise Malformed("two is no number")
        seen.extend(r.event.seq for r in batch)

    for n in (1, 2, 3):
        await producer.send(REPLIES, "c1", reply("c1", n), event_id=f"e{n}", occurred_at=NOW)
    async with consuming(bus, producer, handler):
        await until(lambda: 3 in seen)
        letters = await dead_letters(bus, 1)
    assert seen == [1, 3]
    assert len(letters) == 1


async def test_a_passing_fault_is_retried_in_place_and_in_order(bus: BusSettings, producer: Producer) -> None:
    seen, failures = [], []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        if len(failures) < 3:
            failures.append(batch)
            raise Transient("not yet")
        seen.extend(r.event.seq for r in batch)

    for n in (1, 2):
        await producer.send(REPLIES, "c1", reply("c1", n), event_id=f"e{n}", occurred_at=NOW)
    async with consuming(bus, producer, handler):
        await until(lambda: len(seen) == 2)
    assert seen == [1, 2]


async def test_while_the_database_is_away_nothing_is_dropped(bus: BusSettings, producer: Producer) -> None:
    seen: list[int] = []
    attempts = 0

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= 8:  # longer than the retries in place, so the batch is read again
            raise asyncpg.CannotConnectNowError("starting up")
        seen.extend(r.event.seq for r in batch)

    await producer.send(REPLIES, "c1", reply("c1", 1), event_id="e1", occurred_at=NOW)
    async with consuming(bus, producer, handler):
        await until(lambda: seen)
    assert seen == [1]


async def test_a_bug_ends_in_the_dead_letters_and_replay_brings_the_record_back_once(
    bus: BusSettings, producer: Producer
) -> None:
    """BB-KAF-11."""
    seen: list[str] = []
    mended = False

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        if not mended:
            raise KeyError("a bug")
        seen.extend(r.event_id for r in batch)

    await producer.send(REPLIES, "c1", reply("c1", 1), event_id="e1", occurred_at=NOW)
    async with consuming(bus, producer, handler):
        letters = await dead_letters(bus, 1)
        assert dict(letters[0].headers)["dlq.attempts"] == b"5"
        mended = True
        assert await dlq.replay(bus, REPLIES, group="other", limit=None) == 0
        assert await dlq.replay(bus, REPLIES, group="test", limit=None) == 1
        assert await dlq.replay(bus, REPLIES, group="test", limit=None) == 0
        await until(lambda: seen)
    assert seen == ["e1"]


async def test_a_handler_that_hangs_is_seen_and_one_that_retries_is_not(bus: BusSettings, producer: Producer) -> None:
    started, release, failures = asyncio.Event(), asyncio.Event(), 0

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        nonlocal failures
        if failures < 2:
            failures += 1
            raise asyncpg.CannotConnectNowError("starting up")
        started.set()
        await release.wait()

    await producer.send(REPLIES, "c1", reply("c1", 1), event_id="e1", occurred_at=NOW)
    async with consuming(bus, producer, handler) as consumer:
        await started.wait()
        assert not consumer.stalled(patience_s=5)
        await asyncio.sleep(0.3)
        assert consumer.stalled(patience_s=0.2)
        release.set()
        await until(lambda: not consumer.stalled(patience_s=0.0))


async def test_an_outside_record_without_headers_gets_an_id_that_is_the_same_every_time(
    bus: BusSettings, producer: Producer
) -> None:
    ids: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        ids.extend(r.event_id for r in batch)

    raw = reply("c1", 1).model_dump_json().encode()
    async with consuming(bus, producer, handler):
        for n in (1, 2):
            await producer.send_raw(REPLIES.name, b"c1", raw, [])
            await until(lambda n=n: len(ids) == n)
    assert ids[0] == ids[1]


async def test_a_leader_that_stands_still_loses_the_lock_and_the_next_relay_publishes(
    database: TestDatabase, pool: db.Database, bus: BusSettings, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.outbox._SILENT_LEADER_MS", 500)
    leading = asyncio.Event()

    async def stands_still(_conn: object) -> None:
        leading.set()
        await asyncio.Event().wait()

    frozen = Relay(database.dsn("gateway"), "gateway", producer)
    frozen._publish_for_ever = stands_still  # type: ignore[method-assign] # as SIGSTOP leaves a leader: connected, silent
    stopped = asyncio.create_task(frozen.run())
    try:
        await asyncio.wait_for(leading.wait(), 10)
        async with relaying(database, producer):
            async with pool.acquire() as conn, conn.transaction():
                await enqueue(conn, REPLIES, "conv_1", reply("conv_1", 1), occurred_at=NOW)
            async with asyncio.timeout(10):
                while await pool.fetchval("select count(*) from outbox"):  # noqa: ASYNC110 - the relay's own work
                    await asyncio.sleep(0.05)
    finally:
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)


async def test_a_leader_that_wakes_to_find_its_session_ended_takes_the_lock_again_and_publishes(
    database: TestDatabase, pool: db.Database, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, woken = asyncpg.Connection.fetch, asyncio.Event()

    async def fetch_after_waking(conn: Any, *args: Any, **options: Any) -> Any:
        if not woken.is_set():
            woken.set()
            # What asyncpg says when the server's goodbye has been read and its end of file has not.
            raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
        return await fetch(conn, *args, **options)

    monkeypatch.setattr(asyncpg.Connection, "fetch", fetch_after_waking)
    async with relaying(database, producer):
        async with pool.acquire() as conn, conn.transaction():
            await enqueue(conn, REPLIES, "conv_1", reply("conv_1", 1), occurred_at=NOW)
        await asyncio.wait_for(woken.wait(), 10)
        async with asyncio.timeout(20):
            while await pool.fetchval("select count(*) from outbox"):  # noqa: ASYNC110 - the relay's own work
                await asyncio.sleep(0.05)


async def test_a_process_that_stands_still_in_a_transaction_gives_its_locks_back(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "IDLE_IN_TRANSACTION_MS", 300)
    pool = await db.open_pool(database.dsn("gateway"), "gateway")
    try:
        async with pool.acquire() as other, pool.acquire() as frozen:
            held = frozen.transaction()
            await held.start()
            await frozen.execute("select pg_advisory_xact_lock(1)")
            async with asyncio.timeout(5), other.transaction():
                await other.execute("select pg_advisory_xact_lock(1)")
            with pytest.raises(db.UNAVAILABLE):
                await frozen.execute("select 1")
    finally:
        await asyncio.wait_for(pool.close(), 10)


async def test_a_record_that_cannot_concern_the_group_is_passed_over_unread_and_committed(
    bus: BusSettings, producer: Producer
) -> None:
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.event.data["text"] for r in batch)

    def about_parcels(record: bytes) -> bool:
        return b"parcel" in record

    async with consuming(bus, producer, handler, concerns=about_parcels):
        await producer.send_raw(REPLIES.name, b"c1", b"no event at all", [])
        for n, text in enumerate(("weather", "a parcel", "news", "two parcels"), start=1):
            await producer.send(REPLIES, "c1", reply("c1", n, text), event_id=f"e{n}", occurred_at=NOW)
        await until(lambda: len(seen) == 2)
    async with consuming(bus, producer, handler):
        await producer.send(REPLIES, "c1", reply("c1", 5, "last"), event_id="e5", occurred_at=NOW)
        await until(lambda: len(seen) == 3)
    assert seen == ["a parcel", "two parcels", "last"]


@asynccontextmanager
async def hearing(database: TestDatabase) -> AsyncIterator[list[str]]:
    """What a listener of its own hears of the outbox."""
    heard: list[str] = []
    conn = await asyncpg.connect(database.dsn("gateway"))
    await conn.add_listener("outbox_gateway", lambda *notice: heard.append(str(notice[2])))
    yield heard
    await conn.close()


async def one_more(pool: db.Database, n: int) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await enqueue(conn, REPLIES, f"conv_{n}", reply(f"conv_{n}", n), occurred_at=NOW)


async def looks_by_itself(pool: db.Database) -> bool:
    """Whether the relay holds the lock that says so."""
    held = "select exists (select from pg_locks where locktype = 'advisory' and objid::int8 = $1 and granted)"
    return bool(await pool.fetchval(held, await pool.fetchval("select hashtext('outbox_awake:gateway')") % 2**32))


async def until_awake(pool: db.Database, numbers: Iterator[int]) -> None:
    """Enqueue on and on until the relay says that it looks by itself."""
    async with asyncio.timeout(20):
        while not await looks_by_itself(pool):
            await one_more(pool, next(numbers))


async def test_a_busy_relay_is_not_told_of_commits_and_publishes_them_all_and_a_quiet_one_is_told_again(
    database: TestDatabase, pool: db.Database, bus: BusSettings, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.outbox._BUSY_PER_S", 4.0)
    seen: list[str] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend(r.key for r in batch)

    numbers = itertools.count(1)
    async with relaying(database, producer), consuming(bus, producer, handler), hearing(database) as heard:
        await until_awake(pool, numbers)
        told = len(heard)
        for _ in range(20):
            await one_more(pool, next(numbers))
        last = next(numbers)
        await until(lambda: len(seen) >= last - 1)
        assert len(heard) == told, "a commit told a relay that looks by itself"
        # Nothing comes for a while: it sleeps, and hears of the next commit.
        async with asyncio.timeout(20):
            while len(heard) == told:
                await asyncio.sleep(1.0)
                await one_more(pool, last)
                last = next(numbers)
        await until(lambda: len(seen) >= last - 1)
    assert len(set(seen)) == len(seen) == last - 1


async def test_a_commit_that_found_the_relay_awake_is_published_though_it_comes_when_the_rush_is_over(
    database: TestDatabase, pool: db.Database, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.outbox._BUSY_PER_S", 4.0)
    async with relaying(database, producer), hearing(database) as heard:
        await until_awake(pool, itertools.count(1))
        async with pool.acquire() as conn, conn.transaction():
            await enqueue(conn, REPLIES, "conv_late", reply("conv_late", 1), occurred_at=NOW)
            told = len(heard)
            async with asyncio.timeout(10):
                while await looks_by_itself(pool):  # noqa: ASYNC110 - the relay's own work
                    await asyncio.sleep(0.05)
            await asyncio.sleep(outbox._LINGER_S + 0.1)
        async with asyncio.timeout(5):
            while await pool.fetchval("select count(*) from outbox"):  # noqa: ASYNC110 - the relay's own work
                await asyncio.sleep(0.05)
    assert len(heard) == told


async def test_a_keys_records_are_each_handled_in_their_own_trace(bus: BusSettings, producer: Producer) -> None:
    seen: list[tuple[int, str]] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        seen.extend((r.event.seq, trace_headers()["traceparent"]) for r in batch)

    # Sent before anybody reads, so that one look takes all three.
    came = [f"00-{n:032x}-{n:016x}-01" for n in (1, 1, 2)]
    for n, traceparent in enumerate(came, start=1):
        with continue_trace("test", {"traceparent": traceparent}):
            await producer.send(REPLIES, "c1", reply("c1", n), event_id=f"ev_{n}", occurred_at=NOW)
    async with consuming(bus, producer, handler):
        await until(lambda: len(seen) >= 3)
    assert seen == [(n, traceparent) for n, traceparent in enumerate(came, start=1)]
