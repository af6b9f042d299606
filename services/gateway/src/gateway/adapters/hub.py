"""Who is listening in this process: subscriptions by message and by conversation. The store stays the truth; what is
handed over here only spares a look at it.
"""

import asyncio
import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import asyncpg

from common import db
from common.telemetry import get_logger
from gateway.adapters.events import CHANNEL
from gateway.core.frames import StoredEvent

# A client this far behind reads the rest from the store instead of from memory.
_QUEUE = 256
_RECONNECT_S = 1.0
_HELLO_S = 5.0
_AWAY: tuple[type[BaseException], ...] = (*db.UNAVAILABLE, asyncpg.PostgresError)
_log = get_logger()


class Inbox:
    """One stream's mailbox, bounded: an overflow or a lost notification only means a look at the store."""

    __slots__ = ("_behind", "_closed", "_events", "_waiting", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._events: list[StoredEvent] = []
        self._waiting: asyncio.Future[None] | None = None
        self._behind = False
        self._closed = False

    def put(self, event: StoredEvent) -> None:
        """Hand over one event, in order."""
        if len(self._events) >= _QUEUE:
            self.look_again()
        elif not self._behind:
            self._events.append(event)
            self._wake()

    def look_again(self) -> None:
        """Make the stream read the store."""
        self._events = []
        self._behind = True
        self._wake()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake()

    @property
    def closed(self) -> bool:
        return self._closed

    async def next(self, within_s: float | None = None) -> list[StoredEvent] | None:
        """Wait for news: events in order, or None when the store has to be read (or the stream to end).

        An empty list says that nothing came ``within_s``.
        """
        if not (self._events or self._behind or self._closed):
            await self._news(within_s)
        if self._closed or self._behind:
            self._behind = False
            self._events = []
            return None
        news, self._events = self._events, []
        return news

    async def _news(self, within_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        alarm = None if within_s is None else loop.call_later(within_s, self._wake)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if alarm is not None:
                alarm.cancel()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Hub:
    """All inboxes of this process."""

    def __init__(self) -> None:
        self._inboxes: dict[str, set[Inbox]] = defaultdict(set)
        self._closed = False

    def subscribe(self, name: str) -> Inbox:
        """Listen to a message's or a conversation's id until ``leave``."""
        inbox = Inbox(name)
        if self._closed:
            inbox.close()
        self._inboxes[name].add(inbox)
        return inbox

    def leave(self, inbox: Inbox) -> None:
        """Forget a subscription."""
        listeners = self._inboxes.get(inbox.name, set())
        listeners.discard(inbox)
        if not listeners:
            self._inboxes.pop(inbox.name, None)

    @contextlib.contextmanager
    def listen(self, name: str) -> Iterator[Inbox]:
        """Subscribe until the block ends, however it ends."""
        inbox = self.subscribe(name)
        try:
            yield inbox
        finally:
            self.leave(inbox)

    def publish(self, events: Iterable[StoredEvent]) -> None:
        """Hand stored events to whoever listens."""
        for event in events:
            for name in (event.message_id, event.conversation_id):
                for inbox in self._inboxes.get(name, ()):
                    inbox.put(event)

    def look_again(self, names: Iterable[str] | None = None) -> None:
        """Make the named streams (None: all) read the store."""
        for name in list(self._inboxes) if names is None else names:
            for inbox in self._inboxes.get(name, ()):
                inbox.look_again()

    def close(self) -> None:
        """End every stream; later ones end at once."""
        self._closed = True
        for inboxes in self._inboxes.values():
            for inbox in inboxes:
                inbox.close()

    def streams(self) -> list[Inbox]:
        """Return every open stream's mailbox."""
        return [inbox for inboxes in self._inboxes.values() for inbox in inboxes]

    def __len__(self) -> int:
        """Return how many streams are open."""
        return sum(map(len, self._inboxes.values()))


class Neighbours:
    """The gateway's other replicas, over LISTEN/NOTIFY on a connection of its own: who is there, and what they stored.

    A notification wakes every listener of the database, so a replica that is alone sends none. Each says that it is
    there when it comes and again and again; one that isn't heard for three times as long is gone.
    """

    def __init__(self, dsn: str, hub: Hub, instance: str, hello_s: float = _HELLO_S) -> None:
        self._dsn, self._hub, self._instance = dsn, hub, instance
        self._hello_s, self._gone_s = hello_s, 3 * hello_s
        self._heard_at = self._said_at = 0.0
        self._hearing = False

    def alone(self) -> bool:
        """Say whether surely nobody else is there; after a lost connection or a standstill nobody can know."""
        now = time.monotonic()
        return self._hearing and now - self._said_at < self._gone_s < now - self._heard_at

    async def run(self) -> None:
        """Listen until cancelled; after a lost connection every stream reads the store once."""
        while True:
            try:
                await self._listen()
            except _AWAY as e:
                _log.warning("notifications interrupted", error=type(e).__name__)
            finally:
                self._hearing = False
            await asyncio.sleep(_RECONNECT_S)

    async def _listen(self) -> None:
        conn = await asyncpg.connect(self._dsn, server_settings={"application_name": "gateway-listen"})
        try:
            await conn.add_listener(CHANNEL, self._on_notice)
            self._heard_at = time.monotonic()
            self._hearing = True
            await self._say_hello(conn)
            self._hub.look_again()
            await asyncio.sleep(self._hello_s / 5)
            # What was stored before the others heard of us was told to nobody.
            self._hub.look_again()
            while True:
                # A half-open connection hears nothing and says nothing; what it is to say finds out.
                await self._say_hello(conn)
                await asyncio.sleep(self._hello_s)
                if time.monotonic() - self._said_at > self._gone_s:
                    # We stood still, the others took us for gone and told us nothing.
                    self._heard_at = time.monotonic()
                    await self._say_hello(conn)
                    await asyncio.sleep(self._hello_s / 5)
                    self._hub.look_again()
        finally:
            with contextlib.suppress(*db.UNAVAILABLE):
                await conn.close(timeout=2)

    async def _say_hello(self, conn: "asyncpg.Connection[asyncpg.Record]") -> None:
        await conn.execute("select pg_notify($1, $2)", CHANNEL, json.dumps({"from": self._instance}), timeout=5)
        self._said_at = time.monotonic()

    def _on_notice(self, _conn: Any, _pid: int, _channel: str, payload: Any) -> None:
        try:
            notice = json.loads(payload)
            if notice["from"] == self._instance:
                return
            self._heard_at = time.monotonic()
            if "conversation_id" in notice:
                self._hub.look_again([notice["conversation_id"], *notice["messages"]])
        except (ValueError, KeyError, TypeError):
            _log.warning("unreadable notification")
