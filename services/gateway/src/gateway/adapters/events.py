"""Reply events in PostgreSQL: one statement stores a batch, its transcript lines, its mail and its notification."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common import db
from common.errors import Refused
from common.events import ReplyEvent
from gateway.core.frames import StoredEvent
from gateway.core.replies import Known, Plan, plan_replies
from gateway.core.texts import with_disclosure

CHANNEL = "gateway_events"
# Fewer than a notification's 8,000 bytes; a batch with more messages wakes everybody on the conversation alone.
_NOTIFIED_MESSAGES = 40
_PAGE = 500

LOAD_KNOWN = """
select message_id, max(seq) as last_seq, bool_or(event = 'done') as finished
  from events where message_id = any($1::text[]) group by message_id
"""
FOREIGN = """
select exists (select 1 from messages where id = any($2::text[]) and conversation_id <> $1)
    or exists (select 1 from events where message_id = any($2::text[]) and conversation_id <> $1)
"""
# The guards in `conv` make the hopeful plan (nothing known) safe: where one fails nothing is written at all.
SAVE = """
with conv as (
  update conversations
     set last_position = last_position + $2, owner_version = greatest(owner_version, $3),
         status = coalesce($4, status), open_agent_turn = coalesce($5, open_agent_turn)
   where id = $1 and ($6::bigint is null or owner_version <= $6)
     and not exists (select 1 from events where message_id = any($7::text[])
                        and (event = 'done' or conversation_id <> $1))
     -- A repeated event would take a position and leave it empty.
     and not exists (select 1 from events known join unnest($7::text[], $8::bigint[]) as new(message_id, seq)
                         on known.message_id = new.message_id and known.seq >= new.seq)
     and not exists (select 1 from messages where id = any($7::text[]) and conversation_id <> $1)
  returning last_position - $2 as base
), stored as (
  insert into events (message_id, seq, conversation_id, position, event, data, writer, owner_version)
  select e.message_id, e.seq, $1, conv.base + e.n, e.event, e.data, e.writer, e.owner_version
    from conv, unnest($7::text[], $8::bigint[], $9::text[], $10::json[], $11::text[], $12::bigint[])
         with ordinality as e(message_id, seq, event, data, writer, owner_version, n)
  on conflict do nothing
  returning message_id, seq, position, event
), ended as (
  -- An answer's line has an id of its own beside the question's; what comes unasked keeps its id.
  select f.*, case when exists (select 1 from messages m where m.id = f.message_id)
                   then f.message_id || '.reply' else f.message_id end as line_id
    from unnest($13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
         as f(message_id, author, channel, thread_ref, text, mail)
    join stored s on s.message_id = f.message_id and s.event = 'done'
   where f.text <> ''
), lines as (
  insert into messages (id, conversation_id, channel, direction, author, text, reply_to, thread_ref)
  select line_id, $1, channel, 'outbound', author, text, nullif(message_id, line_id), thread_ref from ended
  on conflict do nothing
), mailed as (
  insert into deliveries (id, conversation_id, channel, address, subject, text)
  select ended.line_id, $1, ended.channel, t.identity, coalesce(t.subject, ''), ended.mail
    from ended join lateral (
      select identity, subject from threads
       where conversation_id = $1 and channel = ended.channel
         and (ended.thread_ref is null or thread_ref = ended.thread_ref)
       order by created_at desc limit 1) t on true
   where ended.channel in ('email', 'whatsapp') and t.identity <> '' and t.identity not like 'login:%'
  on conflict do nothing
), notified as (
  select pg_notify('gateway_events', $19) from stored where $19::text is not null limit 1
)
select s.message_id, s.seq, s.position, (select count(*) from notified) as notified
  from conv left join stored s on true
"""
OF_MESSAGE = """
select message_id, seq, position, event, data, writer from events
 where conversation_id = $1 and message_id = $2 and seq > $3 order by seq limit $4
"""
NEWEST_OF_MESSAGE = """
select message_id, seq, position, event, data, writer from events
 where conversation_id = $1 and message_id = $2 order by seq desc limit 1
"""
OF_CONVERSATION = """
select message_id, seq, position, event, data, writer from events
 where conversation_id = $1 and position > $2 order by position limit $3
"""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a batch added, in order; ``mailed`` says that something may wait to be sent."""

    events: list[StoredEvent]
    mailed: bool
    dropped: int


class Events:
    """The event store; ``instance`` marks this process's own notifications, which nobody gets while it is ``alone``."""

    def __init__(self, pool: db.Database, instance: str, alone: Callable[[], bool]) -> None:
        self._pool, self._instance, self._alone = pool, instance, alone

    async def save(self, conversation_id: str, events: Sequence[ReplyEvent]) -> Saved:
        """Store one conversation's reply events; Refused where they belong to no conversation, or to another one."""
        plan = plan_replies(Known(0, {}, frozenset()), events)
        # A plan that drops something builds on what came before, which the hopeful one doesn't know.
        saved = None if plan.dropped else await self._write(self._pool, conversation_id, plan)
        if saved is None:
            saved = await db.in_transaction(
                self._pool, lambda conn: self._save_carefully(conn, conversation_id, events)
            )
        return saved

    async def _save_carefully(self, conn: db.Connection, conversation_id: str, events: Sequence[ReplyEvent]) -> Saved:
        """The same with the conversation locked and what is known read first: late, repeated and stale events."""
        version = await conn.fetchval(
            "select owner_version from conversations where id = $1 for update", conversation_id
        )
        if version is None:
            raise Refused("no such conversation")
        ids = list({e.message_id for e in events})
        if await conn.fetchval(FOREIGN, conversation_id, ids):
            raise Refused("the message belongs to another conversation")
        rows = await conn.fetch(LOAD_KNOWN, ids)
        known = Known(
            version,
            {r["message_id"]: r["last_seq"] for r in rows},
            frozenset(r["message_id"] for r in rows if r["finished"]),
        )
        plan = plan_replies(known, events)
        if not plan.events:
            return Saved([], mailed=False, dropped=plan.dropped)
        return await self.write(conn, conversation_id, plan)

    async def write(self, conn: db.Connection, conversation_id: str, plan: Plan) -> Saved:
        """Store a plan made with the conversation locked, in the caller's transaction."""
        saved = await self._write(conn, conversation_id, plan, locked=True)
        if saved is None:
            raise RuntimeError("a locked conversation refused what was planned for it")
        return saved

    async def _write(
        self, on: "db.Connection | db.Database", conversation_id: str, plan: Plan, *, locked: bool = False
    ) -> Saved | None:
        kept, ended = plan.events, plan.finished
        oldest = None if locked else min((k.owner_version for k in kept if k.writer == "agent"), default=None)
        rows = await on.fetch(
            SAVE,
            conversation_id,
            len(kept),
            plan.owner_version,
            plan.status,
            plan.open_agent_turn,
            oldest,
            [k.message_id for k in kept],
            [k.seq for k in kept],
            [k.event for k in kept],
            [k.data for k in kept],
            [k.writer for k in kept],
            [k.owner_version for k in kept],
            [f.message_id for f in ended],
            [f.author for f in ended],
            [f.channel for f in ended],
            [f.thread_ref for f in ended],
            [f.text for f in ended],
            [with_disclosure(f.text, f.author, f.language) for f in ended],
            self._notice(conversation_id, plan),
        )
        if not rows:
            return None
        new = {(r["message_id"], r["seq"]): r["position"] for r in rows if r["seq"] is not None}
        stored = [
            StoredEvent(conversation_id, k.message_id, k.seq, position, k.event, k.data, k.writer)
            for k in kept
            if (position := new.get((k.message_id, k.seq))) is not None
        ]
        return Saved(stored, mailed=any(f.channel != "chat" for f in ended), dropped=plan.dropped)

    def _notice(self, conversation_id: str, plan: Plan) -> str | None:
        if self._alone():
            return None
        messages = list(dict.fromkeys(k.message_id for k in plan.events))[:_NOTIFIED_MESSAGES]
        return json.dumps({"from": self._instance, "conversation_id": conversation_id, "messages": messages})

    async def of_message(self, conversation_id: str, message_id: str, after: int) -> list[StoredEvent]:
        """Return a message's events after number ``after``, at most a page of them."""
        rows = await self._pool.fetch(OF_MESSAGE, conversation_id, message_id, after, _PAGE)
        return [StoredEvent(conversation_id, *r.values()) for r in rows]

    async def of_conversation(self, conversation_id: str, after: int) -> list[StoredEvent]:
        """Return a conversation's events after position ``after``, at most a page of them."""
        rows = await self._pool.fetch(OF_CONVERSATION, conversation_id, after, _PAGE)
        return [StoredEvent(conversation_id, *r.values()) for r in rows]

    async def newest_of_message(self, conversation_id: str, message_id: str) -> StoredEvent | None:
        """Return a message's newest event, if it has any."""
        row = await self._pool.fetchrow(NEWEST_OF_MESSAGE, conversation_id, message_id)
        return None if row is None else StoredEvent(conversation_id, *row.values())
