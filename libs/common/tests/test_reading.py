"""A busy group looks seldom and finds much at once; a quiet one waits for nothing; neither misses a record."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from common.consumer import Consumer, Received, Subscription
from common.events import ReplyEvent
from common.producer import Producer
from common.reading import APART_S, WATCHED_S, Pace
from common.settings import BusSettings
from common.topics import REPLIES, Topic

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def test_a_quiet_group_never_waits() -> None:
    pace = Pace(56.0, 0.0)
    for n in range(28):
        now = n / 28
        assert pace.pause_s(now) == 0.0
        pace.looked(now)
        pace.found(1, now)
    assert not pace.busy


def test_a_busy_group_waits_until_its_looks_are_apart_and_no_longer_once_it_is_quiet() -> None:
    pace = Pace(56.0, 0.0)
    for n in range(101):
        pace.found(1, n / 100)
    assert pace.busy
    pace.looked(2.0)
    assert pace.pause_s(2.01) == pytest.approx(APART_S - 0.01)
    assert pace.pause_s(2.0 + APART_S) == 0.0
    pace.found(1, 2.0)
    assert not pace.busy
    assert pace.pause_s(2.0) == 0.0


def test_one_burst_after_a_long_silence_is_not_busyness() -> None:
    pace = Pace(56.0, 0.0)
    pace.found(100, 60.0)
    assert not pace.busy


def test_a_group_that_is_behind_waits_for_nothing_until_it_has_caught_up() -> None:
    pace = Pace(56.0, 0.0)
    pace.found(200, WATCHED_S, full=True)
    pace.looked(1.0)
    assert (pace.busy, pace.pause_s(1.0)) == (True, 0.0)
    pace.found(150, 1.0)
    pace.looked(1.1)
    assert pace.pause_s(1.1) == pytest.approx(APART_S)


async def test_a_busy_group_takes_each_record_once_in_order_and_many_at_a_time(
    kafka_bootstrap: str, topic_prefix: str, make_topics: Callable[[Iterable[Topic]], Awaitable[None]]
) -> None:
    await make_topics([REPLIES])
    bus = BusSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)
    producer = Producer(bus.kafka_bootstrap, bus.topic_prefix)
    await producer.start()
    batches: list[list[tuple[str, int]]] = []

    async def handler(batch: list[Received[ReplyEvent]]) -> None:
        batches.append([(r.key, r.event.seq) for r in batch])

    consumer = Consumer(bus, producer, [Subscription(REPLIES, "t", ReplyEvent, handler, lanes=False, busy_per_s=1.0)])
    await consumer.start()
    try:
        n, until = 0, time.monotonic() + 2 * WATCHED_S
        while time.monotonic() < until:
            await _send(producer, f"c{n % 7}", n := n + 1)
        before = len(batches)
        for _ in range(200):
            await _send(producer, f"c{n % 7}", n := n + 1)
        async with asyncio.timeout(20):
            while sum(map(len, batches)) < n:  # noqa: ASYNC110 - what is waited for happens in a broker
                await asyncio.sleep(0.01)
    finally:
        await consumer.stop()
        await producer.stop()
    seen = [one for batch in batches for one in batch]
    assert sorted(n for _, n in seen) == list(range(1, n + 1))
    for key in {key for key, _ in seen}:
        of_key = [n for k, n in seen if k == key]
        assert of_key == sorted(of_key)
    assert len(batches) - before < 100


async def _send(producer: Producer, key: str, n: int) -> Any:
    event = ReplyEvent(
        conversation_id=key, message_id="m", channel="chat", owner_version=0, seq=n, event="token", data={"text": "hi"}
    )
    await producer.send(REPLIES, key, event, event_id=f"e{n}", occurred_at=NOW)
