"""What approvals does with each event: keep what people need to see, and tell the consoles."""

from approvals.adapters import store
from approvals.adapters.changes import tell
from common import db
from common.consumer import Received
from common.events import ActionChanged, ApprovalRequested, HandoffOpened
from common.inbox import first_time


class Handlers:
    """One coroutine per topic; each seen event and its effect commit together."""

    def __init__(self, pool: db.Database, claim_lease_s: int) -> None:
        self._pool, self._lease_s = pool, claim_lease_s

    async def on_approval_requested(self, batch: list[Received[ApprovalRequested]]) -> None:
        """Keep the newest version of each request."""

        async def save(conn: db.Connection) -> None:
            for received in batch:
                await store.save_request(conn, received.event)
            await tell(conn, "approvals")

        await db.in_transaction(self._pool, save)

    async def on_handoff_opened(self, batch: list[Received[HandoffOpened]]) -> None:
        """Put each handoff in the queue once."""

        async def save(conn: db.Connection) -> None:
            new = await first_time(conn, "approvals-handoffs", [received.event_id for received in batch])
            for received in batch:
                if received.event_id in new:
                    await store.open_handoff(conn, received.event, self._lease_s)
            await tell(conn, "handoffs")

        await db.in_transaction(self._pool, save)

    async def on_action_changed(self, batch: list[Received[ActionChanged]]) -> None:
        """Tell the consoles; the rows themselves are read from the toolgateway."""
        async with self._pool.acquire() as conn:
            await tell(conn, "approvals" if batch else "")
