"""What a chat's message meets and how it is stored, for many conversations with one statement each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from common import db
from common.outbox import Outgoing, outbox_values, queued_for_each
from common.together import Together
from gateway.adapters.store import COLUMNS, HISTORY, Context, Keyed, context_of
from gateway.core.conversations import Conversation, Incoming

# Everybody waits for the batch before theirs: a connection that died in silence may hold them up so long, not for the
# half minute that a single statement may take. What was stored all the same is found by its key.
_PATIENCE_S = 5.0
# As `lock_conversation` and `load_context` do, without a lock: for the common case that nobody else writes here now;
# TAKE finds out.
_columns = ", ".join(f"c.{name}" for name in COLUMNS)
LOAD_STANDINGS = f"""
select a.nth, k.body_hash, k.message_id, {HISTORY.format(conversation_id="c.id")} as history, {_columns}
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality as a(id, owner, key, nth)
  join conversations c on c.id = a.id and c.owner = a.owner
  left join lateral (select body_hash, message_id from idempotency
                      where owner = a.owner and conversation_id = a.id and key = a.key limit 1) k on true
"""  # noqa: S608 - our own constants
# Message, key and event of each, if its conversation still is at the number that was read and nobody holds it: a batch
# waits for no single conversation.
TAKE = f"""
with asked as (
  select a.*
    from unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                $8::text[], $9::bytea[]) with ordinality
         as a(id, owner, last_seq, message_id, text, locale, session_until, key, body_hash, nth),
         lateral (select from conversations where id = a.id limit 1 for no key update skip locked) held
), taken as (
  update conversations c
     set last_seq = c.last_seq + 1, last_message_at = now(), locale = coalesce(a.locale, c.locale),
         session_until = greatest(c.session_until, a.session_until),
         status = case c.status when 'closed' then 'active' else c.status end
    from asked a
   where c.id = a.id and c.owner = a.owner and c.last_seq = a.last_seq
  returning a.nth, c.id, c.owner, c.last_seq, a.message_id, a.text, a.key, a.body_hash
), added as (
  insert into messages (id, conversation_id, channel, direction, author, text, seq)
  select message_id, id, 'chat', 'inbound', 'customer', text, last_seq from taken
), keyed as (
  insert into idempotency (owner, conversation_id, key, body_hash, message_id)
  select owner, id, key, body_hash, message_id from taken
), {queued_for_each("taken", 10)}
select nth, (select count(*) from woken) as woken from taken
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose conversation is looked up, and which key."""

    conversation_id: str
    owner: str
    key: str


@dataclass(frozen=True, slots=True)
class Taking:
    """A message to take in the conversation as it was ``seen``."""

    seen: Conversation
    incoming: Incoming
    keyed: Keyed
    session_until: datetime | None
    # Built by whoever takes it, since the headers carry the trace of that very request.
    outgoing: tuple[list[Any], ...]

    @classmethod
    def of(
        cls, seen: Conversation, incoming: Incoming, keyed: Keyed, session_until: datetime | None, event: Outgoing
    ) -> "Taking":
        return cls(seen, incoming, keyed, session_until, outbox_values([event]))


class Chats:
    """Looks up and stores chats' messages; calls that meet share a statement."""

    def __init__(self, pool: db.Database) -> None:
        self._pool = pool
        self._look_up = Together(self._load_standings)
        self._take = Together(self._take_messages)

    async def load_standing(self, conversation_id: str, owner: str, key: str) -> tuple[Conversation, Context] | None:
        """Return the owner's conversation and what a message under ``key`` meets in it; None for somebody else's."""
        return await self._look_up(Asked(conversation_id, owner, key))

    async def take_message(self, taking: Taking) -> bool:
        """Store a message with its key and event; False, and nothing stored, if somebody wrote since it was seen."""
        try:
            return await self._take(taking)
        except asyncpg.UniqueViolationError:
            # The key was used meanwhile.
            return False

    async def _load_standings(self, asked: Sequence[Asked]) -> list[tuple[Conversation, Context] | None]:
        rows = await self._pool.fetch(
            LOAD_STANDINGS,
            [a.conversation_id for a in asked],
            [a.owner for a in asked],
            [a.key for a in asked],
            timeout=_PATIENCE_S,
        )
        found = {row["nth"]: _standing(row) for row in rows}
        return [found.get(nth) for nth in range(1, len(asked) + 1)]

    async def _take_messages(self, takings: Sequence[Taking]) -> list[bool]:
        # A conversation's second message has to see the first, so it waits its turn elsewhere.
        first = {taking.seen.id: taking for taking in reversed(takings)}
        items = [first[conversation_id] for conversation_id in sorted(first)]
        rows = await self._pool.fetch(TAKE, *_parameters(items), timeout=_PATIENCE_S)
        taken = {items[row["nth"] - 1].incoming.message_id for row in rows}
        return [taking.incoming.message_id in taken for taking in takings]


def _parameters(items: Sequence[Taking]) -> list[list[Any]]:
    events = zip(*(item.outgoing for item in items), strict=True)
    return [
        [item.seen.id for item in items],
        [item.seen.owner for item in items],
        [item.seen.last_seq for item in items],
        [item.incoming.message_id for item in items],
        [item.incoming.text for item in items],
        [item.incoming.locale for item in items],
        [item.session_until for item in items],
        [item.keyed.key for item in items],
        [item.keyed.body_hash for item in items],
        *([value for [value] in column] for column in events),
        list(range(1, len(items) + 1)),
    ]


def _standing(row: asyncpg.Record) -> tuple[Conversation, Context]:
    _, body_hash, message_id, history, *columns = row.values()
    return Conversation(*columns), context_of(body_hash, message_id, history)
