"""What the reconciler does each period: it finds what hangs and has its owner finish it. Every job may run twice."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
from prometheus_client import Counter, Gauge

from common import db
from common.errors import Transient
from common.telemetry import get_logger
from reconciler.adapters.outboxes import wake_late
from reconciler.adapters.owners import Agent, PendingRow, Toolgateway
from reconciler.core.backoff import Backoff
from reconciler.settings import Settings

_runs = Counter("reconciler_runs_total", "Runs of a job by outcome", ["job", "outcome"])
_found = Counter("reconciler_found_total", "Things found hanging", ["job"])
_open_tasks = Gauge("ledger_open_tasks", "Tasks of the ledger that wait for a person")
_failing = Gauge("reconciler_failing_runs", "Failures of a job in a row", ["job"])
_log = get_logger()
# Rows of one order wait for each other's lock anyway; a few at a time keeps a sick provider from being stormed.
_AT_ONCE = 5
_DOWN: tuple[type[BaseException], ...] = (Transient, asyncpg.PostgresError, *db.UNAVAILABLE)


class Jobs:
    """The jobs, each returning how many hanging things it found."""

    def __init__(self, settings: Settings, toolgateway: Toolgateway, agent: Agent) -> None:
        self._settings, self._toolgateway, self._agent = settings, toolgateway, agent

    async def finish_pending(self) -> int:
        """Have every row that has been pending too long finished under its own key."""
        rows = await self._toolgateway.pending(self._settings.pending_after_s, self._settings.batch)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def resume(row: PendingRow) -> None:
            async with gate:
                status = await self._toolgateway.resume(row)
            _log.info("row resumed", key=row.key, status=status)

        outcomes = await asyncio.gather(*(resume(row) for row in rows), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failures:
            raise failures[0]
        return len(rows)

    async def release_runs(self) -> int:
        """Have runs whose worker is gone released for another."""
        return await self._agent.release_expired()

    async def escalate_approvals(self) -> int:
        """Have approvals past their deadline put before the leads."""
        return await self._toolgateway.escalate_overdue()

    async def compare_books(self) -> int:
        """Have the provider's books compared with the ledger once a day; returns what waits for a person."""
        books = await self._toolgateway.compare_books(self._settings.compare_every_s)
        _open_tasks.set(books.open_tasks)
        if books.begun:
            _log.info("books are being compared", open_tasks=books.open_tasks, strays_before=books.last_strays)
        return books.open_tasks

    async def wake_outboxes(self) -> int:
        """Wake relays whose events are late."""
        late = await wake_late(self._settings.database_url, self._settings.outbox_late_s)
        for schema, age in late.items():
            _log.warning("outbox is late", schema=schema, age_s=round(age))
        return len(late)


async def repeat(name: str, job: Callable[[], Awaitable[int]], every_s: float) -> None:
    """Run ``job`` every period for ever, leaving a failing dependency alone for longer each time."""
    backoff = Backoff()
    while True:
        try:
            found = await job()
        except _DOWN as e:
            backoff = backoff.after(ok=False)
            _log.warning("job failed", job=name, error=str(e) or type(e).__name__, in_a_row=backoff.failures)
            _runs.labels(name, "failed").inc()
        else:
            backoff = backoff.after(ok=True)
            _found.labels(name).inc(found)
            _runs.labels(name, "done").inc()
        _failing.labels(name).set(backoff.failures)
        await asyncio.sleep(backoff.pause_s(every_s))


HANDLERS = {
    "pending": Jobs.finish_pending,
    "runs": Jobs.release_runs,
    "approvals": Jobs.escalate_approvals,
    "outboxes": Jobs.wake_outboxes,
    "books": Jobs.compare_books,
}
