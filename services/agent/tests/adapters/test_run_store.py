"""Claims on a real database: one holder at a time, in order, fenced, and taken over when the holder is gone."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.run_store import ClaimedRun, Ending, LostClaim, TakenOver
from agent.adapters.store import save_owner, save_state
from agent.core.replies import Address
from agent.core.state import ConversationState, Memory
from agent.owner_api import OwnerChange, _set_owner
from common.clock import SystemClock

NOW = datetime(2026, 11, 29, tzinfo=UTC)
KEY = "refund:4417028:L2"


def refund(status: str, **over: Any) -> dict[str, Any]:
    return {"key": KEY, "kind": "refund", "status": status, "order_id": "4417028", "line_id": "L2"} | over


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


def spoken(run: ClaimedRun) -> Any:
    return Address.of(run.work.message, run.owner_version).spoken(2, "agent", ["It is done."])


async def remembered(bench: Any) -> ConversationState:
    return ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))


@pytest.mark.parametrize("speaking", [True, False])
async def test_a_late_save_leaves_alone_what_a_person_did_with_the_conversation(
    make_bench: Any, make_work: Any, *, speaking: bool
) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim()
    run.state.memory.turns = 7
    await bench.parts.runs.checkpoint(run)
    assert (await remembered(bench)).memory.turns == 7
    # Dana takes it, answers and gives it back, which counts its turns anew; the worker knows nothing of it.
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
        await save_owner(conn, "conv_1", 2, "agent", "active")
        await save_state(conn, "conv_1", ConversationState().model_dump(mode="json"))
    with pytest.raises(TakenOver):
        await bench.parts.runs.checkpoint(run, spoken(run) if speaking else (), NOW)
    with pytest.raises(TakenOver):
        await bench.parts.runs.finish(run, Ending("answered", spoken(run), "too late", state=run.state), NOW)
    assert (await remembered(bench)).memory.turns == 0
    assert await bench.pool.fetchval("select count(*) from outbox") == 0
    assert await bench.pool.fetchval("select status from runs") == "running"


async def test_what_was_done_before_a_person_came_stays_known(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim()
    old, new = {"key": "refund:1", "status": "succeeded"}, {"key": "refund:2", "status": "pending"}
    run.state.memory.actions = {"refund:1": old}
    await bench.parts.runs.checkpoint(run)
    run.state.memory.actions["refund:2"] = new
    run.state.memory.turns = 9
    run.state.run_for("msg_1").moved_keys = ["refund:2"]
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
    assert not await bench.parts.runs.leave(run, NOW)
    after = (await remembered(bench)).memory
    assert after.actions == {"refund:1": old, "refund:2": new}
    assert after.turns == 0, "only the deeds are kept, for all else the person's word counts"


async def test_a_row_that_settled_while_a_person_came_stays_settled_in_memory_and_packet(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim()
    run.state.memory.actions = {KEY: refund("pending")}
    run.state.run_for("msg_1").moved_keys = [KEY]
    await bench.parts.runs.checkpoint(run)
    # The ledger's topic tells how it ended, and then Dana comes; the worker knows nothing of either.
    settled = refund("succeeded", version=2)
    async with bench.pool.acquire() as conn:
        await save_state(
            conn, "conv_1", ConversationState(memory=Memory(actions={KEY: settled})).model_dump(mode="json")
        )
    await _set_owner(bench.pool, "conv_1", OwnerChange(action="takeover", staff="dana"), SystemClock(), [settled])
    assert not await bench.parts.runs.leave(run, NOW)
    assert (await remembered(bench)).memory.actions == {KEY: settled}
    packet = await bench.pool.fetchval("select packet from handoffs")
    assert [row["status"] for row in packet["actions"]] == ["succeeded"]
    assert "not known yet" not in packet["next_step"]


@pytest.mark.parametrize("taken_over", [True, False])
async def test_an_ending_waits_for_whoever_holds_the_rows_and_looks_again(
    make_bench: Any, make_work: Any, *, taken_over: bool
) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    run = await bench.claim()
    ending = Ending("answered", spoken(run), "It is done.", state=run.state)
    async with bench.pool.acquire() as conn, conn.transaction():
        await conn.execute("update runs set claim_expires_at = claim_expires_at + interval '1 minute'")
        await conn.execute("update conversations set updated_at = now()")
        if taken_over:
            await save_owner(conn, "conv_1", 1, "dana", "with_person")
        finishing = asyncio.create_task(bench.parts.runs.finish(run, ending, NOW))
        waiting = (
            "select count(*) from pg_stat_activity "
            "where datname = current_database() and wait_event_type = 'Lock' and query like '%held%'"
        )
        async with asyncio.timeout(10):
            while not await bench.pool.fetchval(waiting):  # noqa: ASYNC110 - another session's wait has no event
                await asyncio.sleep(0.01)
    if taken_over:
        with pytest.raises(TakenOver):
            await finishing
    else:
        await finishing
    told = [row["text"] for row in await bench.pool.fetch("select text from messages where sender = 'agent'")]
    assert told == ([] if taken_over else ["It is done."])
    assert await bench.pool.fetchval("select status from runs") == ("running" if taken_over else "done")
    assert await bench.pool.fetchval("select count(*) from outbox") == (0 if taken_over else len(spoken(run)))


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


async def went_ahead(bench: Any, make_work: Any, **claim: Any) -> ClaimedRun:
    """The second message, begun because the first hadn't come in time; the first comes right after."""
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    await bench.pool.execute("update runs set created_at = clock_timestamp() - interval '20 seconds'")
    run: ClaimedRun = await bench.claim("w2", **claim)
    await bench.arrive(make_work(message_id="msg_1", seq=1))
    return run


async def test_a_late_predecessor_waits_until_the_message_that_went_ahead_is_answered(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    ahead = await went_ahead(bench, make_work)
    assert await bench.parts.runs.claim(("agent",), "w1", 30, 5) == []
    ahead.state.run_for("msg_2").model_calls = 1
    await bench.parts.runs.checkpoint(ahead)
    await bench.parts.runs.finish(ahead, Ending("answered", [], "hello", state=ahead.state), NOW)
    assert (await bench.claim("w1")).message_id == "msg_1"


@pytest.mark.parametrize("left", ["expired", "handed back", "released"])
async def test_a_message_that_went_ahead_and_lost_its_worker_goes_on_before_its_late_predecessor(
    make_bench: Any, make_work: Any, left: str
) -> None:
    bench = make_bench()
    ahead = await went_ahead(bench, make_work)
    ahead.state.run_for("msg_2").model_calls = 3
    await bench.parts.runs.checkpoint(ahead)
    if left == "handed back":
        await bench.parts.runs.hand_back([ahead])
    else:
        await bench.pool.execute("update runs set claim_expires_at = clock_timestamp() - interval '1 s' where seq = 2")
    if left == "released":
        assert await bench.parts.runs.release_expired() == ["msg_2"]
    found = await bench.parts.runs.claim(("agent",), "w3", 30, 5)
    assert [(run.message_id, run.state.run_for("msg_2").model_calls) for run in found] == [("msg_2", 3)]


async def test_two_claims_that_cannot_see_each_other_begin_one_message(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work(message_id="msg_2", seq=2))
    await bench.pool.execute("update runs set created_at = clock_timestamp() - interval '20 seconds'")
    async with bench.pool.acquire() as conn, conn.transaction():
        # Another worker's claim of the second message, not yet committed when the first one comes and is asked for.
        await conn.execute(
            "update runs set status = 'running', claimed_by = 'w2', attempts = 1, "
            "claim_expires_at = clock_timestamp() + interval '30 s' where seq = 2"
        )
        await bench.arrive(make_work(message_id="msg_1", seq=1))
        claiming = asyncio.create_task(bench.parts.runs.claim(("agent",), "w1", 30, 5))
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        async with asyncio.timeout(10):
            while not await bench.pool.fetchval(waiting):  # noqa: ASYNC110 - another session's wait has no event
                await asyncio.sleep(0.01)
    assert await claiming == []
    assert [tuple(r) for r in await bench.pool.fetch("select seq, status from runs order by seq")] == [
        (1, "queued"), (2, "running"),
    ]  # fmt: skip
