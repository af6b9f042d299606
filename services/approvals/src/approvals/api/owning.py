"""The moves that change hands in two places: the queue, which holds leases, and the agent service, which holds owners.

There is no transaction over both. A claim is written here first: of many claimers the row lets one through, and its
lease lets the next one in should we die before the agent service hears of it. An end is written there first: the row
stays theirs until the agent service has taken it, so a refusal or a crash in between leaves something to do again,
by the same person now or by anybody once the lease is over. Every step may be repeated.

An end passes over whoever else the agent service has as owner, because the row says that the lease is ours. So it
looks there first and at the row after that: a colleague's claim that is seen there stands in the row already, and one
that isn't changes the version the end expects.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal, TypeVar

import asyncpg

from approvals.adapters import store
from approvals.adapters.changes import tell
from approvals.adapters.neighbours import standing_of
from approvals.api.desk import Desk
from approvals.core.handoffs import Standing, Status, succeeds
from approvals.core.staff import Staff
from common import db
from common.crash import crash_point
from common.http import Problem

Item = dict[str, Any]
_T = TypeVar("_T")


async def claim(desk: Desk, handoff_id: str, staff: str) -> Item:
    """Claim in the queue, then with the agent service; a claim it refuses goes back to the queue."""
    moved = await desk.move(handoff_id, "claim", staff)
    row = moved.before
    try:
        now = await desk.conversations.load_standing(row["conversation_id"])
        over = not await _tell_agent(desk, row, now, "claim", staff, held=True)
    except Problem as e:
        back = moved.changed and await _put_back(desk, handoff_id, staff, moved.lease_until)
        raise _unsettled(e, "the handoff is back in the queue" if back else "the handoff is still yours") from e
    if over:
        await _settle(desk, handoff_id, now, row["owner"])
        raise Problem(409, "this handoff is over: the conversation is back with the agent")
    return store.handoff_item(await desk.load(handoff_id))


async def end(desk: Desk, handoff_id: str, move: Literal["return", "close"], staff: str) -> Item:
    """Give back or close with the agent service, then in the queue; whoever ended it may do so again."""
    row = await desk.check(handoff_id, move, staff)
    try:
        now = await desk.conversations.load_standing(row["conversation_id"])
        row = await desk.check(handoff_id, move, staff)
        await _tell_agent(desk, row, now, move, staff, held=row["status"] == "claimed")
    except Problem as e:
        # A conversation past its retention has no owner any more, and leaves nothing to give back.
        if e.status != 404:
            raise _unsettled(e, "the handoff is still yours") from e
    await desk.move(handoff_id, move, staff)
    return store.handoff_item(await desk.load(handoff_id))


async def take_over(desk: Desk, conversation_id: str, person: Staff) -> Item:
    """Step in: by a claim where a handoff is open, else unasked, and the handoff that follows is theirs."""
    staff = person.staff
    async with desk.pool.acquire() as conn:
        queued = await store.open_handoff_of(conn, conversation_id)
    # Asked after the queue: a handoff that stands there is known to the agent service for sure.
    conversation = await desk.conversations.get(conversation_id)
    now = standing_of(conversation)
    if queued is not None and queued == now.handoff_id:
        return await claim(desk, queued, staff)
    if queued is not None:
        await _settle(desk, queued, now, (await desk.load(queued))["owner"])
    customer = await desk.ledger.customer(person, conversation)
    async with desk.pool.acquire() as conn:
        await store.plan_takeover(conn, conversation_id, staff)
    await crash_point("takeover.before_owner")
    try:
        taken = await desk.conversations.take_over(conversation_id, staff, customer)
    except Problem:
        async with desk.pool.acquire() as conn:
            await store.drop_takeover(conn, conversation_id, staff)
        raise
    await crash_point("takeover.after_owner")
    await _write(desk, lambda conn: store.hold_taken_over(conn, conversation_id, taken, staff, desk.lease_s))
    return asdict(taken)


async def _tell_agent(desk: Desk, row: asyncpg.Record, now: Standing, move: str, staff: str, *, held: bool) -> bool:
    """Make the move at the agent service, where all still is as in ``now``; False if this handoff is over there."""
    await crash_point(f"{move}.before_owner")
    if now.handoff_id != row["id"]:
        return False
    whom = succeeds(now, staff, held=held)
    after = await desk.conversations.change_owner(row["conversation_id"], move, staff, now, whom)
    await crash_point(f"{move}.after_owner")
    async with desk.pool.acquire() as conn:
        await store.save_owner_version(conn, row["id"], after.owner_version)
    return True


def _unsettled(e: Problem, where: str) -> Problem:
    """Say what became of the row: whether the agent service did anything may be unknown, and needn't be known."""
    if e.status < 500:
        return e
    return Problem(e.status, f"the agent service didn't confirm it; {where}, try again", headers=e.headers)


async def _put_back(desk: Desk, handoff_id: str, staff: str, lease_until: datetime | None) -> bool:
    return await _write(desk, lambda conn: store.undo_claim(conn, handoff_id, staff, lease_until))


async def _settle(desk: Desk, handoff_id: str, now: Standing, owner: str | None) -> None:
    status: Status = "closed" if now.status == "closed" else "returned"
    await _write(desk, lambda conn: store.settle_handoff(conn, handoff_id, status, owner))


async def _write(desk: Desk, change: Callable[[db.Connection], Awaitable[_T]]) -> _T:
    async def work(conn: db.Connection) -> _T:
        changed = await change(conn)
        await tell(conn, "handoffs")
        return changed

    return await db.in_transaction(desk.pool, work)
