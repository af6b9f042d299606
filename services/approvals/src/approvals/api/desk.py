"""The queue's rows as its routes move them."""

from dataclasses import dataclass

import asyncpg

from approvals.adapters import store
from approvals.adapters.changes import tell
from approvals.adapters.neighbours import Conversations, Ledger
from approvals.api.access import Access
from approvals.core.handoffs import IllegalMove, Move
from common import db
from common.clock import Clock
from common.http import Problem


@dataclass(frozen=True)
class Desk:
    """What the queue's routes need."""

    access: Access
    pool: db.Database
    conversations: Conversations
    ledger: Ledger
    clock: Clock
    lease_s: int

    async def move(self, handoff_id: str, move: Move, staff: str) -> store.Moved:
        """Make one move in the queue; 404 and 409 come back as Problems."""

        known = _known(handoff_id)

        async def work(conn: db.Connection) -> store.Moved:
            moved = await store.move_handoff(conn, known, move, staff, self.lease_s)
            await tell(conn, "handoffs")
            return moved

        try:
            return await db.in_transaction(self.pool, work)
        except store.UnknownHandoff as e:
            raise Problem(404, e.reason) from e
        except IllegalMove as e:
            raise Problem(409, e.reason) from e

    async def check(self, handoff_id: str, move: Move, staff: str) -> asyncpg.Record:
        """Return the row if ``move`` would be legal, else a 404 or 409 Problem."""
        async with self.pool.acquire() as conn:
            try:
                return await store.check_move(conn, _known(handoff_id), move, staff)
            except store.UnknownHandoff as e:
                raise Problem(404, e.reason) from e
            except IllegalMove as e:
                raise Problem(409, e.reason) from e

    async def load(self, handoff_id: str) -> asyncpg.Record:
        """Return one handoff, or a 404 Problem."""
        async with self.pool.acquire() as conn:
            try:
                return await store.load_handoff(conn, _known(handoff_id))
            except store.UnknownHandoff as e:
                raise Problem(404, e.reason) from e


def _known(handoff_id: str) -> str:
    """PostgreSQL can't even be asked for an id with U+0000 in it, so there is none of that name."""
    if "\x00" in handoff_id:
        raise Problem(404, "no such handoff")
    return handoff_id
