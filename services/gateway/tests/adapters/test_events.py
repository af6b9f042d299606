"""Reply events on a real database: what comes together is written together, each conversation as if it were alone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from common import db
from common.errors import Refused
from common.events import ReplyEvent
from gateway.adapters.events import SAVE, Events, Saved, Writing, parameters
from gateway.core.replies import Known, plan_replies


class Counting:
    """A pool that notes how many conversations each batch held."""

    def __init__(self, pool: db.Database) -> None:
        self.pool, self.batches = pool, list[int]()

    async def fetch(self, sql: str, *args: Any) -> Any:
        if sql == SAVE:
            self.batches.append(len(args[0]))
        return await self.pool.fetch(sql, *args)

    def acquire(self) -> Any:
        return self.pool.acquire()


@pytest_asyncio.fixture
async def pool(database: Any) -> AsyncIterator[db.Database]:
    pool = await db.open_pool(database.dsn("gateway"), "gateway", plan_once=True)
    yield pool
    await pool.close()


def store_on(pool: Any, name: str = "one") -> Events:
    return Events(pool, name, lambda: False)


async def open_conversations(pool: db.Database, *ids: str, owner_version: int = 0) -> None:
    await pool.executemany(
        "insert into conversations (id, owner, customer_id, channel, owner_version) values ($1, $1, $1, 'chat', $2)",
        [(one, owner_version) for one in ids],
    )


def reply(conversation: str, message: str, seq: int, event: str = "status", **more: Any) -> ReplyEvent:
    text = f"{message}.{seq}"
    data = {"text": text} if event != "done" else {"message_id": message, "handoff": False, "reply": text}
    fields: dict[str, Any] = {"channel": "chat", "owner_version": 0, "event": event, "data": data, **more}
    return ReplyEvent(conversation_id=conversation, message_id=message, seq=seq, **fields)


def answer(conversation: str, message: str, **more: Any) -> list[ReplyEvent]:
    return [reply(conversation, message, n, event, **more) for n, event in enumerate(("status", "token", "done"), 1)]


async def positions(pool: db.Database, conversation: str) -> list[tuple[int, str, int]]:
    rows = await pool.fetch(
        "select position, message_id, seq from events where conversation_id = $1 order by position", conversation
    )
    return [tuple(row.values()) for row in rows]


async def test_a_batch_stores_the_sound_conversations_and_treats_the_others_as_if_each_were_alone(
    pool: db.Database,
) -> None:
    await open_conversations(pool, "sound", "other", "repeated", "ended", "robbed", "twice")
    await open_conversations(pool, "taken", owner_version=3)
    await store_on(pool).save("repeated", [reply("repeated", "r", 1)])
    await store_on(pool).save("ended", answer("ended", "e"))
    await store_on(pool).save("robbed", [reply("robbed", "mine", 1)])
    counting = Counting(pool)
    events = store_on(counting)

    outcomes = await asyncio.gather(
        events.save("sound", answer("sound", "s")),
        events.save("other", [reply("other", "o", 1)]),
        events.save("other", [reply("other", "thief", 1), reply("other", "mine", 2)]),
        events.save("repeated", [reply("repeated", "r", n) for n in (1, 2)]),
        events.save("ended", [reply("ended", "e", 4, "token")]),
        events.save("taken", answer("taken", "t")),
        events.save("nowhere", [reply("nowhere", "n", 1)]),
        events.save("twice", [reply("twice", "same", 1)]),
        events.save("robbed", [reply("robbed", "same", 1)]),
        return_exceptions=True,
    )

    assert max(counting.batches) == 7, "each conversation and each message once, in one statement"
    sound, other, foreign, repeated, ended, taken, nowhere, twice, robbed = outcomes
    assert [stored(o) for o in (sound, other, repeated, ended, taken, twice)] == [
        [("s", 1), ("s", 2), ("s", 3)],
        [("o", 1)],
        [("r", 2)],
        [],
        [("t", 1)],
        [("same", 1)],
    ]
    assert [type(o) for o in (foreign, nowhere, robbed)] == [Refused, Refused, Refused]
    assert await positions(pool, "repeated") == [(1, "r", 1), (2, "r", 2)]
    assert await positions(pool, "other") == [(1, "o", 1)]
    assert await positions(pool, "robbed") == [(1, "mine", 1)]
    lines = await pool.fetch("select conversation_id, text from messages order by conversation_id")
    assert [tuple(line.values()) for line in lines] == [("ended", "e.3"), ("sound", "s.3")]
    assert await pool.fetchval("select data->>'reply' from events where message_id = 't'") == ""
    numbers = await pool.fetch("select id, last_position from conversations where last_position > 0 order by id")
    assert {row["id"]: row["last_position"] for row in numbers} == {
        "ended": 3, "other": 1, "repeated": 2, "robbed": 1, "sound": 3, "taken": 1, "twice": 1,
    }  # fmt: skip


def stored(outcome: Saved | BaseException) -> list[tuple[str, int]]:
    assert isinstance(outcome, Saved), outcome
    return [(e.message_id, e.seq) for e in outcome.events]


async def test_one_conversations_bad_data_fails_alone(pool: db.Database) -> None:
    await open_conversations(pool, "good", "bad")
    # Refused by the table, not by the plan: a line for a channel that has no place there.
    broken = [event.model_copy(update={"channel": "telegram"}) for event in answer("bad", "b")]
    counting = Counting(pool)
    events = store_on(counting)
    good, bad = await asyncio.gather(
        events.save("good", answer("good", "g")), events.save("bad", broken), return_exceptions=True
    )
    assert counting.batches[0] == 2
    assert stored(good) == [("g", 1), ("g", 2), ("g", 3)]
    assert "telegram" not in str(await pool.fetch("select channel from messages"))
    assert type(bad).__name__ == "CheckViolationError"
    assert await positions(pool, "bad") == []


async def test_fifty_conversations_at_once_share_few_statements_and_lose_nothing(pool: db.Database) -> None:
    names = [f"c{n:02}" for n in range(50)]
    await open_conversations(pool, *names)
    counting = Counting(pool)
    events = store_on(counting)

    async def whole(name: str) -> None:
        for event in answer(name, f"m-{name}"):
            await events.save(name, [event])

    await asyncio.gather(*(whole(name) for name in reversed(names)))

    for name in names:
        assert await positions(pool, name) == [(n, f"m-{name}", n) for n in (1, 2, 3)]
    assert sum(counting.batches) == 150, "nothing took the careful path"
    assert len(counting.batches) < 30
    assert await pool.fetchval("select count(*) from messages where direction = 'outbound'") == 50


async def test_a_batch_does_not_wait_for_a_conversation_that_somebody_holds(pool: db.Database) -> None:
    await open_conversations(pool, "held", "free")
    events = store_on(pool)
    async with pool.acquire() as holder, asyncio.timeout(20):
        async with holder.transaction():
            await holder.execute("select from conversations where id = 'held' for update")
            held = asyncio.create_task(events.save("held", [reply("held", "h", 1)]))
            free = asyncio.create_task(events.save("free", [reply("free", "f", 1)]))
            assert stored(await free) == [("f", 1)]
            assert stored(await events.save("free", [reply("free", "f", 2)])) == [("f", 2)]
            assert not held.done()
        assert stored(await held) == [("h", 1)]


async def test_two_gateways_that_save_one_event_at_one_instant_leave_no_gap(pool: db.Database) -> None:
    names = [f"c{n:02}" for n in range(40)]
    await open_conversations(pool, *names)
    one, two = store_on(pool, "one"), store_on(pool, "two")
    for seq in (1, 2, 3):
        saves = [store.save(name, [reply(name, f"m-{name}", seq)]) for name in names for store in (one, two)]
        outcomes = await asyncio.gather(*saves)
        assert [len(a.events) + len(b.events) for a, b in zip(outcomes[::2], outcomes[1::2], strict=True)] == [1] * 40
    for name in names:
        assert await positions(pool, name) == [(n, f"m-{name}", n) for n in (1, 2, 3)]


async def test_what_a_twin_wrote_since_the_look_at_what_is_known_takes_no_position(pool: db.Database) -> None:
    """The moment between a statement's look and its lock, held open by another lock while the twin commits."""
    await open_conversations(pool, "c")
    plan = plan_replies(Known(0, {}, frozenset()), [reply("c", "m", 1)])
    look = "where id = a.id limit 1 for no key update"
    held_open = "where id = a.id and (select pg_advisory_xact_lock(7)) is not null limit 1 for no key update"
    assert SAVE.count(look) == 1
    waiting = "select count(*) from pg_stat_activity where wait_event = 'advisory' and datname = current_database()"
    async with pool.acquire() as holder, asyncio.timeout(20):
        async with holder.transaction():
            await holder.execute("select pg_advisory_xact_lock(7)")
            late = asyncio.create_task(
                pool.fetch(SAVE.replace(look, held_open), *parameters([(Writing("c", plan), None)]))
            )
            while not await pool.fetchval(waiting):  # noqa: ASYNC110 - a lock's wait has no event
                await asyncio.sleep(0.01)
            assert stored(await store_on(pool).save("c", [reply("c", "m", 1)])) == [("m", 1)]
        assert await late == []
    assert await pool.fetchval("select last_position from conversations") == 1
