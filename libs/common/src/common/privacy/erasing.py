"""How one schema erases: first what names the conversations as erased, then the rows, so that nothing comes back.

A late event may be writing while we delete. So the tombstones are committed first, and every statement that begins
after that finds them; those that began before are waited for; only then the rows go, with the record of it, in one
transaction. Killed anywhere, the same command goes on from what it finds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection

import asyncpg

from common import db
from common.errors import Refused, Transient
from common.privacy.command import Unfinished

ERASURE_SQL = """
-- What was erased when, under a name nobody can lead back to the customer.
create table erasures (
    pseudonym text        not null,
    at        timestamptz not null default now(),
    counts    jsonb       not null
);
-- Conversations that late events must not bring back; forgotten again once no topic can hold one.
create table erased_conversations (
    conversation_id text        primary key,
    at              timestamptz not null default now()
);
"""
# Longer than any topic keeps its records, and a replayed dead letter after them.
_TOMBSTONE_DAYS = 90
_WRITERS_END_WITHIN_S = 30.0
# Most statements of an erasure look through whole tables; nobody waits for its answer.
STATEMENT_S = 600.0
_MARK = """
insert into erased_conversations (conversation_id) select unnest($1::text[]) on conflict (conversation_id) do nothing
returning conversation_id
"""
_UNMARK = """
delete from erased_conversations
 where conversation_id = any($1::text[])
    or conversation_id in (select id from ({lives}) as living(id) where id = any($2::text[]))
"""
_IS_ERASED = "select exists (select 1 from erased_conversations where conversation_id = $1)"
_FORGET = "delete from erased_conversations where at < now() - make_interval(days => $1)"
_RECORD = "insert into erasures (pseudonym, counts) values ($1, $2)"
_WRITERS = """
select coalesce(array_agg(distinct virtualtransaction), '{}') from pg_locks
 where locktype = 'relation' and mode = 'RowExclusiveLock' and granted and pid <> pg_backend_pid()
   and database = (select oid from pg_database where datname = current_database())
   and relation = any($1::regclass[])
"""
_STILL_THERE = "select exists (select 1 from pg_locks where virtualtransaction = any($1::text[]))"

# Every statement of an export or an erasure may use the same three parameters and need not use any.
_GIVEN = "with given as (select $1::text as customer, $2::text[] as conversations, $3::text[] as names) "

Counts = dict[str, int]
# The customer, their conversations, and what else the part knows them by.
Names = tuple[str, list[str], list[str]]
Erase = Callable[[db.Connection, list[str]], Awaitable[Counts]]


async def erase_in_order(
    pool: db.Database,
    find: Callable[[db.Connection], Awaitable[Collection[str]]],
    erase: Erase,
    *,
    pseudonym: str,
    written: Collection[str],
    lives: str,
    unfinished: Collection[str] = (),
    records: bool = True,
) -> Counts:
    """Mark the conversations that ``find`` returns, wait for who writes into ``written``, erase, record; the counts.

    What the customer begins after the mark is no part of it. Raises Transient where a writer doesn't end. ``lives`` is
    a query for the ids that something is still kept of: no mark stays on one after a try that surely changed nothing.
    Raises Unfinished with what was found ``unfinished``, and takes back the marks of an earlier try that was cut off.
    Without ``records``, ``erase`` leaves the record itself.
    """
    if unfinished:
        async with pool.acquire() as conn:
            await conn.execute(_UNMARK.format(lives=lives), [], list(await find(conn)))
        raise Unfinished(list(unfinished))

    async def mark(conn: db.Connection) -> tuple[list[str], list[str]]:
        ids = sorted(await find(conn))
        return ids, [row["conversation_id"] for row in await conn.fetch(_MARK, ids)]

    ids, marked = await db.in_transaction(pool, mark)
    ending = False

    async def work(conn: db.Connection) -> Counts:
        nonlocal ending
        ending = False
        counts = await erase(conn, ids)
        # Again: another try of the same, refused meanwhile, may have taken the marks back.
        await conn.execute(_MARK, ids)
        await conn.execute(_FORGET, _TOMBSTONE_DAYS)
        if records:
            await conn.execute(_RECORD, pseudonym, counts)
        ending = True
        return counts

    try:
        await _earlier_writers_end(pool, written)
        return await db.in_transaction(pool, work)
    except (Refused, Transient, TimeoutError, asyncpg.QueryCanceledError):
        # Something began after it was looked for, or a writer or the database is slow: these conversations live on.
        # Once the commit was asked for, it may have happened, and the marks stay.
        if not ending:
            await pool.execute(_UNMARK.format(lives=lives), marked, ids)
        raise


async def is_erased(conn: "db.Connection | db.Database", conversation_id: str) -> bool:
    """Say whether this conversation was erased, as opposed to never having been."""
    return bool(await conn.fetchval(_IS_ERASED, conversation_id))


async def _earlier_writers_end(pool: db.Database, tables: Collection[str]) -> None:
    writers = await pool.fetchval(_WRITERS, list(tables))
    deadline = time.monotonic() + _WRITERS_END_WITHIN_S
    while writers and await pool.fetchval(_STILL_THERE, writers):
        if time.monotonic() > deadline:
            raise Transient("somebody's transaction doesn't end; run it again")
        await asyncio.sleep(0.02)


async def export_tables(
    pool: db.Database, statements: dict[str, str], names: Names
) -> AsyncIterator[dict[str, object]]:
    """Yield ``{"table","row"}`` of what each table's query selects; a query returns one column of JSON."""
    for table, sql in statements.items():
        for row in await pool.fetch(_GIVEN + sql, *names):
            yield {"table": table, "row": row[0]}


async def count_touched(conn: db.Connection, statements: dict[str, str], names: Names) -> Counts:
    """Run one statement a table, in their order, and return how many rows each touched."""
    return {table: int((await conn.execute(_GIVEN + sql, *names)).split()[-1]) for table, sql in statements.items()}
