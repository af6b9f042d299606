"""Opening a handoff: conversation status, owner version, row and event belong to one transaction (SPEC §2)."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg
from prometheus_client import Counter

from agent.adapters.store import load_conversation, load_transcript, save_state
from agent.core.ownership import AGENT, PEOPLE
from agent.core.packet import Case, build_packet, priority_of, queue_of, with_rows
from agent.core.state import ConversationState, Memory
from common import db
from common.events import HandoffOpened
from common.events.handoffs import HandoffReason
from common.events.model import Channel, Language
from common.ids import derived_id
from common.outbox import enqueue
from common.topics import HANDOFFS

Json = dict[str, Any]
_HANDOFFS = Counter("handoffs_total", "Conversations handed to people, by reason", ["reason"])
_TAKE = """
update conversations set status = 'with_person', owner = $3, owner_version = owner_version + 1,
       version = version + 1, updated_at = now()
where id = $1 and owner = 'agent' and owner_version = $2 returning owner_version, verified_fields
"""
_LATEST = """
select id, packet from handoffs where conversation_id = $1 order by owner_version desc limit 1 for update
"""
_SAVE_PACKET = """
update handoffs set packet = $2 where id = $1
returning id, conversation_id, reason, priority, queue, packet, owner_version, opened_at
"""
_INSERT = """
insert into handoffs (id, conversation_id, reason, priority, queue, packet, owner_version, opened_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
"""
# A conversation is with people for its newest handoff, until that is given back or closed.
_OPEN_HANDOFF = """
select h.id from conversations c join handoffs h on h.conversation_id = c.id
where c.id = $1 and c.status = 'with_person' order by h.owner_version desc limit 1
"""
_HANDOFF = """
select id, conversation_id, reason, priority, queue, packet, owner_version, opened_at from handoffs where id = $1
for update
"""
# A summary is tried a few times by whichever worker has a model at hand; the row itself is the queue.
_WANT_SUMMARY = """
with next as (
    select id from handoffs where summary = 'wanted' and summary_at < now()
    order by summary_at limit 1 for update skip locked
)
update handoffs h set summary_tries = h.summary_tries + 1, summary_at = now() + interval '30 seconds',
       summary = case when h.summary_tries >= 2 then 'given_up' else h.summary end
from next where h.id = next.id
returning h.id, h.conversation_id
"""
_SAVE_SUMMARY = """
update handoffs set packet = jsonb_set(packet, '{model_summary}', $2), summary = 'written'
where id = $1 and summary <> 'written'
returning id, conversation_id, reason, priority, queue, packet, owner_version, opened_at
"""
_BOOK_SUMMARY = """
update handoffs set summary_tokens = summary_tokens + $2, summary_cost_usd = summary_cost_usd + $3 where id = $1
"""


@dataclass(frozen=True, slots=True)
class HandoffDraft:
    """A handoff about to be opened; ``seed`` names what caused it, so that a repeated step opens it once."""

    conversation_id: str
    seed: str
    case: Case
    memory: Memory
    channel: Channel
    thread_ref: str | None
    language: Language
    # Who has it from now on: the waiting queue, or the person who stepped in unasked.
    owner: str = PEOPLE


async def insert_handoff(
    conn: db.Connection, draft: HandoffDraft, owner_version: int, now: datetime
) -> HandoffOpened | None:
    """Take the conversation from the agent and write the row, in the caller's transaction.

    Returns the event to send with it, or None when the agent doesn't own the conversation under that version any more.
    """
    taken = await conn.fetchrow(_TAKE, draft.conversation_id, owner_version, draft.owner)
    if taken is None:
        return None
    version = taken["owner_version"]
    transcript = await load_transcript(conn, draft.conversation_id)
    said = [{f: e[f] for f in ("sender", "text", "at")} for e in transcript]
    packet = build_packet(draft.case, draft.memory, said, taken["verified_fields"] or ())
    opened = HandoffOpened(
        handoff_id=f"ho_{derived_id('handoff', draft.conversation_id, draft.seed)}",
        conversation_id=draft.conversation_id,
        customer_id=draft.case.customer_id,
        channel=draft.channel,
        thread_ref=draft.thread_ref,
        language=draft.language,
        owner_version=version,
        reason=draft.case.reason,
        priority=priority_of(draft.case, draft.memory),
        queue=queue_of(draft.case, draft.memory),
        packet=packet,
        opened_at=now,
    )
    await conn.execute(
        _INSERT,
        opened.handoff_id,
        opened.conversation_id,
        opened.reason,
        opened.priority,
        opened.queue,
        packet,
        version,
        now,
    )
    return opened


def count_handoff(reason: HandoffReason) -> None:
    """Count one opened handoff (SPEC §8); for whoever opened it, once its transaction has committed."""
    _HANDOFFS.labels(reason).inc()


async def add_to_packet(
    conn: db.Connection, conversation_id: str, rows: list[Json], unheard: list[Json], *, cause: str, now: datetime
) -> None:
    """Show whoever has the conversation rows that moved while they took it, and name the writes whose answer was lost.

    In the caller's transaction.
    """
    found = await conn.fetchrow(_LATEST, conversation_id)
    if found is not None:
        row = await conn.fetchrow(_SAVE_PACKET, found["id"], with_rows(found["packet"], rows, unheard))
        assert row is not None
        event = await _event_of(conn, row)
        event_id = derived_id("handoff", event.handoff_id, cause)
        await enqueue(conn, HANDOFFS, event.conversation_id, event, occurred_at=now, event_id=event_id)


async def load_open_handoff(conn: db.Connection, conversation_id: str) -> str | None:
    """Return the id of the handoff for which people have the conversation, None while they don't."""
    found: str | None = await conn.fetchval(_OPEN_HANDOFF, conversation_id)
    return found


async def announce_again(conn: db.Connection, handoff_id: str, now: datetime) -> None:
    """Send the handoff's event once more, for a queue that never took it in; the same handoff for one that did."""
    row = await conn.fetchrow(_HANDOFF, handoff_id)
    assert row is not None, "the caller has just read it in this transaction"
    event = await _event_of(conn, row)
    await enqueue(conn, HANDOFFS, event.conversation_id, event, occurred_at=now)


async def _event_of(conn: db.Connection, row: asyncpg.Record) -> HandoffOpened:
    about = await conn.fetchrow(
        "select customer_id, channel, thread_ref, language from conversations where id = $1",
        row["conversation_id"],
    )
    assert about is not None
    return HandoffOpened(handoff_id=row["id"], **{k: v for k, v in row.items() if k != "id"}, **dict(about))


async def claim_summary(pool: db.Database) -> tuple[str, str] | None:
    """Return (handoff, conversation) of one summary that is wanted, after three tries given up."""
    row = await pool.fetchrow(_WANT_SUMMARY)
    return (row["id"], row["conversation_id"]) if row is not None else None


async def give_up_summary(pool: db.Database, handoff_id: str) -> None:
    """Let a handoff go without a summary."""
    await pool.execute("update handoffs set summary = 'given_up' where id = $1 and summary = 'wanted'", handoff_id)


async def book_summary(
    pool: db.Database, handoff_id: str, conversation_id: str, tokens: int, cost_usd: Decimal
) -> None:
    """Add what one try at a summary used to the handoff, and to what the conversation remembers while a person has it.

    While a run has it the shared counter is told alone: the run's next save would write over ours.
    """

    async def work(conn: db.Connection) -> None:
        found = await load_conversation(conn, conversation_id, lock=True)
        await conn.execute(_BOOK_SUMMARY, handoff_id, tokens, cost_usd)
        if found is not None and found.owner != AGENT:
            state = ConversationState.model_validate(found.run_state)
            state.memory.tokens += tokens
            state.memory.cost_usd += cost_usd
            await save_state(conn, conversation_id, state.model_dump(mode="json"))

    await db.in_transaction(pool, work)


async def save_summary(pool: db.Database, handoff_id: str, text: str, model: str, now: datetime) -> bool:
    """Put the labelled summary into the packet and tell the people's side with a second event of the same handoff."""
    summary: Json = {"written_by": "model", "model": model, "text": text}

    async def work(conn: db.Connection) -> bool:
        row = await conn.fetchrow(_SAVE_SUMMARY, handoff_id, summary)
        if row is None:
            return False
        event = await _event_of(conn, row)
        await enqueue(
            conn,
            HANDOFFS,
            event.conversation_id,
            event,
            occurred_at=now,
            event_id=derived_id("handoff", handoff_id, "summary"),
        )
        return True

    return await db.in_transaction(pool, work)
