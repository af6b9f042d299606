"""``python -m approvals.privacy find|check|export|erase CUSTOMER``: requests, handoffs with packets, what staff wrote.

A request's row stays under its key with nothing in it, so that an old event can't fill it again.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from approvals.settings import Settings
from common import db
from common.privacy.command import Unfinished, main
from common.privacy.erasing import (
    STATEMENT_S,
    Counts,
    Names,
    count_touched,
    erase_in_order,
    export_tables,
)
from common.privacy.subject import Subject

PART = "approvals"
_CONVERSATIONS = """
select distinct conversation_id as id from handoffs
 where customer_id = $1 or (customer_id is null and conversation_id = any($2::text[])) order by 1
"""
# Somebody else's conversation under one of these ids stays theirs.
_NOT_ANOTHERS = """
select known.id from unnest($2::text[]) as known(id)
 where not exists (select 1 from handoffs where conversation_id = known.id and customer_id <> $1)
"""
_OPEN = "select count(*) from handoffs where conversation_id = any($1::text[]) and status in ('waiting', 'claimed')"
# $1 the customer, $2 their conversations, $3 ledger keys of theirs.
EXPORT = {
    "requests": "select to_jsonb(t) from requests t where customer_id = $1 or (customer_id is null and key = any($3))",
    "handoffs": "select to_jsonb(t) from handoffs t where conversation_id = any($2) order by opened_at",
    "staff_messages": "select to_jsonb(t) from staff_messages t where conversation_id = any($2) order by sent_at",
    "takeovers": "select to_jsonb(t) from takeovers t where conversation_id = any($2)",
    "outbox": "select to_jsonb(t) - 'payload' from outbox t where key = any($2)",
}
_LOCK = "select 1 from handoffs where conversation_id = any($1::text[]) order by id for update"
_ERASE = {
    "outbox": "delete from outbox where key = any($2)",
    "requests": """update requests set order_facts = '{}', customer_id = null
                   where customer_id = $1 or (customer_id is null and key = any($3) and order_facts <> '{}')""",
    "staff_messages": "delete from staff_messages where conversation_id = any($2)",
    "takeovers": "delete from takeovers where conversation_id = any($2)",
    "handoffs": "delete from handoffs where conversation_id = any($2)",
}
# A request that was never read here and comes late finds its place taken.
_TAKE_KEYS = """
insert into requests (key, version, digest, order_facts, queue, requested_at, expires_at)
select key, 2147483647, '', '{}', '', now(), now() from unnest($1::text[]) as known(key)
on conflict (key) do nothing
"""
_WRITTEN = ("handoffs", "staff_messages", "requests", "takeovers", "outbox")
_LIVES = "select conversation_id from handoffs"


class Privacy:
    """What approvals holds; see ``common.privacy.command.Holdings``."""

    def __init__(self, pool: db.Database) -> None:
        self._pool = pool

    async def find(self, subject: Subject) -> Subject:
        """Add the conversations that were handed over."""
        names = subject.customer_id, sorted(subject.conversations)
        found = frozenset(row["id"] for row in await self._pool.fetch(_CONVERSATIONS, *names))
        return subject.with_more(Subject(customer_id=subject.customer_id, conversations=found))

    async def unfinished(self, subject: Subject) -> list[str]:
        """A conversation that a person has, or that waits for one."""
        return await self._open(self._pool, await self._ids(self._pool, subject))

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        """Yield ``{"table","row"}``."""
        names: Names = (subject.customer_id, await self._ids(self._pool, subject), sorted(subject.keys))
        async for item in export_tables(self._pool, EXPORT, names):
            yield item

    async def erase(self, subject: Subject, pseudonym: str) -> Counts:
        """Delete it, requests emptied; raises Unfinished while a handoff is open."""

        async def erase(conn: db.Connection, ids: list[str]) -> Counts:
            await conn.execute(_LOCK, ids)
            if reasons := await self._open(conn, ids):
                raise Unfinished(reasons)
            counts = await count_touched(conn, _ERASE, (subject.customer_id, ids, sorted(subject.keys)))
            await conn.execute(_TAKE_KEYS, sorted(subject.keys))
            return counts

        return await erase_in_order(
            self._pool,
            lambda conn: self._ids(conn, subject),
            erase,
            pseudonym=pseudonym,
            written=_WRITTEN,
            lives=_LIVES,
            unfinished=await self.unfinished(subject),
        )

    @staticmethod
    async def _ids(conn: "db.Connection | db.Database", subject: Subject) -> list[str]:
        """Return every conversation of theirs, handed over or not: none may be handed over any more."""
        names = subject.customer_id, sorted(subject.conversations)
        rows = [*await conn.fetch(_CONVERSATIONS, *names), *await conn.fetch(_NOT_ANOTHERS, *names)]
        return sorted({row["id"] for row in rows})

    @staticmethod
    async def _open(conn: "db.Connection | db.Database", ids: list[str]) -> list[str]:
        count = await conn.fetchval(_OPEN, ids)
        return [f"{count} handoff(s) are open: a person has to close or return them first"] if count else []


@asynccontextmanager
async def opened() -> AsyncIterator[Privacy]:
    """Open what the environment of approvals names."""
    pool = await db.open_pool(Settings().database_url, "approvals", min_size=1, max_size=2, statement_s=STATEMENT_S)
    try:
        yield Privacy(pool)
    finally:
        await pool.close()


if __name__ == "__main__":
    sys.exit(main(PART, opened, sys.argv[1:]))
