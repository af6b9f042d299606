"""``python -m agent.privacy find|check|export|erase CUSTOMER``: conversations, transcripts, runs, handoffs and packets.

An answer under way ends first (``check`` says so); one that is cut off by an erasure all the same has lost its run,
and nothing it does afterwards is saved or said.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis

from agent.settings import AgentSettings, BusSettings
from common import db
from common.privacy.command import main
from common.privacy.erasing import STATEMENT_S, Counts, Names, count_touched, erase_in_order, export_tables
from common.privacy.subject import Subject

PART = "agent"
_CONVERSATIONS = """
select id from conversations where customer_id = $1 or (customer_id is null and id = any($2::text[])) order by id
"""
_UNANSWERED = "select count(*) from runs where conversation_id = any($1::text[]) and status <> 'done'"
# $1 the customer, $2 their conversations.
EXPORT = {
    "conversations": "select to_jsonb(t) from conversations t where id = any($2) order by created_at",
    "messages": "select to_jsonb(t) from messages t where conversation_id = any($2) order by id",
    "runs": "select to_jsonb(t) from runs t where conversation_id = any($2) order by created_at",
    "handoffs": "select to_jsonb(t) from handoffs t where conversation_id = any($2) order by opened_at",
    "outbox": "select to_jsonb(t) - 'payload' from outbox t where key = any($2)",
}
# Runs before conversations, as everybody locks them.
_LOCKS = (
    "select 1 from runs where conversation_id = any($1::text[]) order by message_id for update",
    "select 1 from conversations where id = any($1::text[]) order by id for update",
)
_ERASE = {
    "outbox": "delete from outbox where key = any($2)",
    "runs": "delete from runs where conversation_id = any($2)",
    "handoffs": "delete from handoffs where conversation_id = any($2)",
    "messages": "delete from messages where conversation_id = any($2)",
    "conversations": "delete from conversations where id = any($2)",
}
_WRITTEN = ("conversations", "messages", "runs", "handoffs", "outbox")
_LIVES = "select id from conversations"


class Privacy:
    """What the agent service holds; see ``common.privacy.command.Holdings``."""

    def __init__(self, pool: db.Database, redis: "Redis | None") -> None:
        self._pool, self._redis = pool, redis

    async def find(self, subject: Subject) -> Subject:
        """Add the customer's conversations."""
        ids = frozenset(await self._ids(self._pool, subject))
        return subject.with_more(Subject(customer_id=subject.customer_id, conversations=ids))

    async def unfinished(self, subject: Subject) -> list[str]:
        """A message that is being answered."""
        count = await self._pool.fetchval(_UNANSWERED, await self._ids(self._pool, subject))
        return [f"{count} message(s) are being answered"] if count else []

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        """Yield ``{"table","row"}``; an unpublished event is named, what it says is a row already."""
        names: Names = (subject.customer_id, await self._ids(self._pool, subject), [])
        async for item in export_tables(self._pool, EXPORT, names):
            yield item
        if self._redis is not None:
            for key in map(_tokens, names[1]):
                if (value := await self._redis.get(key)) is not None:
                    yield {"table": "redis", "row": {"key": key, "value": int(value)}}

    async def erase(self, subject: Subject, pseudonym: str) -> Counts:
        """Delete it all; late messages of these conversations are refused from now on."""
        keys: list[str] = []

        async def erase(conn: db.Connection, ids: list[str]) -> Counts:
            keys[:] = map(_tokens, ids)
            for lock in _LOCKS:
                await conn.execute(lock, ids)
            return await count_touched(conn, _ERASE, (subject.customer_id, ids, []))

        counts = await erase_in_order(
            self._pool,
            lambda conn: self._ids(conn, subject),
            erase,
            pseudonym=pseudonym,
            written=_WRITTEN,
            lives=_LIVES,
        )
        if self._redis is not None and keys:
            counts["redis"] = int(await self._redis.delete(*keys))
        return counts

    @staticmethod
    async def _ids(conn: "db.Connection | db.Database", subject: Subject) -> list[str]:
        rows = await conn.fetch(_CONVERSATIONS, subject.customer_id, sorted(subject.conversations))
        return [row["id"] for row in rows]


def _tokens(conversation_id: str) -> str:
    return f"tokens:{conversation_id}"


@asynccontextmanager
async def opened() -> AsyncIterator[Privacy]:
    """Open what the agent's own environment names."""
    bus = BusSettings()
    redis = Redis.from_url(bus.redis_url, socket_timeout=5.0) if bus.redis_url else None
    pool = await db.open_pool(AgentSettings().database_url, "support", min_size=1, max_size=2, statement_s=STATEMENT_S)
    try:
        yield Privacy(pool, redis)
    finally:
        await pool.close()
        if redis is not None:
            await redis.aclose()


if __name__ == "__main__":
    sys.exit(main(PART, opened, sys.argv[1:]))
