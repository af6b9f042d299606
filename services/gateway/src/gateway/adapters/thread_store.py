"""Threads, source ids and outgoing mail in PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from common import db

FIND_THREAD = """
select conversation_id, customer_id, verified_by, verified_until > now() as verified, verified_until
  from threads where channel = $1 and thread_ref = any($2::text[]) and identity = $3
 order by (verified_until > now()) desc nulls last, created_at desc limit 1
"""
# A code may come back in a mail that names no thread: the sender's newest waiting thread is meant.
FIND_WAITING_THREAD = """
select t.thread_ref from threads t
 where t.channel = $1 and t.identity = $2 and exists (
   select 1 from codes c where c.conversation_id = t.conversation_id and c.consumed_at is null and not c.failed
      and c.expires_at > now())
 order by t.created_at desc limit 1
"""
SAVE_THREAD = """
insert into threads (channel, thread_ref, identity, conversation_id, customer_id, verified_by, verified_until, subject)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (channel, thread_ref, identity) do update
   set conversation_id = excluded.conversation_id,
       customer_id = coalesce(excluded.customer_id, threads.customer_id),
       verified_by = coalesce(excluded.verified_by, threads.verified_by),
       verified_until = coalesce(excluded.verified_until, threads.verified_until),
       subject = coalesce(threads.subject, excluded.subject)
"""
LOCK_THREAD = "select pg_advisory_xact_lock(hashtextextended('thread:' || $1 || '/' || $2, 0))"
# What was erased stays taken: the same id handed in again is that message, under no name (docs/decisions/0010).
FIND_SOURCE = """
select message_id, conversation_id from sources where hook = $1 and source_id = $2
union all
select 'erased', 'erased' from erased_sources where source_hash = sha256(convert_to($1 || E'\\x1f' || $2, 'UTF8'))
limit 1
"""
SAVE_SOURCE = "insert into sources (hook, source_id, message_id, conversation_id) values ($1, $2, $3, $4)"
MOVE_SOURCES = "update sources set conversation_id = $2 where conversation_id = $1"
ADD_DELIVERY = """
insert into deliveries (id, conversation_id, channel, address, subject, text) values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
"""
# A conversation that is gone, or never was, takes no notice away with it.
ADD_NOTICE = """
insert into deliveries (id, conversation_id, channel, address, subject, text, kind, customer_id)
values ($1, (select id from conversations where id = $2 and customer_id = $3), $4, $5, $6, $7, 'notice', $3)
"""
FIND_LOCALE = "select locale from conversations where id = $1 and customer_id = $2"
CLAIM_DELIVERIES = """
update deliveries set state = 'sending', sending_at = now(), attempts = attempts + 1
 where id in (select id from deliveries where state = 'waiting' and next_attempt_at <= now()
               order by created_at limit 20 for update skip locked)
returning id, channel, address, subject, text, attempts, kind
"""
MARK_DELIVERED = """
update deliveries set state = 'sent', sent_at = now(), address = case when kind = 'notice' then '' else address end,
       text = case when kind = 'notice' then '' else text end where id = $1
"""
MARK_UNKNOWN = "update deliveries set state = 'unknown' where id = $1"
# Certainly not sent: due again after a pause that grows to five minutes, for about a day.
RETURN_DELIVERY = """
update deliveries set state = case when attempts >= 300 then 'failed' else 'waiting' end,
       next_attempt_at = now() + make_interval(secs => least(300, power(2, least(attempts, 9)))) where id = $1
"""
# A lost notice goes out again under its key: one too many is better than an owner who never hears of a take-over.
GIVE_UP_LOST = """
update deliveries set state = case when kind = 'notice' then 'waiting' else 'unknown' end
 where state = 'sending' and sending_at < now() - interval '60 seconds' returning state
"""


@dataclass(frozen=True, slots=True)
class Thread:
    """One sender's thread on one channel, and what it has proved."""

    channel: str
    thread_ref: str
    identity: str
    conversation_id: str
    customer_id: str | None = None
    verified_by: str | None = None
    verified_until: datetime | None = None
    subject: str | None = None

    def proof(self, now: datetime) -> str | None:
        """How the sender was proved, while that holds."""
        return self.verified_by if self.verified_until is not None and self.verified_until > now else None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One mail that is due."""

    id: str
    channel: str
    address: str
    subject: str
    text: str
    attempts: int
    kind: str = "answer"


async def find_thread(
    conn: "db.Connection | db.Database", channel: str, refs: list[str], identity: str
) -> Thread | None:
    """Return the sender's thread under any of these names, a proved one first."""
    row = await conn.fetchrow(FIND_THREAD, channel, refs, identity)
    if row is None:
        return None
    return Thread(
        channel,
        refs[0],
        identity,
        row["conversation_id"],
        row["customer_id"],
        row["verified_by"],
        row["verified_until"],
    )


async def find_waiting_thread(pool: db.Database, channel: str, identity: str) -> str | None:
    """Return the sender's newest thread in which a code is outstanding."""
    found: str | None = await pool.fetchval(FIND_WAITING_THREAD, channel, identity)
    return found


async def save_thread(conn: db.Connection, thread: Thread) -> None:
    """Insert or update a thread; what is None here stays as it was."""
    t = thread
    await conn.execute(
        SAVE_THREAD,
        t.channel,
        t.thread_ref,
        t.identity,
        t.conversation_id,
        t.customer_id,
        t.verified_by,
        t.verified_until,
        t.subject,
    )


async def lock_thread(conn: db.Connection, channel: str, identity: str) -> None:
    """Make one sender's messages on one channel take turns."""
    await conn.execute(LOCK_THREAD, channel, identity)


async def find_source(conn: "db.Connection | db.Database", hook: str, source_id: str) -> tuple[str, str] | None:
    """Return (message id, conversation id) of what this source id already became."""
    row: asyncpg.Record | None = await conn.fetchrow(FIND_SOURCE, hook, source_id)
    return (row["message_id"], row["conversation_id"]) if row else None


async def save_source(conn: db.Connection, hook: str, source_id: str, message_id: str, conversation_id: str) -> None:
    """Take a source id; a twin's transaction fails on it."""
    await conn.execute(SAVE_SOURCE, hook, source_id, message_id, conversation_id)


async def move_sources(conn: db.Connection, source_id: str, target_id: str) -> None:
    """Follow a thread's messages into another conversation."""
    await conn.execute(MOVE_SOURCES, source_id, target_id)


async def add_delivery(conn: db.Connection, delivery: Delivery, conversation_id: str) -> None:
    """Queue one mail; a second one under the same id is none."""
    d = delivery
    await conn.execute(ADD_DELIVERY, d.id, conversation_id, d.channel, d.address, d.subject, d.text)


async def add_notice(conn: db.Connection, delivery: Delivery, conversation_id: str | None, customer_id: str) -> None:
    """Queue one notice to an address, in the transaction that takes its event."""
    d = delivery
    await conn.execute(ADD_NOTICE, d.id, conversation_id, customer_id, d.channel, d.address, d.subject, d.text)


async def find_locale(conn: db.Connection, conversation_id: str, customer_id: str) -> str | None:
    """Return the language a customer's conversation is held in, if that is known."""
    found: str | None = await conn.fetchval(FIND_LOCALE, conversation_id, customer_id)
    return found


async def claim_deliveries(pool: db.Database) -> list[Delivery]:
    """Mark due mail as leaving, before it leaves."""
    return [Delivery(**dict(r)) for r in await pool.fetch(CLAIM_DELIVERIES)]


async def mark_delivered(pool: db.Database, delivery_id: str) -> None:
    """The mail was taken."""
    await pool.execute(MARK_DELIVERED, delivery_id)


async def mark_unknown(pool: db.Database, delivery_id: str) -> None:
    """The answer was lost: a second mail would be worse than a missing one."""
    await pool.execute(MARK_UNKNOWN, delivery_id)


async def return_delivery(pool: db.Database, delivery_id: str) -> None:
    """The mail certainly didn't leave."""
    await pool.execute(RETURN_DELIVERY, delivery_id)


async def give_up_lost(pool: db.Database) -> int:
    """Close answers that a dead process left half sent, put notices back; returns how many were closed."""
    return sum(row["state"] == "unknown" for row in await pool.fetch(GIVE_UP_LOST))
