"""Reply events in PostgreSQL: one statement stores what comes together, with its lines, its mail, its notifications."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from common import db
from common.errors import Forgotten, Refused
from common.events import ReplyEvent
from common.privacy.erasing import is_erased
from common.together import Together
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
# For each conversation of a batch: its events, lines, mail and notification, or nothing at all where a guard fails. The
# guards make the hopeful plan (nothing known) safe. Each look-up stands in a LATERAL with a LIMIT, so that it is one
# through an index even with a plan made while the tables were empty.
SAVE = """
with spoilt as (
  -- An event that comes again, late or from elsewhere; a repeated one would take a position and leave it empty.
  select n.conversation_id
    from unnest($8::text[], $9::text[], $10::bigint[]) as n(conversation_id, message_id, first_seq),
         lateral (
           (select 1 from events e where e.message_id = n.message_id
               and (e.event = 'done' or e.seq >= n.first_seq or e.conversation_id <> n.conversation_id) limit 1)
           union all
           (select 1 from messages m where m.id = n.message_id and m.conversation_id <> n.conversation_id limit 1)
         ) as known
), asked as (
  -- Nobody's batch waits for a conversation that somebody holds: that one takes the careful path, and waits alone.
  select a.*, seen.last_position
    from unnest($1::text[], $2::int[], $3::bigint[], $4::text[], $5::boolean[], $6::bigint[], $7::text[])
         as a(id, added, owner_version, status, open_agent_turn, oldest, notice),
         lateral (select last_position from conversations where id = a.id limit 1) seen,
         lateral (select from conversations where id = a.id limit 1 for no key update skip locked) held
   where a.id not in (select conversation_id from spoilt)
), conv as (
  update conversations c
     set last_position = c.last_position + a.added, owner_version = greatest(c.owner_version, a.owner_version),
         status = coalesce(a.status, c.status), open_agent_turn = coalesce(a.open_agent_turn, c.open_agent_turn)
    from asked a
   -- Who was second by a moment has looked for known events before the first one wrote: its position tells.
   where c.id = a.id and c.last_position = a.last_position and (a.oldest is null or c.owner_version <= a.oldest)
  returning c.id, c.last_position - a.added as base, a.notice
), stored as (
  insert into events (message_id, seq, conversation_id, position, event, data, writer, owner_version)
  select e.message_id, e.seq, conv.id, conv.base + e.n, e.event, e.data::json, e.writer, e.owner_version
    from unnest($11::text[], $12::int[], $13::text[], $14::bigint[], $15::text[], $16::text[], $17::text[],
                $18::bigint[]) as e(conversation_id, n, message_id, seq, event, data, writer, owner_version)
    join conv on conv.id = e.conversation_id
  on conflict do nothing
  returning conversation_id, message_id, seq, position, event
), ended as (
  -- An answer's line has an id of its own beside the question's; what comes unasked keeps its id.
  select f.*, case when exists (select 1 from messages m where m.id = f.message_id)
                   then f.message_id || '.reply' else f.message_id end as line_id
    from unnest($19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[])
         as f(conversation_id, message_id, author, channel, thread_ref, text, mail)
    join stored s on s.message_id = f.message_id and s.event = 'done'
   where f.text <> ''
), lines as (
  insert into messages (id, conversation_id, channel, direction, author, text, reply_to, thread_ref)
  select line_id, conversation_id, channel, 'outbound', author, text, nullif(message_id, line_id), thread_ref from ended
  on conflict do nothing
), mailed as (
  insert into deliveries (id, conversation_id, channel, address, subject, text)
  select ended.line_id, ended.conversation_id, ended.channel, t.identity, coalesce(t.subject, ''), ended.mail
    from ended join lateral (
      select identity, subject from threads
       where conversation_id = ended.conversation_id and channel = ended.channel
         and (ended.thread_ref is null or thread_ref = ended.thread_ref)
       order by created_at desc limit 1) t on true
   where ended.channel in ('email', 'whatsapp') and t.identity <> '' and t.identity not like 'login:%'
  on conflict do nothing
), notified as (
  select pg_notify('gateway_events', notice) from conv where notice is not null
)
select conv.id, s.message_id, s.seq, s.position, (select count(*) from notified) as notified
  from conv left join stored s on s.conversation_id = conv.id
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


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to be written to one conversation; ``locked`` when the caller holds its lock."""

    conversation_id: str
    plan: Plan
    locked: bool = False

    @property
    def oldest(self) -> int | None:
        """The oldest owner version an agent speaks for here: none of these may be behind the conversation's."""
        if self.locked:
            return None
        return min((k.owner_version for k in self.plan.events if k.writer == "agent"), default=None)


class Events:
    """The event store; ``instance`` marks this process's own notifications, which nobody gets while it is ``alone``."""

    def __init__(self, pool: db.Database, instance: str, alone: Callable[[], bool]) -> None:
        self._pool, self._instance, self._alone = pool, instance, alone
        self._save_together = Together(self._write_to_pool)

    async def save(self, conversation_id: str, events: Sequence[ReplyEvent]) -> Saved:
        """Store one conversation's reply events; Refused where they belong to no conversation, or to another one.

        Calls that meet share a statement.
        """
        plan = plan_replies(Known(0, {}, frozenset()), events)
        # A plan that drops something builds on what came before, which the hopeful one doesn't know.
        saved = None if plan.dropped else await self._save_together(Writing(conversation_id, plan))
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
            if await is_erased(conn, conversation_id):
                raise Forgotten("the conversation was erased")
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
        [saved] = await self._write(conn, [Writing(conversation_id, plan, locked=True)])
        if saved is None:
            raise RuntimeError("a locked conversation refused what was planned for it")
        return saved

    async def _write_to_pool(self, writings: Sequence[Writing]) -> list[Saved | None]:
        return await self._write(self._pool, writings)

    async def _write(self, on: "db.Connection | db.Database", writings: Sequence[Writing]) -> list[Saved | None]:
        """Write each conversation's plan, or nothing of it: then its result is None."""
        apart = _apart(writings)
        rows = await on.fetch(SAVE, *parameters([(w, self._notice(w)) for w in apart]))
        saved = {row["id"] for row in rows}
        new = {(r["message_id"], r["seq"]): r["position"] for r in rows if r["seq"] is not None}
        chosen = {id(w) for w in apart if w.conversation_id in saved}
        return [_saved(w, new) if id(w) in chosen else None for w in writings]

    def _notice(self, writing: Writing) -> str | None:
        if self._alone():
            return None
        messages = list(dict.fromkeys(k.message_id for k in writing.plan.events))[:_NOTIFIED_MESSAGES]
        return json.dumps({"from": self._instance, "conversation_id": writing.conversation_id, "messages": messages})

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


def _apart(writings: Sequence[Writing]) -> list[Writing]:
    """Return those that one statement can write, in the order all processes lock in: each conversation once, and each
    message for one conversation only. The second of a kind has to see the first.
    """
    conversations: set[str] = set()
    spoken_for: dict[str, str] = {}
    apart = []
    for writing in writings:
        name = writing.conversation_id
        messages = {k.message_id for k in writing.plan.events}
        if name not in conversations and all(spoken_for.get(m, name) == name for m in messages):
            conversations.add(name)
            spoken_for.update(dict.fromkeys(messages, name))
            apart.append(writing)
    return sorted(apart, key=lambda w: w.conversation_id)


def parameters(asked: Sequence[tuple[Writing, str | None]]) -> list[list[Any]]:
    """Return the columns of what ``SAVE`` unnests: conversations, messages, events, ended messages."""
    writings = [w for w, _ in asked]
    first = [(w.conversation_id, m, seq) for w in writings for m, seq in _first_seqs(w.plan).items()]
    kept = [(w.conversation_id, n, k) for w in writings for n, k in enumerate(w.plan.events, 1)]
    ended = [(w.conversation_id, f) for w in writings for f in w.plan.finished]
    return [
        [w.conversation_id for w in writings],
        [len(w.plan.events) for w in writings],
        [w.plan.owner_version for w in writings],
        [w.plan.status for w in writings],
        [w.plan.open_agent_turn for w in writings],
        [w.oldest for w in writings],
        [notice for _, notice in asked],
        [conversation_id for conversation_id, _, _ in first],
        [message_id for _, message_id, _ in first],
        [seq for _, _, seq in first],
        [conversation_id for conversation_id, _, _ in kept],
        [n for _, n, _ in kept],
        [k.message_id for _, _, k in kept],
        [k.seq for _, _, k in kept],
        [k.event for _, _, k in kept],
        [k.body for _, _, k in kept],
        [k.writer for _, _, k in kept],
        [k.owner_version for _, _, k in kept],
        [conversation_id for conversation_id, _ in ended],
        [f.message_id for _, f in ended],
        [f.author for _, f in ended],
        [f.channel for _, f in ended],
        [f.thread_ref for _, f in ended],
        [f.text for _, f in ended],
        [with_disclosure(f.text, f.author, f.language) for _, f in ended],
    ]


def _first_seqs(plan: Plan) -> dict[str, int]:
    first: dict[str, int] = {}
    for kept in plan.events:
        first.setdefault(kept.message_id, kept.seq)
    return first


def _saved(writing: Writing, positions: dict[tuple[str, int], int]) -> Saved:
    plan = writing.plan
    events = [
        StoredEvent(writing.conversation_id, k.message_id, k.seq, position, k.event, k.data, k.writer, k.body)
        for k in plan.events
        if (position := positions.get((k.message_id, k.seq))) is not None
    ]
    return Saved(events, mailed=any(f.channel != "chat" for f in plan.finished), dropped=plan.dropped)
