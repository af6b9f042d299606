"""All SQL of approvals, named."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg

from approvals.core.handoffs import Held, Move, Standing, Status, next_status
from approvals.core.staff import Staff
from common import db
from common.errors import Refused
from common.events import ApprovalRequested, HandoffOpened

_SEE_STAFF = """
insert into staff (staff, role, ceiling) values ($1, $2, $3)
on conflict (staff) do update set role = excluded.role, ceiling = excluded.ceiling, seen_at = now()
returning active
"""
_STAFF = "select staff, role, ceiling, active from staff where staff = $1"
_REMEMBER_REQUEST = """
insert into requests (key, version, digest, order_facts, queue, requested_by, requested_at, expires_at, customer_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (key) do update set version = excluded.version, digest = excluded.digest,
    order_facts = excluded.order_facts, queue = excluded.queue, requested_by = excluded.requested_by,
    requested_at = excluded.requested_at, expires_at = excluded.expires_at, customer_id = excluded.customer_id
where requests.version < excluded.version
"""
_REQUESTS = "select * from requests where key = any($1::text[])"
_OPEN_HANDOFF = """
insert into handoffs (id, conversation_id, customer_id, channel, thread_ref, language, owner_version, reason, priority,
                      queue, packet, opened_at, status, owner, lease_until)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
       case when t.staff is null then 'waiting' else 'claimed' end, t.staff,
       case when t.staff is null then null else now() + make_interval(secs => $13) end
-- A plan nobody went through with is forgotten after as long as a claim would be.
from (select 1) as one
left join takeovers t on t.conversation_id = $2 and t.at > now() - make_interval(secs => $13)
-- The model's summary comes later, as the same handoff with a fuller packet.
on conflict (id) do update set packet = excluded.packet, updated_at = now()
"""
_TAKEOVER_DONE = "delete from takeovers where conversation_id = $1"
_DROP_TAKEOVER = _TAKEOVER_DONE + " and staff = $2"
# The handoff they took over with, whatever it was to the queue; of two at once the later one at the agent service.
_HOLD_TAKEN_OVER = """
update handoffs set status = 'claimed', owner = $2, owner_version = $3, updated_at = now(),
    lease_until = now() + make_interval(secs => $4)
where id = $1 and owner_version <= $3
returning id
"""
_PLAN_TAKEOVER = """
insert into takeovers (conversation_id, staff) values ($1, $2)
on conflict (conversation_id) do update set staff = excluded.staff, at = now()
"""
_HANDOFFS = """
select id, conversation_id, customer_id, channel, language, reason, priority, queue, status, owner, lease_until,
       opened_at, owner_version, lease_until < now() as lease_over from handoffs
where ($1::text is null or status = $1) order by opened_at desc limit 500
"""
_HANDOFF = "select *, lease_until < now() as lease_over from handoffs where id = $1"
_LOCK_HANDOFF = _HANDOFF + " for update"
_OPEN_OF_CONVERSATION = """
select id from handoffs where conversation_id = $1 and status in ('waiting', 'claimed') order by opened_at desc limit 1
"""
_MOVE = """
update handoffs set status = $2, owner = $3, updated_at = now(),
    lease_until = case when $2 = 'claimed' then now() + make_interval(secs => $4) end
where id = $1
returning lease_until
"""
_SET_OWNER_VERSION = "update handoffs set owner_version = greatest(owner_version, $2) where id = $1"
_SETTLE = """
update handoffs set status = $2, owner = $3, lease_until = null, updated_at = now()
where id = $1 and status in ('waiting', 'claimed')
"""
# Every later step of whoever claimed has renewed the lease, and isn't undone with the claim.
_UNDO_CLAIM = """
update handoffs set status = 'waiting', owner = null, lease_until = null, updated_at = now()
where id = $1 and status = 'claimed' and owner = $2 and lease_until = $3
returning id
"""
_SAVE_REPLY = """
insert into staff_messages (message_id, handoff_id, conversation_id, staff, text) values ($1, $2, $3, $4, $5)
"""


class UnknownHandoff(Refused):
    """There is no handoff of that id."""


@dataclass(frozen=True)
class Moved:
    """A move that was made: the row as it was before, whether its owner changed, and the lease it gave, if any."""

    before: asyncpg.Record
    changed: bool
    lease_until: datetime | None


async def see_staff(conn: db.Connection, staff: Staff) -> bool:
    """Record what their login says of them now; returns whether they are still active here."""
    return bool(await conn.fetchval(_SEE_STAFF, staff.staff, staff.role, staff.ceiling))


async def load_staff(conn: db.Connection, staff: str) -> asyncpg.Record | None:
    """Return ``staff, role, ceiling, active``, or None for somebody who never signed in."""
    return await conn.fetchrow(_STAFF, staff)


async def save_request(conn: db.Connection, event: ApprovalRequested) -> None:
    """Keep the newest version of a request, whatever order the events come in."""
    await conn.execute(
        _REMEMBER_REQUEST,
        event.key,
        event.version,
        event.digest,
        event.order,
        event.queue,
        event.requested_by,
        event.requested_at,
        event.expires_at,
        event.customer_id,
    )


async def load_requests(conn: db.Connection, keys: list[str]) -> dict[str, asyncpg.Record]:
    """Return the known requests by key."""
    return {row["key"]: row for row in await conn.fetch(_REQUESTS, keys)}


async def open_handoff(conn: db.Connection, event: HandoffOpened, lease_s: int) -> None:
    """Put a handoff in the queue, or straight into the hands of whoever stepped in."""
    await conn.execute(
        _OPEN_HANDOFF,
        event.handoff_id,
        event.conversation_id,
        event.customer_id,
        event.channel,
        event.thread_ref,
        event.language,
        event.owner_version,
        event.reason,
        event.priority,
        event.queue,
        event.packet,
        event.opened_at,
        lease_s,
    )
    await conn.execute(_TAKEOVER_DONE, event.conversation_id)


async def plan_takeover(conn: db.Connection, conversation_id: str, staff: str) -> None:
    """Note who steps in, before the agent service is asked, so that the handoff it opens is theirs."""
    await conn.execute(_PLAN_TAKEOVER, conversation_id, staff)


async def drop_takeover(conn: db.Connection, conversation_id: str, staff: str) -> None:
    """Forget a takeover that came to nothing."""
    await conn.execute(_DROP_TAKEOVER, conversation_id, staff)


async def hold_taken_over(conn: db.Connection, conversation_id: str, taken: Standing, staff: str, lease_s: int) -> None:
    """Put the handoff into the hands of whoever took over; one that is yet to arrive finds the plan."""
    if await conn.fetchval(_HOLD_TAKEN_OVER, taken.handoff_id, staff, taken.owner_version, lease_s) is not None:
        await conn.execute(_DROP_TAKEOVER, conversation_id, staff)


async def list_handoffs(conn: db.Connection, status: str | None) -> list[asyncpg.Record]:
    """Return the newest 500 handoffs, without their packets."""
    return await conn.fetch(_HANDOFFS, status)


async def check_move(conn: db.Connection, handoff_id: str, move: Move, staff: str) -> asyncpg.Record:
    """Return the row if the move is legal now, and change nothing; raises UnknownHandoff or IllegalMove."""
    row = await load_handoff(conn, handoff_id)
    next_status(_held(row), move, staff)
    return row


async def load_handoff(conn: db.Connection, handoff_id: str) -> asyncpg.Record:
    """Return one whole handoff; raises UnknownHandoff."""
    row = await conn.fetchrow(_HANDOFF, handoff_id)
    if row is None:
        raise UnknownHandoff("no such handoff")
    return row


async def open_handoff_of(conn: db.Connection, conversation_id: str) -> str | None:
    """Return the id of the conversation's handoff that is still open."""
    found: str | None = await conn.fetchval(_OPEN_OF_CONVERSATION, conversation_id)
    return found


async def move_handoff(conn: db.Connection, handoff_id: str, move: Move, staff: str, lease_s: int) -> Moved:
    """Make one legal move under the row's lock; raises UnknownHandoff or IllegalMove."""
    row = await conn.fetchrow(_LOCK_HANDOFF, handoff_id)
    if row is None:
        raise UnknownHandoff("no such handoff")
    after = next_status(_held(row), move, staff)
    lease_until: datetime | None = await conn.fetchval(_MOVE, handoff_id, after, staff, lease_s)
    return Moved(row, row["owner"] != staff, lease_until)


def _held(row: asyncpg.Record) -> Held:
    return Held(row["status"], row["owner"], bool(row["lease_over"]))


async def undo_claim(conn: db.Connection, handoff_id: str, staff: str, lease_until: datetime | None) -> bool:
    """Give back the claim that got this very lease; False if somebody, or the same person, has moved on since."""
    return await conn.fetchval(_UNDO_CLAIM, handoff_id, staff, lease_until) is not None


async def settle_handoff(conn: db.Connection, handoff_id: str, status: Status, owner: str | None) -> None:
    """End a handoff that is over at the agent service; ``owner`` is who had it last."""
    await conn.execute(_SETTLE, handoff_id, status, owner)


async def save_owner_version(conn: db.Connection, handoff_id: str, version: int) -> None:
    """Keep the newest owner version the agent service told."""
    await conn.execute(_SET_OWNER_VERSION, handoff_id, version)


async def save_reply(conn: db.Connection, message_id: str, handoff: asyncpg.Record, staff: str, text: str) -> None:
    """Keep what a person wrote."""
    await conn.execute(_SAVE_REPLY, message_id, handoff["id"], handoff["conversation_id"], staff, text)


def handoff_item(row: asyncpg.Record) -> dict[str, Any]:
    """Return a handoff row as JSON; ``lease_over``: claimed, but anybody may claim it now."""
    return {name: _plain(value) for name, value in row.items()} | {"lease_over": bool(row["lease_over"])}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
