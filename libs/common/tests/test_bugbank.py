"""The bug bank's cases about dedupe, counters in Redis and providers in trouble: one test each, by id."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from common import db
from common.clock import FixedClock
from common.inbox import first_time
from common.models import ModelFault, ModelGateway, ModelRequest, ModelsDown, RetryPlan
from common.models.quotas import RedisQuotas
from common.models.retry_after import CAP_S, retry_after_s
from stack.databases import TestDatabase

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


async def test_bb_red_01_a_counter_is_never_without_an_end(redis_url: str, topic_prefix: str) -> None:
    """The increment and its expiry are one command, so that nothing can come between them."""
    redis = Redis.from_url(redis_url)
    sent: list[str] = []
    real = redis.execute_command

    async def note(*args: Any, **options: Any) -> Any:
        sent.append(str(args[0]))
        return await real(*args, **options)

    redis.execute_command = note  # type: ignore[method-assign]
    try:
        quotas = RedisQuotas(redis, per_minute=2)
        assert await quotas.take("live")
        keys = [key async for key in redis.scan_iter("models:calls:*")]
        assert keys
        for key in keys:
            assert 0 < await redis.pttl(key) <= 120_000
        assert [name for name in sent if name in ("INCR", "INCRBY", "SET", "EXPIRE", "PEXPIRE")] == []
    finally:
        await redis.aclose()


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from datetime import UTC, datetime

    clock, provider = FixedClock(datetime(2026, 11, 29, tzinfo=UTC)), Overloaded()
    seconds = [0.0]
    monkeypatch.setattr(clock, "monotonic", lambda: seconds[0])
    plan = RetryPlan(tries=2, first_wait_s=0.0, longest_wait_s=0.0)
    gateway = ModelGateway([provider], clock, plan=plan, breaker_threshold=3, breaker_rest_s=5.0)

    async def one() -> None:
        with pytest.raises(ModelsDown):
            await gateway.ask(REQUEST, 30.0)

    for _ in range(3):
        await one()
    while_it_was_new = provider.asked
    assert while_it_was_new <= 3
    # Five minutes of outage, a wave of two hundred every second: at most one probe in five seconds.
    for second in range(60):
        seconds[0] = 10.0 + second
        await asyncio.gather(*(one() for _ in range(200)))
    assert provider.asked - while_it_was_new <= 60 / 5 + 1
