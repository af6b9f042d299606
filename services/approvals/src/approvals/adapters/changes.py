"""Tells open consoles that something changed: a NOTIFY in the transaction, heard by every replica."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import asyncpg

from common import db

_CHANNEL = "approvals_changed"
_TELL = f"select pg_notify('{_CHANNEL}', $1)"
# A console that stops reading keeps at most this many hints; it loads the lists anew anyway.
_QUEUE = 50


async def tell(conn: db.Connection, what: str) -> None:
    """Tell every console, when the caller's transaction commits, that ``approvals`` or ``handoffs`` changed."""
    await conn.execute(_TELL, what)


class Changes:
    """Hears changes on a connection of its own and hands them to whoever watches."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._watchers: set[asyncio.Queue[str]] = set()

    async def run(self) -> None:
        """Listen until cancelled; a lost connection is opened again."""
        while True:
            with contextlib.suppress(*db.UNAVAILABLE, asyncpg.PostgresError):
                await self._listen()
            await asyncio.sleep(1)

    async def watch(self) -> AsyncIterator[str]:
        """Yield what changed, as it happens."""
        queue: asyncio.Queue[str] = asyncio.Queue(_QUEUE)
        self._watchers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    async def _listen(self) -> None:
        conn = await asyncpg.connect(self._dsn)
        lost = asyncio.Event()
        conn.add_termination_listener(lambda _: lost.set())
        try:
            await conn.add_listener(_CHANNEL, self._heard)
            await lost.wait()
        finally:
            await conn.close(timeout=2)

    def _heard(self, _conn: object, _pid: object, _channel: object, payload: object) -> None:
        for queue in self._watchers:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(str(payload))
