"""Conversations, messages and idempotency in PostgreSQL: all of their SQL, named."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import asyncpg

from common import db
from gateway.adapters.thread_store import Delivery
from gateway.core.conversations import Conversation, Incoming, Turn

COLUMNS = tuple(f.name for f in fields(Conversation))
_COLUMNS = ", ".join(COLUMNS)
# The last turns, newest first, each behind a sign that says whose it is: an array is read in a fraction of the time
# that JSON takes.
HISTORY = """
array(select case direction when 'inbound' then '>' else '<' end || left(text, 2000) from messages
       where conversation_id = {conversation_id} and not held and author <> 'system' order by ordinal desc limit 6)
"""

OPEN_CONVERSATION = """
insert into conversations (id, owner, customer_id, channel, locale, session_until) values ($1, $2, $3, $4, $5, $6)
"""
LOAD_CONVERSATION = f"select {_COLUMNS} from conversations where id = $1 and owner = $2"  # noqa: S608 - our own constant
LOCK_CONVERSATION = (
    f"select {_COLUMNS} from conversations where id = $1 and ($2::text is null or owner = $2) for update"  # noqa: S608 - as above
)
# Asked after the lock, in a statement of its own: one snapshot for both would not see a twin that was first.
LOAD_CONTEXT = f"""
select body_hash, message_id, {HISTORY.format(conversation_id="$1")} as history
  from (values (1)) as one left join idempotency on owner = $2 and conversation_id = $1 and key = $3
"""  # noqa: S608 - as above
FIND_REPLAY = "select message_id from idempotency where owner = $1 and conversation_id = $2 and key = $3"
ADD_MESSAGE = """
with added as (
  insert into messages (id, conversation_id, channel, source_message_id, direction, author, text, seq, thread_ref, held)
  values ($2, $1, $3, $4, 'inbound', 'customer', $5, $6, $7, $13)
), keyed as (
  insert into idempotency (owner, conversation_id, key, body_hash, message_id)
  select $8, $1, $9, $10, $2 where $9::text is not null
)
update conversations
   set last_seq = coalesce($6, last_seq), last_message_at = now(), locale = coalesce($11, locale),
       session_until = greatest(session_until, $12), status = case status when 'closed' then 'active' else status end
 where id = $1
"""
ADD_SYSTEM_LINE = """
insert into messages (id, conversation_id, channel, direction, author, text, thread_ref, reply_to)
values ($1, $2, $3, 'outbound', 'system', $4, $5, $6)
"""
HELD_MESSAGES = """
select id, channel, text, thread_ref, source_message_id, created_at from messages
 where conversation_id = $1 and held order by ordinal for update
"""
RELEASE_MESSAGE = """
with released as (update messages set held = false, seq = $3 where id = $2 and held)
update conversations set last_seq = $3, last_message_at = now() where id = $1
"""
LOAD_TRANSCRIPT = """
select id, author, text, channel, reply_to, created_at from (
  select * from messages where conversation_id = $1 order by ordinal desc limit 1000) t order by ordinal
"""
MESSAGE_EXISTS = """
select exists (select 1 from messages where id = $2 and conversation_id = $1 and direction = 'inbound')
    or exists (select 1 from events where message_id = $2 and conversation_id = $1)
"""
ACTIVE_CONVERSATION = """
select id from conversations where customer_id = $1 and status <> 'closed'
   and last_message_at > now() - make_interval(secs => $2) order by last_message_at desc limit 1
"""
IS_ACTIVE = """
select exists (select 1 from conversations where id = $1 and customer_id = $2 and status <> 'closed'
   and last_message_at > now() - make_interval(secs => $3))
"""
LOCK_CUSTOMER = "select pg_advisory_xact_lock(hashtextextended('customer:' || $1, 0))"
GIVE_TO_CUSTOMER = "update conversations set owner = $2, customer_id = $2 where id = $1"
# Only what was never published moves: everything else has its stream where it is.
MOVE_MESSAGES = "update messages set conversation_id = $2 where conversation_id = $1 and seq is null"
CLOSE_EMPTIED = "update conversations set status = 'closed' where id = $1"
STEP_UP = "update conversations set step_up_until = $2 where id = $1"
SESSION_UNTIL = "select session_until from conversations where id = $1 and customer_id = $2"
LEARN_STATUS = "update conversations set status = $2 where id = $1 and status <> $2"


@dataclass(frozen=True, slots=True)
class Context:
    """What a message meets: the earlier use of its key (hash, message id), and the last turns, oldest first."""

    known: tuple[bytes, str] | None
    history: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Keyed:
    """Under which key a message is taken (R11)."""

    owner: str
    key: str
    body_hash: bytes


async def open_conversation(
    conn: "db.Connection | db.Database", conversation: Conversation, session_until: datetime | None
) -> None:
    """Insert a new conversation."""
    c = conversation
    await conn.execute(OPEN_CONVERSATION, c.id, c.owner, c.customer_id, c.channel, c.locale, session_until)


async def load_conversation(pool: db.Database, conversation_id: str, owner: str) -> Conversation | None:
    """Return the conversation if it is the owner's: somebody else's is None, like a missing one."""
    return _conversation(await pool.fetchrow(LOAD_CONVERSATION, conversation_id, owner))


async def lock_conversation(conn: db.Connection, conversation_id: str, owner: str | None) -> Conversation | None:
    """Lock the row, so that its messages and its outbox rows are written in one order."""
    return _conversation(await conn.fetchrow(LOCK_CONVERSATION, conversation_id, owner))


async def load_context(conn: db.Connection, conversation_id: str, owner: str = "", key: str = "") -> Context:
    """Return what stands before a new message; call it with the conversation locked."""
    row = await conn.fetchrow(LOAD_CONTEXT, conversation_id, owner, key)
    assert row is not None
    return context_of(row["body_hash"], row["message_id"], row["history"])


async def find_replay(pool: db.Database, owner: str, conversation_id: str, key: str) -> str | None:
    """Return the message an earlier use of this key made."""
    found: str | None = await pool.fetchval(FIND_REPLAY, owner, conversation_id, key)
    return found


async def add_message(
    conn: db.Connection,
    conversation_id: str,
    incoming: Incoming,
    *,
    seq: int | None,
    keyed: Keyed | None = None,
    session_until: datetime | None = None,
    held: bool = False,
) -> None:
    """Store a customer's message; a ``held`` one waits until its sender has confirmed a code. Only a published one
    has a ``seq``, so that the numbers downstream have no gaps.
    """
    await conn.execute(
        ADD_MESSAGE,
        conversation_id,
        incoming.message_id,
        incoming.channel,
        incoming.source_message_id,
        incoming.text,
        seq,
        incoming.thread_ref,
        keyed.owner if keyed else None,
        keyed.key if keyed else None,
        keyed.body_hash if keyed else None,
        incoming.locale,
        session_until,
        held,
    )


async def add_system_line(
    conn: db.Connection, conversation_id: str, line: Delivery, thread_ref: str, reply_to: str
) -> None:
    """Store a line the gateway itself said."""
    await conn.execute(ADD_SYSTEM_LINE, line.id, conversation_id, line.channel, line.text, thread_ref, reply_to)


async def held_messages(conn: db.Connection, conversation_id: str) -> list[Incoming]:
    """Return what waits for a code, oldest first, locked."""
    return [
        Incoming(r["id"], r["channel"], r["text"], r["created_at"], None, r["thread_ref"], r["source_message_id"])
        for r in await conn.fetch(HELD_MESSAGES, conversation_id)
    ]


async def release_message(conn: db.Connection, conversation_id: str, message_id: str, seq: int) -> None:
    """Give a held message its place in the conversation."""
    await conn.execute(RELEASE_MESSAGE, conversation_id, message_id, seq)


async def load_transcript(pool: db.Database, conversation_id: str) -> list[dict[str, Any]]:
    """Return the conversation's lines as CONTRACT shows them, oldest first, at most the last 1,000."""
    return [
        {
            "message_id": r["id"],
            "from": r["author"],
            "text": r["text"],
            "at": r["created_at"].isoformat(),
            "channel": r["channel"],
            **({"reply_to": r["reply_to"]} if r["reply_to"] else {}),
        }
        for r in await pool.fetch(LOAD_TRANSCRIPT, conversation_id)
    ]


async def message_exists(pool: db.Database, conversation_id: str, message_id: str) -> bool:
    """Say whether the message is one of the conversation's, asked or unasked."""
    return bool(await pool.fetchval(MESSAGE_EXISTS, conversation_id, message_id))


async def active_conversation(conn: db.Connection, customer_id: str, within_s: float, hint: str | None) -> str | None:
    """Return the customer's active conversation; a cached hint is taken only if the row agrees."""
    if hint and await conn.fetchval(IS_ACTIVE, hint, customer_id, within_s):
        return hint
    found: str | None = await conn.fetchval(ACTIVE_CONVERSATION, customer_id, within_s)
    return found


async def lock_customer(conn: db.Connection, customer_id: str) -> None:
    """Make two channels of one customer take turns, so that they don't open two conversations."""
    await conn.execute(LOCK_CUSTOMER, customer_id)


async def give_to_customer(conn: db.Connection, conversation_id: str, customer_id: str) -> None:
    """A visitor's conversation becomes the customer's, whom a code has proved."""
    await conn.execute(GIVE_TO_CUSTOMER, conversation_id, customer_id)


async def move_messages(conn: db.Connection, source_id: str, target_id: str) -> None:
    """Carry a proved thread's messages on in the customer's active conversation."""
    await conn.execute(MOVE_MESSAGES, source_id, target_id)
    await conn.execute(CLOSE_EMPTIED, source_id)


async def step_up(conn: db.Connection, conversation_id: str, until: datetime) -> None:
    """Record that a one-time code was right."""
    await conn.execute(STEP_UP, conversation_id, until)


async def session_until(pool: db.Database, conversation_id: str, customer_id: str) -> datetime | None:
    """Return until when the customer's proof of identity holds in this conversation."""
    until: datetime | None = await pool.fetchval(SESSION_UNTIL, conversation_id, customer_id)
    return until


async def learn_status(pool: db.Database, conversation_id: str, status: str) -> None:
    """Remember what the conversation's owner last said of it."""
    await pool.execute(LEARN_STATUS, conversation_id, status)


def context_of(body_hash: bytes | None, message_id: str | None, history: Sequence[str]) -> Context:
    """Return the context that a row with these columns tells; ``history`` is what ``HISTORY`` returned."""
    return Context(
        known=None if body_hash is None or message_id is None else (body_hash, message_id),
        history=tuple(Turn(turn[0] == ">", turn[1:]) for turn in reversed(history)),
    )


def _conversation(row: asyncpg.Record | None) -> Conversation | None:
    return None if row is None else Conversation(**dict(row))
