"""Takes RAG and agent work in, in milliseconds: a row, a status event; the answer is a claimed run's business (R9)."""

from dataclasses import dataclass
from functools import cached_property

from agent.adapters import store
from agent.adapters.answering import Answering
from agent.adapters.run_store import RunStore
from agent.adapters.sending import enqueue_replies
from agent.core.hours import ALWAYS, StaffHours
from agent.core.replies import Address, by_person
from agent.fixed import queue_run, start_status
from common import db
from common.clock import Clock
from common.consumer import Received
from common.events import WorkItem
from common.inbox import first_time
from common.producer import Producer


@dataclass(frozen=True)
class Intake:
    """One group's intake."""

    group: str
    pool: db.Database
    runs: RunStore
    producer: Producer
    clock: Clock
    staff: StaffHours = ALWAYS

    @cached_property
    def _answering(self) -> Answering:
        return Answering(self.pool, self.group)

    async def on_work(self, batch: list[Received[WorkItem]]) -> None:
        """Queue one conversation's messages, in order; what a person owns ends at once."""
        for received in batch:
            standing = await self._answering.load_standing(received.event.message)
            # Acknowledged before the run can be claimed: its answer must not overtake it.
            await (await start_status(self.producer, received.event, standing, self.clock.now(), self.staff))
            if standing.by_agent:
                await queue_run(self.pool, self.group, received)
            else:
                await self._leave(received)

    async def _leave(self, received: Received[WorkItem]) -> None:
        async def work(conn: db.Connection) -> None:
            if received.event_id not in await first_time(conn, self.group, [received.event_id]):
                return
            standing = await store.save_arrival(conn, received.event)
            if standing.by_agent:
                await store.add_queued_run(conn, received.event)
                return
            await store.add_done_run(conn, received.event, "with_person")
            address = Address.of(received.event.message, standing.owner_version)
            await enqueue_replies(conn, by_person(address), self.clock.now())

        await db.in_transaction(self.pool, work)
