"""Chats' messages on a real database: what comes together is taken together, each conversation as if it were alone."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest_asyncio

from common import db
from common.clock import SystemClock
from common.events import CustomerMessage
from common.ids import new_id
from common.outbox import Outgoing
from common.statements import Signer
from common.topics import MESSAGES
from gateway.adapters.chats import TAKE, Chats, Taking
from gateway.adapters.code_store import CodeBook
from gateway.adapters.events import Events
from gateway.adapters.store import Keyed
from gateway.core.callers import Caller
from gateway.core.conversations import Conversation, Incoming, customer_message
from gateway.core.requests import NewMessage
from gateway.intake import Intake

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


class Counting:
    """A pool that notes how many messages each statement was to take."""

    def __init__(self, pool: db.Database) -> None:
        self.pool, self.batches = pool, list[int]()

    async def fetch(self, sql: str, *args: Any, timeout: float) -> Any:
        if sql == TAKE:
            self.batches.append(len(args[0]))
        return await self.pool.fetch(sql, *args, timeout=timeout)

    def acquire(self) -> Any:
        return self.pool.acquire()


@pytest_asyncio.fixture
async def pool(database: Any) -> AsyncIterator[Any]:
    pool = await db.open_pool(database.dsn("gateway"), "gateway", plan_once=True)
    yield Counting(pool)
    await pool.close()


async def open_conversations(pool: Counting, *ids: str) -> None:
    await pool.pool.executemany(
        "insert into conversations (id, owner, customer_id, channel) values ($1, $2, $2, 'chat')",
        [(one, f"C-{one}") for one in ids],
    )


def taking(seen: Conversation, message: str, key: str = "k") -> Taking:
    incoming = Incoming(message, "chat", f"text of {message}", NOW)
    event = customer_message(seen, incoming, seen.last_seq + 1, (), None)
    outgoing = Outgoing(MESSAGES, seen.id, event, occurred_at=NOW, event_id=f"ev-{message}")
    return Taking.of(seen, incoming, Keyed(seen.owner, key, bytes(32)), NOW, outgoing)


async def standing(chats: Chats, conversation: str) -> Conversation:
    found = await chats.load_standing(conversation, f"C-{conversation}", "k")
    assert found is not None
    return found[0]


async def test_a_batch_takes_what_it_can_and_leaves_the_others_as_they_were(pool: Counting) -> None:
    await open_conversations(pool, "a", "moved", "given", "reused", "b", "pair")
    chats = Chats(pool)  # type: ignore[arg-type]
    seen = {name: await standing(chats, name) for name in ("a", "moved", "given", "reused", "b", "pair")}
    assert await chats.take_message(taking(seen["moved"], "first"))
    await pool.pool.execute("update conversations set owner = 'C-x', customer_id = 'C-x' where id = 'given'")
    # As after a twin on another replica whose message isn't of this conversation's numbers.
    await pool.pool.execute("insert into messages (id, conversation_id, channel, direction, author, text) "
                            "values ('other', 'reused', 'chat', 'inbound', 'customer', 'x')")  # fmt: skip
    await pool.pool.execute("insert into idempotency values ('C-reused', 'reused', 'k', $1, 'other')", bytes(32))
    pool.batches.clear()

    wanted = [
        taking(seen["b"], "mb"),
        taking(seen["moved"], "second", "k2"),
        taking(seen["given"], "mg"),
        taking(seen["reused"], "mr"),
        taking(seen["pair"], "p1", "k1"),
        taking(seen["pair"], "p2", "k2"),
        taking(seen["a"], "ma"),
    ]
    taken = await asyncio.gather(*(chats.take_message(one) for one in wanted))

    assert pool.batches[0] == 6, "each conversation once, in one statement"
    assert dict(zip([w.incoming.message_id for w in wanted], taken, strict=True)) == {
        "mb": True, "second": False, "mg": False, "mr": False, "p1": True, "p2": False, "ma": True,
    }  # fmt: skip
    rows = await pool.pool.fetch("select id, seq from messages where seq is not null order by id")
    assert [tuple(row.values()) for row in rows] == [("first", 1), ("ma", 1), ("mb", 1), ("p1", 1)]
    events = await pool.pool.fetch("select event_id, key, payload from outbox order by event_id")
    assert [row["event_id"] for row in events] == ["ev-first", "ev-ma", "ev-mb", "ev-p1"]
    for row in events:
        event = CustomerMessage.model_validate_json(row["payload"])
        assert (row["key"], row["event_id"]) == (event.conversation_id, f"ev-{event.message_id}")


async def test_a_look_up_of_many_finds_each_ones_own(pool: Counting) -> None:
    await open_conversations(pool, "a", "b")
    chats = Chats(pool)  # type: ignore[arg-type]
    assert await chats.take_message(taking(await standing(chats, "a"), "m1"))
    a, foreign, missing, b = await asyncio.gather(
        chats.load_standing("a", "C-a", "k"),
        chats.load_standing("a", "C-b", "k"),
        chats.load_standing("none", "C-a", "k"),
        chats.load_standing("b", "C-b", "k"),
    )
    assert (foreign, missing) == (None, None)
    assert a is not None
    assert b is not None
    assert (a[0].id, a[0].last_seq, a[1].known) == ("a", 1, (bytes(32), "m1"))
    assert [(turn.from_customer, turn.text) for turn in a[1].history] == [(True, "text of m1")]
    assert (b[0].id, b[0].last_seq, b[1].known, b[1].history) == ("b", 0, None, ())


async def test_a_batch_does_not_wait_for_a_conversation_that_somebody_holds(pool: Counting) -> None:
    await open_conversations(pool, "held", "free")
    chats = Chats(pool)  # type: ignore[arg-type]
    held, free = await standing(chats, "held"), await standing(chats, "free")
    async with pool.acquire() as holder, holder.transaction(), asyncio.timeout(20):
        await holder.execute("select from conversations where id = 'held' for update")
        taken = await asyncio.gather(chats.take_message(taking(held, "mh")), chats.take_message(taking(free, "mf")))
    assert taken == [False, True]


def intake_on(pool: Any, keys: Any) -> Intake:
    pem = (keys / "gateway.pem").read_text()
    codes = CodeBook(b"p" * 32, valid_s=600, tries_per_h=5, codes_per_h=3)
    events = Events(pool, "one", lambda: True)
    return Intake(
        pool, Chats(pool), events, Signer("gateway", pem), codes, clock=SystemClock(), assertion_s=600, step_up_s=600
    )


async def test_fifty_conversations_at_once_and_one_key_fifty_times_are_fifty_one_messages(
    pool: Counting, keys: Any
) -> None:
    names = [f"c{n:02}" for n in range(50)]
    await open_conversations(pool, *names, "same")
    intake = intake_on(pool, keys)
    new = NewMessage("hello", None, bytes(32))

    async def say(conversation: str) -> str:
        owner = f"C-{conversation}"
        return (await intake.take_chat(Caller(owner, owner, NOW), conversation, "k", new, new_id("msg"))).message_id

    ids = await asyncio.gather(*(say(name) for pair in zip(names, ["same"] * 50, strict=True) for name in pair))

    assert len(set(ids[::2])) == 50
    assert len(set(ids[1::2])) == 1
    assert await pool.pool.fetchval("select count(*) from messages") == 51
    assert await pool.pool.fetchval("select count(distinct key) from outbox") == 51
    assert await pool.pool.fetchval("select count(*) from outbox") == 51
    assert await pool.pool.fetchval("select max(last_seq) from conversations") == 1
    assert max(pool.batches) > 10, "they did share statements"
