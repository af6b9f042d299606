"""``python -m gateway.privacy find|check|export|erase CUSTOMER``: what the channels hold of one customer.

Conversations, messages, events, threads with their addresses, codes, mail, the hint in Redis. A conversation that
nobody proved to be theirs counts as theirs when it was written from an address of theirs and from no other's.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from redis.asyncio import Redis

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
from gateway.adapters.contexts import Contexts
from gateway.adapters.directory import CommerceDirectory
from gateway.settings import Settings

# ruff: noqa: S608 - what is put together here are our own constants

PART = "gateway"
# Letters fold as ASCII only, as when senders are looked up (core/identities.py).
_ADDRESSES = """
select identity as address from threads t join conversations c on c.id = t.conversation_id
 where (t.customer_id = $1 or c.customer_id = $1) and t.identity <> '' and t.identity not like 'login:%'
union
select address from deliveries where customer_id = $1 and address <> ''
"""
_FOLDED = """lower({} collate "C") = any(select lower(a collate "C") from unnest($3::text[]) as a)"""
_CONVERSATIONS = f"""
select id from conversations c where customer_id = $1
union
select id from conversations c
 where customer_id is null and (
       id = any($2::text[])
    or exists (select 1 from threads t where t.conversation_id = c.id and {_FOLDED.format("t.identity")})
    or exists (select 1 from deliveries d where d.conversation_id = c.id and {_FOLDED.format("d.address")})
    or exists (select 1 from codes o where o.conversation_id = c.id and o.customer_id = $1))
   -- What somebody else has a part in stays with them.
   and not exists (select 1 from threads t where t.conversation_id = c.id and t.customer_id <> $1)
   and not exists (select 1 from codes o where o.conversation_id = c.id and o.customer_id <> $1)
"""
_NOTICES = """
select count(*) from deliveries
 where kind = 'notice' and state in ('waiting', 'sending') and (customer_id = $1 or conversation_id = any($2::text[]))
"""
# One statement a table; $1 the customer, $2 their conversations, $3 their addresses.
EXPORT = {
    "conversations": "select to_jsonb(t) from conversations t where id = any($2) order by opened_at",
    "messages": "select to_jsonb(t) from messages t where conversation_id = any($2) order by ordinal",
    "events": """select to_jsonb(t) from events t where conversation_id = any($2)
                 order by conversation_id, position""",
    "idempotency": "select to_jsonb(t) from idempotency t where conversation_id = any($2)",
    "threads": "select to_jsonb(t) from threads t where conversation_id = any($2) or customer_id = $1",
    "sources": "select to_jsonb(t) from sources t where conversation_id = any($2)",
    "codes": "select to_jsonb(t) from codes t where conversation_id = any($2) or customer_id = $1",
    "code_tries": """select to_jsonb(t) from code_tries t
                     where bucket in ('proved:' || $1, 'claimed:' || $1)""",
    "deliveries": f"""select to_jsonb(t) from deliveries t where conversation_id = any($2)
                      or customer_id = $1
                      or (conversation_id is null and customer_id is null and {_FOLDED.format("address")})""",
    "outbox": "select to_jsonb(t) - 'payload' from outbox t where key = any($2)",
}  # fmt: skip
_LOCK = "select 1 from conversations where id = any($1::text[]) order by id for update"
_REMEMBER_SOURCES = """
insert into erased_sources (source_hash)
select sha256(convert_to(s.hook || E'\\x1f' || s.source_id, 'UTF8')) from sources s
 where s.conversation_id = any($1::text[]) or s.message_id in (select id from messages where conversation_id = any($1))
on conflict do nothing
"""
_FORGET_SOURCES = "delete from erased_sources where at < now() - interval '90 days'"
_ERASE = {
    "outbox": "delete from outbox where key = any($2)",
    "sources": """delete from sources where conversation_id = any($2)
                  or message_id in (select id from messages where conversation_id = any($2))""",
    "idempotency": "delete from idempotency where conversation_id = any($2)",
    "events": "delete from events where conversation_id = any($2)",
    "deliveries": f"""delete from deliveries where conversation_id = any($2) or customer_id = $1
                      or (conversation_id is null and customer_id is null and {_FOLDED.format("address")})""",
    "codes": "delete from codes where conversation_id = any($2)",
    # Younger tries are the limit that keeps guessers out; they hold an id and a time.
    "code_tries": """delete from code_tries where bucket in ('proved:' || $1, 'claimed:' || $1)
                     and tried_at < now() - interval '1 hour'""",
    "threads": "delete from threads where conversation_id = any($2) or customer_id = $1",
    "messages": "delete from messages where conversation_id = any($2)",
    "conversations": "delete from conversations where id = any($2)",
}  # fmt: skip
_WRITTEN = ("conversations", "messages", "events", "threads", "deliveries", "codes", "outbox")
_LIVES = "select id from conversations"


class Accounts(Protocol):
    """The store's record of the customer, as far as addresses go."""

    async def addresses_on_file(self, customer_id: str) -> frozenset[str]:
        """Return e-mail address and phone; Transient where the store doesn't answer."""
        ...


class Privacy:
    """What the gateway holds; see ``common.privacy.command.Holdings``."""

    def __init__(self, pool: db.Database, accounts: Accounts, redis: "Redis | None", prefix: str = "") -> None:
        self._pool, self._accounts, self._redis = pool, accounts, redis
        self._contexts = Contexts(redis, prefix)

    async def find(self, subject: Subject) -> Subject:
        """Add addresses, on file and written from, and the conversations."""
        on_file = await self._accounts.addresses_on_file(subject.customer_id)
        written = {row["address"] for row in await self._pool.fetch(_ADDRESSES, subject.customer_id)}
        more = Subject(customer_id=subject.customer_id, addresses=subject.addresses | on_file | written)
        found = subject.with_more(more)
        ids = await self._ids(self._pool, found)
        return found.with_more(Subject(customer_id=subject.customer_id, conversations=frozenset(ids)))

    async def unfinished(self, subject: Subject) -> list[str]:
        """A notice to an old address has to leave first: it may be what tells somebody of a stolen account."""
        customer_id, ids, _ = await self._names(self._pool, subject)
        return await self._waiting(self._pool, customer_id, ids)

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        """Yield ``{"table","row"}``; an unpublished event is named, its message is a row already."""
        names = await self._names(self._pool, subject)
        async for item in export_tables(self._pool, EXPORT, names):
            yield item
        if (hint := await self._contexts.active(subject.customer_id)) is not None:
            yield {"table": "redis", "row": {"key": self._contexts.key_of(subject.customer_id), "value": hint}}

    async def erase(self, subject: Subject, pseudonym: str) -> Counts:
        """Delete it all; raises Unfinished while a notice waits."""

        async def erase(conn: db.Connection, ids: list[str]) -> Counts:
            await conn.execute(_LOCK, ids)
            if waiting := await self._waiting(conn, subject.customer_id, ids):
                raise Unfinished(waiting)
            await conn.execute(_REMEMBER_SOURCES, ids)
            await conn.execute(_FORGET_SOURCES)
            return await count_touched(conn, _ERASE, (subject.customer_id, ids, sorted(subject.addresses)))

        counts = await erase_in_order(
            self._pool,
            lambda conn: self._ids(conn, subject),
            erase,
            pseudonym=pseudonym,
            written=_WRITTEN,
            lives=_LIVES,
            unfinished=await self.unfinished(subject),
        )
        if self._redis is not None:
            counts["redis"] = int(await self._redis.delete(self._contexts.key_of(subject.customer_id)))
        return counts

    async def _names(self, conn: "db.Connection | db.Database", subject: Subject) -> Names:
        return subject.customer_id, await self._ids(conn, subject), sorted(subject.addresses)

    @staticmethod
    async def _ids(conn: "db.Connection | db.Database", subject: Subject) -> list[str]:
        names = subject.customer_id, sorted(subject.conversations), sorted(subject.addresses)
        return sorted(row["id"] for row in await conn.fetch(_CONVERSATIONS, *names))

    @staticmethod
    async def _waiting(conn: "db.Connection | db.Database", customer_id: str, ids: list[str]) -> list[str]:
        count = await conn.fetchval(_NOTICES, customer_id, ids)
        return [f"{count} notice(s) to an old address have not left yet"] if count else []


@asynccontextmanager
async def opened() -> AsyncIterator[Privacy]:
    """Open what the gateway's own environment names."""
    settings = Settings()  # filled from the environment
    directory = CommerceDirectory(settings.commerce_url)
    redis = Redis.from_url(settings.redis_url, socket_timeout=5.0) if settings.redis_url else None
    pool = await db.open_pool(settings.database_url, "gateway", min_size=1, max_size=2, statement_s=STATEMENT_S)
    try:
        yield Privacy(pool, directory, redis, settings.topic_prefix)
    finally:
        await pool.close()
        await directory.close()
        if redis is not None:
            await redis.aclose()


if __name__ == "__main__":
    sys.exit(main(PART, opened, sys.argv[1:]))
