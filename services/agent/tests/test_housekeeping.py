"""Quiet conversations: asked once, closed later, opened again by the next message, gone after a year."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.run_store import Ending
from agent.housekeeping import Housekeeping
from common.clock import SystemClock


@pytest.fixture
async def bench(make_bench: Any, make_work: Any) -> Any:
    made = make_bench()
    await made.arrive(make_work())
    await made.parts.runs.finish(await made.claim(), Ending("answered", [], "hello"), datetime.now(UTC))
    return made


async def age(bench: Any, interval: str) -> None:
    await bench.pool.execute(f"update conversations set updated_at = updated_at - interval '{interval}'")


async def test_a_quiet_conversation_is_asked_once_however_many_replicas_look(bench: Any) -> None:
    await age(bench, "3 hours")
    keepers = [Housekeeping(bench.pool, SystemClock(), 7_200, 86_400) for _ in range(4)]
    await asyncio.gather(*(keeper.tidy() for keeper in keepers))
    await keepers[0].tidy()
    asked = await bench.pool.fetch("select text from messages where message_id <> 'msg_1'")
    assert [row["text"].startswith("Is everything settled?") for row in asked] == [True]
    assert await bench.pool.fetchval("select count(*) from outbox") == 2


async def test_it_is_closed_after_a_day_and_opened_by_the_next_message(bench: Any, make_work: Any) -> None:
    await age(bench, "25 hours")
    await Housekeeping(bench.pool, SystemClock(), 7_200, 86_400).tidy()
    assert await bench.pool.fetchval("select status from conversations") == "closed"
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    assert await bench.pool.fetchval("select status from conversations") == "active"


async def test_one_that_a_person_has_or_that_waits_for_an_answer_is_left_alone(bench: Any, make_work: Any) -> None:
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    await age(bench, "25 hours")
    await Housekeeping(bench.pool, SystemClock(), 7_200, 86_400).tidy()
    assert await bench.pool.fetchval("select status from conversations") == "active"


async def test_after_a_year_it_is_gone_with_all_that_hangs_on_it(bench: Any) -> None:
    await age(bench, "366 days")
    await Housekeeping(bench.pool, SystemClock(), 7_200, 86_400).tidy()
    assert await bench.pool.fetchval("select count(*) from messages") == 0
