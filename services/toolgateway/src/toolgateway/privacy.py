"""``python -m toolgateway.privacy find|check|export|erase CUSTOMER``: the ledger's part in what is held of a customer.

Rows stay as bookings and as what stops money from moving twice; the database's own ``erase_customer`` takes out what a
person is known by (docs/decisions/0010).
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from common import db
from common.privacy.command import Unfinished, main
from common.privacy.erasing import STATEMENT_S, Counts, Names, erase_in_order, export_tables
from common.privacy.subject import Subject
from toolgateway.policy import load_policy
from toolgateway.settings import Settings

# ruff: noqa: S608 - what is put together here are our own constants

PART = "toolgateway"
_FIND = """
select key, order_id, conversation_id, external_ref from actions where customer_id = $1
union all
select null, order_id, conversation_id, null from audit where customer_id = $1
"""
# A conversation under whose id somebody else has a row is nobody's to close.
_OWN_CONVERSATIONS = """
select known.id from unnest($2::text[]) as known(id)
 where not exists (select 1 from actions where conversation_id = known.id and customer_id <> $1)
   and not exists (select 1 from audit where conversation_id = known.id and customer_id <> $1)
"""
_ABOUT = "(about = any($3::text[]) or details ->> 'order_id' = any($3::text[]))"
# $1 the customer, $2 their conversations, $3 keys, references and orders.
EXPORT = {
    "actions": "select to_jsonb(t) from actions t where customer_id = $1 order by created_at",
    "actions_history": """select to_jsonb(t) from actions_history t
                          where key in (select key from actions where customer_id = $1) order by seq""",
    "audit": f"""select to_jsonb(t) from audit t where customer_id = $1
                 or (customer_id is null and conversation_id = any($2))
                 or (what = 'task' and details ->> 'task' in (select id::text from tasks where {_ABOUT}))
                 order by id""",
    "tasks": f"select to_jsonb(t) from tasks t where {_ABOUT} order by id",
    "old_addresses": """select to_jsonb(t) from old_addresses t
                        where key in (select key from actions where customer_id = $1)""",
    "outbox": "select to_jsonb(t) - 'payload' from outbox t where key = any($3)",
}
_OPEN = {
    "ledger row(s) are open: they have to run, or somebody has to decide them":
        "select count(*) from actions where customer_id = $1 and status in ('pending', 'awaiting_approval')",
    "event(s) of the ledger are not published yet": "select count(*) from outbox where key = any($3)",
    "task(s) about them wait for a person": f"select count(*) from tasks where closed_at is null and {_ABOUT}",
}  # fmt: skip
_GIVEN = "with given as (select $1::text, $2::text[], $3::text[]) "
_ERASE = "select erase_customer($1, $2, $3, $4, $5)"
_WRITTEN = ("actions", "audit", "tasks", "outbox")
_LIVES = "select conversation_id from actions union all select conversation_id from audit"


class Privacy:
    """What the ledger holds; see ``common.privacy.command.Holdings``.

    ``window_days`` is the longest time any rule counts a customer's rows over.
    """

    def __init__(self, pool: db.Database, window_days: int) -> None:
        self._pool, self._window_days = pool, window_days

    async def find(self, subject: Subject) -> Subject:
        """Add the rows' keys, their orders and their conversations."""
        rows = await self._pool.fetch(_FIND, subject.customer_id)
        known = sorted(subject.conversations | {row["conversation_id"] for row in rows if row["conversation_id"]})
        own = await self._pool.fetch(_OWN_CONVERSATIONS, subject.customer_id, known)
        return subject.with_more(
            Subject(
                customer_id=subject.customer_id,
                keys=frozenset(row["key"] for row in rows if row["key"]),
                orders=frozenset(row["order_id"] for row in rows if row["order_id"]),
                conversations=frozenset(row["id"] for row in own),
            )
        )

    async def unfinished(self, subject: Subject) -> list[str]:
        """An open row, an event on its way, a task that waits for a person."""
        return await self._open(self._pool, await self._names(subject))

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        """Yield ``{"table","row"}``."""
        async for item in export_tables(self._pool, EXPORT, await self._names(subject)):
            yield item

    async def erase(self, subject: Subject, pseudonym: str) -> Counts:
        """Empty the rows of all that is personal; raises Unfinished while one is open."""
        names = await self._names(subject)

        async def erase(conn: db.Connection, ids: list[str]) -> Counts:
            try:
                counts = await conn.fetchval(_ERASE, names[0], ids, names[2], pseudonym, self._window_days)
            except asyncpg.ObjectInUseError as e:
                raise Unfinished(["a ledger row has just been opened"]) from e
            return dict(counts)

        return await erase_in_order(
            self._pool,
            lambda conn: self._own(conn, names),
            erase,
            pseudonym=pseudonym,
            written=_WRITTEN,
            lives=_LIVES,
            unfinished=await self._open(self._pool, names),
            records=False,
        )

    async def _names(self, subject: Subject) -> Names:
        found = await self.find(subject)
        refs = {r["external_ref"] for r in await self._pool.fetch(_FIND, subject.customer_id) if r["external_ref"]}
        known: Names = (subject.customer_id, sorted(found.conversations), sorted(found.keys | found.orders | refs))
        return known[0], await self._own(self._pool, known), known[2]

    @staticmethod
    async def _own(conn: "db.Connection | db.Database", names: Names) -> list[str]:
        return [row["id"] for row in await conn.fetch(_OWN_CONVERSATIONS, names[0], names[1])]

    @staticmethod
    async def _open(conn: "db.Connection | db.Database", names: Names) -> list[str]:
        counts = {what: await conn.fetchval(_GIVEN + sql, *names) for what, sql in _OPEN.items()}
        return [f"{count} {what}" for what, count in counts.items() if count]


@asynccontextmanager
async def opened() -> AsyncIterator[Privacy]:
    """Open what the tool gateway's own environment names."""
    settings = Settings()  # filled from the environment
    files = [file for file in (settings.policy_file, settings.policy_candidate_file) if file]
    window_days = max(load_policy(file).refund.window_days for file in files)
    pool = await db.open_pool(settings.database_url, "ledger", min_size=1, max_size=2, statement_s=STATEMENT_S)
    try:
        yield Privacy(pool, window_days)
    finally:
        await pool.close()


if __name__ == "__main__":
    sys.exit(main(PART, opened, sys.argv[1:]))
