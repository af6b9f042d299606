"""Claims on a real database: one holder at a time, in order, fenced, and taken over when the holder is gone."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.run_store import Ending, LostClaim, TakenOver
from agent.adapters.store import save_owner

NOW = datetime(2026, 11, 29, tzinfo=UTC)


async def test_a_queued_run_is_claimed_by_exactly_one_of_many_workers(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    claims = await asyncio.gather(*(bench.parts.runs.claim(("agent",), f"w{n}", 30, 5) for n in range(8)))
    assert sum(len(found) for found in claims) == 1


async def test_the_second_message_of_a_conversation_waits_for_the_first(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    await bench.arrive(make_work())
    first = await bench.claim()
    assert first.message_id == "msg_1"
    assert await bench.parts.runs.claim(("agent", "fixed"), "w2", 30, 5) == []
    await bench.parts.runs.finish(first, Ending("answered", [], "hello"), NOW)
    assert (await bench.claim("w2")).message_id == "msg_2"


async def test_a_message_whose_predecessor_never_came_starts_in_the_end(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    for waited in ("0 seconds", "10 seconds"):
        await bench.pool.execute(f"update runs set created_at = clock_timestamp() - interval '{waited}'")
        assert await bench.parts.runs.claim(("agent",), "w1", 30, 5) == [], waited
    await bench.pool.execute("update runs set created_at = clock_timestamp() - interval '16 seconds'")
    assert (await bench.claim()).message_id == "msg_2"


async def test_an_expired_claim_is_taken_over_and_the_late_holder_can_write_nothing(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    late = await bench.claim("w1", ttl_s=0.01)
    await asyncio.sleep(0.05)
    taker = await bench.claim("w2")
    assert taker.version > late.version
    with pytest.raises(LostClaim):
        await bench.parts.runs.checkpoint(late)
    with pytest.raises(LostClaim):
        await bench.parts.runs.finish(late, Ending("answered", [], "late words"), NOW)
    assert await bench.parts.runs.renew([late, taker], 30) == {"msg_1"}
    assert (await bench.pool.fetchval("select claimed_by from runs")) == "w2"
    await bench.parts.runs.finish(taker, Ending("answered", [], "the answer"), NOW)
    said = await bench.pool.fetch("select text from messages where sender = 'agent'")
    assert [row["text"] for row in said] == ["the answer"]


async def test_a_renewal_that_comes_after_expiry_does_not_revive_the_claim(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim(ttl_s=0.01)
    await asyncio.sleep(0.05)
    assert await bench.parts.runs.renew([run], 30) == set()


async def test_what_was_to_be_said_is_dropped_when_a_person_took_over(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim()
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
    with pytest.raises(TakenOver):
        await bench.parts.runs.checkpoint(run)
    with pytest.raises(TakenOver):
        await bench.parts.runs.finish(run, Ending("answered", [], "too late"), NOW)
    assert await bench.pool.fetchval("select count(*) from messages where sender = 'agent'") == 0
    assert await bench.pool.fetchval("select status from runs") == "running"


async def test_a_claim_that_was_handed_back_is_free_at_once(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim("w1", ttl_s=600)
    await bench.parts.runs.hand_back([run])
    assert (await bench.claim("w2")).attempts == 2


async def test_expired_claims_are_released_and_live_ones_kept(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    await bench.arrive(make_work(conversation_id="conv_2", message_id="msg_other"))
    gone = await bench.claim("w1", ttl_s=600)
    await bench.claim("w2", ttl_s=600)
    await bench.pool.execute(
        "update runs set claim_expires_at = clock_timestamp() - interval '1 s' where message_id = $1", gone.message_id
    )
    assert await bench.parts.runs.release_expired() == [gone.message_id]
    assert await bench.parts.runs.release_expired() == []


async def test_live_channels_are_claimed_before_older_email(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work(channel="email"))
    await bench.arrive(make_work(conversation_id="conv_2", message_id="msg_chat"))
    assert (await bench.claim()).message_id == "msg_chat"


async def test_the_same_message_arriving_twice_makes_one_run_and_one_line(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    await bench.arrive(make_work())
    assert await bench.pool.fetchval("select count(*) from runs") == 1
    assert await bench.pool.fetchval("select count(*) from messages") == 1
