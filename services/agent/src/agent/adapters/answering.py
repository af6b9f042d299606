"""Messages answered on the spot, read and stored for many conversations with one statement each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from agent.adapters.store import NOT_ERASED, URGENCY, WRITES_AGAIN, Standing, verified_fields
from common import db
from common.events import CustomerMessage, WorkItem
from common.outbox import Outgoing, outbox_values, queued_for_each
from common.together import Together

# What decides how a message may be answered: who owns the conversation and whether an earlier message is still open.
_PEEK = """
select c.owner, c.owner_version, c.status,
       exists (select 1 from runs r where r.conversation_id = c.id and r.seq < m.seq and r.status <> 'done') as waiting,
       (m.seq = 1 or exists (select 1 from runs r where r.conversation_id = c.id and r.seq = m.seq - 1)) as in_order
  from unnest($1::text[], $2::integer[]) with ordinality as m(conversation_id, seq, nth)
  left join conversations c on c.id = m.conversation_id
 order by m.nth
"""
# Each message whole: dedupe row, conversation, words, run and reply, where the conversation is still the agent's under
# the version that was read. A conversation that somebody holds is left out: it waits alone on the careful path, not the
# whole batch with it. New ones are written in the order of their ids, so that two processes can't wait for each other.
# What came before is left out, too; should it come elsewhere at this very moment, its dedupe row fails the statement,
# and each message is tried alone.
_ANSWER = f"""
with item as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                         $10::timestamptz[], $11::integer[], $12::text[], $13::text[], $14::integer[], $15::text[],
                         $16::smallint[], $17::text[]) with ordinality
               as i(conversation_id, customer_id, channel, language, locale, thread_ref, message_id, said,
                    received_at, seen_version, event_id, answer, seq, route, urgency, proved, nth)
      left join lateral (select true as free from conversations where id = i.conversation_id limit 1
                            for no key update skip locked) known on true
     where not exists (select 1 from inbox where consumer_group = $1 and inbox.event_id = i.event_id)
       and (free or not exists (select 1 from conversations where id = i.conversation_id))
       and {NOT_ERASED.format("i.conversation_id")}
), arrived as (
    insert into conversations as c (id, customer_id, channel, language, locale, thread_ref, owner_version,
                                    verified_fields)
    select conversation_id, customer_id, channel, language, locale, thread_ref, seen_version,
           string_to_array(proved, ' ')
      from item order by conversation_id
{WRITES_AGAIN}
    where c.owner = 'agent' and c.owner_version = excluded.owner_version
    returning c.id
), saved as (
    select item.* from item join arrived on arrived.id = item.conversation_id
), seen as (
    insert into inbox (consumer_group, event_id) select $1, event_id from saved
), said as (
    insert into messages (conversation_id, message_id, sender, text, at)
    select saved.conversation_id, saved.message_id, w.sender, w.text, w.at
      from saved, lateral (values (1, 'customer', said, received_at), (2, 'agent', answer, now()))
           as w(part, sender, text, at)
     order by saved.nth, w.part
    on conflict (message_id, sender) do nothing
), ran as (
    insert into runs (message_id, conversation_id, seq, route, urgency, status, work, outcome, finished_at)
    select message_id, conversation_id, seq, route, urgency, 'done', null, 'answered', now() from saved
    on conflict (message_id) do nothing
), {queued_for_each("saved", 18)}
select nth, (select count(*) from woken) as woken from saved
"""  # noqa: S608 - our own constants


@dataclass(frozen=True, slots=True)
class Answered:
    """A message, its answer, how the conversation stood when it was looked up, and the events of the reply."""

    work: WorkItem
    event_id: str
    seen: Standing
    text: str
    # Built by whoever answers, since the headers carry the trace of that very message.
    outgoing: tuple[list[Any], ...]

    @classmethod
    def of(cls, work: WorkItem, event_id: str, seen: Standing, text: str, events: Sequence[Outgoing]) -> "Answered":
        return cls(work, event_id, seen, text, outbox_values(events))


class Answering:
    """Reads and stores for one consumer group; calls that meet share a statement."""

    def __init__(self, pool: db.Database, group: str) -> None:
        self._pool, self._group = pool, group
        self._peek = Together(self._load_standings)
        self._save = Together(self._save_answered)

    async def load_standing(self, message: CustomerMessage) -> Standing:
        """Return how the conversation stands before this message; a new one is the agent's."""
        return await self._peek(message)

    async def save_answered(self, answered: Answered) -> bool:
        """Store a message with its reply; False, and nothing stored, if it came before or if the conversation isn't
        as it was ``seen``, or was erased.
        """
        try:
            return await self._save(answered)
        except asyncpg.UniqueViolationError:
            return False

    async def _load_standings(self, messages: Sequence[CustomerMessage]) -> list[Standing]:
        rows = await self._pool.fetch(_PEEK, [m.conversation_id for m in messages], [m.seq for m in messages])
        return [
            Standing("agent", 1, "active", in_order=message.seq == 1)
            if row["owner"] is None
            else Standing(row["owner"], row["owner_version"], row["status"], row["waiting"], row["in_order"])
            for message, row in zip(messages, rows, strict=True)
        ]

    async def _save_answered(self, items: Sequence[Answered]) -> list[bool]:
        rows = await self._pool.fetch(_ANSWER, self._group, *zip(*map(_values, items), strict=True), *_events(items))
        saved = {row["nth"] for row in rows}
        return [n in saved for n in range(1, len(items) + 1)]


def _values(item: Answered) -> tuple[object, ...]:
    work, m = item.work, item.work.message
    # Lists of several lengths make no array of arrays; no field's name holds a blank.
    proved = verified_fields(m)
    return (
        m.conversation_id, m.customer_id, m.channel, work.language, m.locale, m.thread_ref, m.message_id, m.text,
        m.received_at, item.seen.owner_version, item.event_id, item.text, m.seq, work.route, URGENCY[m.channel],
        None if proved is None else " ".join(proved),
    )  # fmt: skip


def _events(items: Sequence[Answered]) -> list[list[Any]]:
    columns = [[value for item in items for value in item.outgoing[column]] for column in range(5)]
    return [*columns, [n for n, item in enumerate(items, start=1) for _ in item.outgoing[0]]]
