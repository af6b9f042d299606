"""What the agent service holds of one customer: exported whole, erased for good, and a late event opens nothing."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from agent.adapters.answering import Answered, Answering
from agent.adapters.run_store import Ending, LostClaim
from agent.adapters.store import NEW, save_arrival
from agent.fixed import queue_run
from agent.privacy import Privacy
from common import db
from common.consumer import Received
from common.errors import Forgotten, Transient
from common.privacy.subject import Subject

MAYA = Subject(customer_id="C-1001")
TABLES = ("conversations", "messages", "runs", "handoffs", "outbox")


def received(work: Any, event_id: str = "ev_late") -> Any:
    return Received(work, event_id, work.message.conversation_id, datetime.now(UTC), {})


@pytest.fixture
async def bench(make_bench: Any, make_work: Any) -> Any:
    """Maya's finished conversation beside another customer's."""
    made = make_bench()
    for who in ("maya", "bob"):
        customer = "C-1001" if who == "maya" else "C-2002"
        work = make_work(f"{who} wrote", conversation_id=f"conv_{who}", message_id=f"msg_{who}", customer_id=customer)
        await made.arrive(work)
        await made.parts.runs.finish(await made.claim(), Ending("answered", [], f"hello {who}"), datetime.now(UTC))
    return made


@pytest.fixture
def privacy(bench: Any) -> Privacy:
    return Privacy(bench.pool, None)


async def everything(pool: Any) -> str:
    return str([[r[0] for r in await pool.fetch(f"select t::text from {table} t")] for table in TABLES])


async def test_an_export_holds_every_row_of_theirs_and_none_of_anybody_else(bench: Any, privacy: Privacy) -> None:
    found = [item async for item in privacy.export(await privacy.find(MAYA))]
    assert [item["table"] for item in found] == ["conversations", "messages", "messages", "runs"]
    text = json.dumps(found)
    assert "maya wrote" in text
    assert "hello maya" in text
    assert "bob" not in text


async def test_after_an_erasure_nothing_is_left_but_the_record_of_it(bench: Any, privacy: Privacy) -> None:
    counts = await privacy.erase(MAYA, "erased-1")
    assert counts == {"outbox": 0, "runs": 1, "handoffs": 0, "messages": 2, "conversations": 1}
    left = await everything(bench.pool)
    assert "maya" not in left
    assert "hello bob" in left
    assert await bench.pool.fetchval("select counts from erasures where pseudonym = 'erased-1'") == counts
    assert sum((await privacy.erase(MAYA, "erased-2")).values()) == 0, "again it finds nothing"


async def test_a_conversation_nobody_proved_goes_when_it_is_known_to_be_theirs(bench: Any, privacy: Privacy) -> None:
    await bench.pool.execute("update conversations set customer_id = null where id = 'conv_maya'")
    assert (await privacy.erase(MAYA, "erased-1"))["conversations"] == 0
    known = Subject(customer_id="C-1001", conversations=frozenset({"conv_maya", "conv_bob"}))
    assert (await privacy.erase(known, "erased-1"))["conversations"] == 1, "and another customer's stays theirs"
    assert "hello bob" in await everything(bench.pool)


@pytest.mark.parametrize("how", ["arrival", "queued", "answered"])
async def test_a_message_that_comes_late_opens_nothing_again(
    bench: Any, privacy: Privacy, make_work: Any, how: str
) -> None:
    await privacy.erase(MAYA, "erased-1")
    late = make_work("maya again", conversation_id="conv_maya", message_id="msg_late", seq=2)
    other = make_work("bob again", conversation_id="conv_bob", message_id="msg_b2", seq=2, customer_id="C-2002")
    match how:
        case "arrival":
            with pytest.raises(Forgotten):
                await db.in_transaction(bench.pool, lambda conn: save_arrival(conn, late))
        case "queued":
            with pytest.raises(Forgotten):
                await queue_run(bench.pool, "agent-fixed", received(late))
        case "answered":
            answering = Answering(bench.pool, "agent-fixed")
            items = [Answered.of(w, f"ev_{w.message.message_id}", NEW, "answer", []) for w in (late, other)]
            # Others that share its statement are stored.
            assert await asyncio.gather(*map(answering.save_answered, [*items, items[0]])) == [False, True, False]
    left = await everything(bench.pool)
    assert "maya" not in left
    assert await bench.pool.fetchval("select count(*) from inbox where event_id = 'ev_late'") == 0


async def test_a_run_that_was_under_way_saves_and_says_nothing_any_more(
    bench: Any, privacy: Privacy, make_work: Any
) -> None:
    await bench.arrive(make_work("maya asks", conversation_id="conv_maya", message_id="msg_2", seq=2))
    run = await bench.claim()
    assert await privacy.unfinished(MAYA) == ["1 message(s) are being answered"]
    await privacy.erase(MAYA, "erased-1")
    with pytest.raises(LostClaim):
        await bench.parts.runs.checkpoint(run)
    with pytest.raises(LostClaim):
        await bench.parts.runs.finish(run, Ending("answered", [], "too late, maya"), datetime.now(UTC))
    assert "maya" not in await everything(bench.pool)


async def test_a_message_that_is_being_stored_meanwhile_does_not_survive(
    bench: Any, privacy: Privacy, make_work: Any
) -> None:
    """It looked for the tombstone before that was there, and commits after the erasure began."""
    new = make_work("maya begins", conversation_id="conv_maya", message_id="msg_3", seq=3)
    async with bench.pool.acquire() as conn:
        transaction = conn.transaction()
        await transaction.start()
        await save_arrival(conn, new)
        erasing = asyncio.create_task(privacy.erase(MAYA, "erased-1"))
        async with asyncio.timeout(10):
            while not await bench.pool.fetchval("select count(*) from erased_conversations"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not erasing.done(), "it waits for who writes"
        await transaction.commit()
    assert (await erasing)["messages"] == 3
    assert "maya" not in await everything(bench.pool)


async def test_cut_off_in_between_it_goes_on_where_it_stopped(
    bench: Any, privacy: Privacy, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(*_: Any) -> Any:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr("agent.privacy.count_touched", cut_off)
        with pytest.raises(ConnectionError):
            await privacy.erase(MAYA, "erased-1")
    assert "hello maya" in await everything(bench.pool), "all or nothing"
    late = make_work("maya again", conversation_id="conv_maya", message_id="msg_late", seq=2)
    with pytest.raises(Forgotten):
        await db.in_transaction(bench.pool, lambda conn: save_arrival(conn, late))
    assert (await privacy.erase(MAYA, "erased-1"))["conversations"] == 1
    assert "maya" not in await everything(bench.pool)
    assert await bench.pool.fetchval("select count(*) from erasures") == 1


@pytest.mark.parametrize("trouble", [Transient("a writer doesn't end"), TimeoutError()], ids=["writer", "statement"])
async def test_a_try_that_surely_changed_nothing_leaves_no_mark(
    bench: Any, privacy: Privacy, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    async def fail(*_: Any) -> Any:
        raise trouble

    late = (
        "common.privacy.erasing._earlier_writers_end"
        if isinstance(trouble, Transient)
        else "agent.privacy.count_touched"
    )
    # As an earlier try left it that was killed.
    await bench.pool.execute("insert into erased_conversations (conversation_id) values ('conv_maya'), ('conv_gone')")
    with monkeypatch.context() as broken:
        broken.setattr(late, fail)
        with pytest.raises(type(trouble)):
            await privacy.erase(MAYA, "erased-1")
    marks = [r[0] for r in await bench.pool.fetch("select conversation_id from erased_conversations")]
    assert marks == ["conv_gone"], "and what is gone stays gone"


async def test_many_erasures_beside_many_messages_leave_no_row(bench: Any, privacy: Privacy, make_work: Any) -> None:
    async def write(n: int) -> None:
        work = make_work(f"maya {n}", conversation_id="conv_maya", message_id=f"msg_n{n}", seq=n)
        await asyncio.sleep(n / 500)
        try:
            await queue_run(bench.pool, "agent-fixed", received(work, f"ev_{n}"))
        except Forgotten:
            return

    writing = [asyncio.create_task(write(n)) for n in range(2, 60)]
    await asyncio.sleep(0.04)
    await asyncio.gather(*(privacy.erase(MAYA, f"erased-{n}") for n in range(3)))
    await asyncio.gather(*writing)
    assert "maya" not in await everything(bench.pool)


async def test_the_counter_in_redis_goes_too(bench: Any, redis_url: str) -> None:
    redis = Redis.from_url(redis_url)
    try:
        await redis.set("tokens:conv_maya", 5, ex=60)
        privacy = Privacy(bench.pool, redis)
        found = [item async for item in privacy.export(await privacy.find(MAYA))]
        assert found[-1] == {"table": "redis", "row": {"key": "tokens:conv_maya", "value": 5}}
        assert (await privacy.erase(MAYA, "erased-1"))["redis"] == 1
        assert await redis.get("tokens:conv_maya") is None
    finally:
        await redis.aclose()
