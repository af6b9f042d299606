"""The transactional outbox: a fact and its event leave together, or not at all (RELIABILITY R8).

``enqueue`` writes the event row inside the caller's transaction and lets the commit itself wake the relay. One relay
per schema holds the lock and publishes; the poll is only the net under a lost notification.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from prometheus_client import Gauge
from pydantic import BaseModel

from common import db
from common.crash import crash_point
from common.ids import new_id
from common.producer import Producer, event_headers
from common.reading import APART_S, Pace
from common.telemetry import get_logger
from common.topics import Topic

OUTBOX_SQL = """
create table outbox (
    id          bigint generated always as identity primary key,
    event_id    text        not null unique,
    topic       text        not null,
    key         text        not null,
    payload     bytea       not null,
    headers     jsonb       not null,
    attempts    integer     not null default 0 check (attempts >= 0),
    last_error  text,
    created_at  timestamptz not null default clock_timestamp()
);
"""
INBOX_SQL = """
create table inbox (
    consumer_group text        not null,
    event_id       text        not null,
    seen_at        timestamptz not null default now(),
    primary key (consumer_group, event_id)
);
create index inbox_by_age on inbox (seen_at);
"""

# A notification wakes the backend of every listener of the database, and commits that notify wait for one another.
# So nothing is told while the relay says, by a lock of its own, that it looks by itself every 40 ms.
_TELL = """select pg_notify('outbox_' || current_schema(), '') from (select 1 from queued limit 1) as any_queued
 where case when pg_try_advisory_lock_shared(hashtext('outbox_awake:' || current_schema()))
            then pg_advisory_unlock_shared(hashtext('outbox_awake:' || current_schema())) else false end"""
_ENQUEUE = f"""
with queued as (
    insert into outbox (event_id, topic, key, payload, headers)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::jsonb[])
    on conflict (event_id) do nothing
    returning 1
)
{_TELL}
"""  # noqa: S608 - our own text
# The mark of what the broker has acknowledged and the look for what comes next are one statement.
_NEXT = """
with sent as (delete from outbox where id = any($2::bigint[]))
select id, topic, key, payload, headers, extract(epoch from clock_timestamp() - created_at)::float8 as age_s
  from outbox
 where not (topic || '/' || key = any($1::text[])) and not (id = any($2::bigint[])) order by id limit $3
"""
_AWAKE = "select pg_try_advisory_lock(hashtext('outbox_awake:' || current_schema()))"
_ASLEEP = "select pg_advisory_unlock(hashtext('outbox_awake:' || current_schema()))"
_SENT = "delete from outbox where id = any($1::bigint[])"
_STUCK = "update outbox set attempts = attempts + 1, last_error = $2 where id = $1"
_OLDEST = "select extract(epoch from clock_timestamp() - min(created_at))::float8 from outbox"
# A wake-up is a notification; this poll only covers one that was lost with its connection.
_POLL_S = 1.0
_MOST = 500
# Marks wait this long for the next event to share a statement with; after a crash what has no mark is sent twice.
_MARK_WITHIN_S = 0.05
_STUCK_PAUSE_S = 5.0
# A commit may have found the relay awake a while before it comes: for so long looks go on by themselves after a rush.
_LINGER_S = 0.5
# From how many keys' events a second on they are let gather before each look; twice the planned peak.
_BUSY_PER_S = 56.0
# A leader that says nothing for this long is stopped, not idle (it polls every second): the database ends its session,
# the lock is free and the next relay goes on. Should it wake up, what it sends again has the same event ids.
_SILENT_LEADER_MS = 4_000
_AGE = Gauge("outbox_oldest_age_seconds", "Age of the oldest unpublished event", ["schema"])
_log = get_logger()


class Outgoing:
    """One event to enqueue; a given ``event_id`` makes a repeated step write the same row once."""

    __slots__ = ("event", "event_id", "key", "occurred_at", "topic")

    def __init__(
        self, topic: Topic, key: str, event: BaseModel, *, occurred_at: datetime, event_id: str | None = None
    ) -> None:
        self.topic, self.key, self.event, self.occurred_at = topic, key, event, occurred_at
        self.event_id = event_id or new_id("ev")


async def enqueue(
    conn: db.Connection, topic: Topic, key: str, event: BaseModel, *, occurred_at: datetime, event_id: str | None = None
) -> None:
    """Write one event row in the caller's transaction; its commit wakes the relay."""
    await enqueue_all(conn, [Outgoing(topic, key, event, occurred_at=occurred_at, event_id=event_id)])


async def enqueue_all(conn: db.Connection, outgoing: Sequence[Outgoing]) -> None:
    """Write several event rows, in order, with one statement; lock the aggregate they speak of first."""
    if outgoing:
        await conn.execute(_ENQUEUE, *outbox_values(outgoing))


def outbox_values(outgoing: Sequence[Outgoing]) -> tuple[list[Any], ...]:
    """Return the five parameters that ``queued_after`` numbers."""
    return (
        [o.event_id for o in outgoing],
        [o.topic.name for o in outgoing],
        [o.key for o in outgoing],
        [o.event.model_dump_json(by_alias=True).encode() for o in outgoing],
        [event_headers(o.event_id, o.occurred_at) for o in outgoing],
    )


def queued_after(source: str, first: int, *, skip_known: bool = False) -> str:
    """Return a CTE ``queued`` for a statement that writes a fact and its events in one round trip.

    The events are written, and the relay woken, only where the CTE ``source`` returned its one row; their parameters
    begin at ``$first``. An event id that is there already fails the whole statement, or is left with ``skip_known``.
    """
    p = [f"${first + n}" for n in range(5)]
    known = "on conflict (event_id) do nothing" if skip_known else ""
    return f"""queued as (
  insert into outbox (event_id, topic, key, payload, headers)
  select o.event_id, o.topic, o.key, o.payload, o.headers
    from {source}, unnest({p[0]}::text[], {p[1]}::text[], {p[2]}::text[], {p[3]}::bytea[], {p[4]}::jsonb[])
         as o(event_id, topic, key, payload, headers)
  {known}
  returning 1
), woken as (
  {_TELL}
)"""  # noqa: S608 - names and numbers of our own


def queued_for_each(source: str, first: int) -> str:
    """Return ``queued_after`` for many facts: the CTE ``source`` has a row each, numbered from 1 by its column ``nth``.

    A sixth parameter says for each event which fact it belongs to.
    """
    p = [f"${first + n}" for n in range(6)]
    return f"""queued as (
  insert into outbox (event_id, topic, key, payload, headers)
  select o.event_id, o.topic, o.key, o.payload, o.headers
    from unnest({p[0]}::text[], {p[1]}::text[], {p[2]}::text[], {p[3]}::bytea[], {p[4]}::jsonb[], {p[5]}::bigint[])
         with ordinality as o(event_id, topic, key, payload, headers, of_fact, nth)
    join {source} on {source}.nth = o.of_fact
   order by o.nth
  returning 1
), woken as (
  {_TELL}
)"""  # noqa: S608 - names and numbers of our own


class Relay:
    """Publishes one schema's outbox while it holds that schema's lock; run one in each process that writes there."""

    def __init__(self, dsn: str, schema: str, producer: Producer) -> None:
        self._dsn, self._schema, self._producer = dsn, schema, producer
        self._blocked: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._sent: list[int] = []
        self._pace = Pace(_BUSY_PER_S, time.monotonic())
        self._awake, self._linger_until = False, 0.0

    async def run(self) -> None:
        """Hold or wait for the lock and publish, until cancelled; a lost database is waited for."""
        while True:
            try:
                await self._lead()
            except (*db.UNAVAILABLE, asyncpg.PostgresError, KafkaError) as e:
                _log.warning("outbox relay lost its footing", schema=self._schema, error=type(e).__name__)
                await asyncio.sleep(0.5)

    async def _lead(self) -> None:
        # The marks it makes need not reach the disk before it goes on: one that a crash loses is sent twice, and the
        # inbox makes that once. Waiting for the disk would hold up the next event behind each.
        conn = await asyncpg.connect(
            self._dsn,
            server_settings={
                "search_path": f"{self._schema},public",
                "application_name": "relay",
                "synchronous_commit": "off",
                # The table is small to the planner and full of rows just deleted: it would read all of those each time.
                "enable_seqscan": "off",
                # One plan each: planning was half of what its statements cost.
                "plan_cache_mode": "force_generic_plan",
                "idle_session_timeout": str(_SILENT_LEADER_MS),
            },
        )
        try:
            await db.prepare_connection(conn)
            # The lock lives on this connection of its own: a pooled one would drop it at release.
            while not await conn.fetchval("select pg_try_advisory_lock(hashtext($1))", f"outbox:{self._schema}"):  # noqa: ASYNC110 - another process's lock has no event to wait for
                await asyncio.sleep(_POLL_S)
            await conn.add_listener(f"outbox_{self._schema}", self._on_notify)
            self._awake = False
            await self._publish_for_ever(conn)
        finally:
            with contextlib.suppress(*db.UNAVAILABLE, asyncpg.PostgresError):
                if sent := self._sent:
                    self._sent = []
                    await conn.execute(_SENT, sent, timeout=2)
            with contextlib.suppress(*db.UNAVAILABLE):
                await conn.close(timeout=2)

    def _on_notify(self, *_: object) -> None:
        self._wake.set()

    async def _publish_for_ever(self, conn: "asyncpg.Connection[asyncpg.Record]") -> None:
        while True:
            if (pause_s := self._pace.pause_s(time.monotonic())) > 0:
                await asyncio.sleep(pause_s)
            self._wake.clear()
            now = asyncio.get_running_loop().time()
            self._blocked = {key: until for key, until in self._blocked.items() if until > now}
            self._pace.looked(time.monotonic())
            rows = await self._mark_and_load(conn)
            # What one commit wrote comes together anyway and isn't counted twice.
            self._pace.found(len({row["key"] for row in rows}), time.monotonic(), full=len(rows) == _MOST)
            if rows:
                await self._publish(conn, rows)
            await self._say_whether_awake(conn)
            if len(rows) < _MOST and not self._awake:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._sleep_s())

    async def _say_whether_awake(self, conn: "asyncpg.Connection[asyncpg.Record]") -> None:
        if self._pace.busy and not self._awake:
            # In vain only while some commit is just asking; the next look tries again.
            self._awake = bool(await conn.fetchval(_AWAKE))
        elif self._awake and not self._pace.busy:
            await conn.fetchval(_ASLEEP)
            self._awake, self._linger_until = False, time.monotonic() + _LINGER_S

    def _sleep_s(self) -> float:
        if time.monotonic() < self._linger_until:
            return APART_S
        return _MARK_WITHIN_S if self._sent else _POLL_S

    async def _mark_and_load(self, conn: "asyncpg.Connection[asyncpg.Record]") -> list[asyncpg.Record]:
        sent = self._sent
        rows = await conn.fetch(_NEXT, list(self._blocked), sent, _MOST)
        self._sent = []
        if sent:
            await crash_point("outbox.after_mark")
        oldest_s = await conn.fetchval(_OLDEST) if self._blocked else rows[0]["age_s"] if rows else None
        _AGE.labels(self._schema).set(oldest_s or 0.0)
        return rows

    async def _publish(self, conn: "asyncpg.Connection[asyncpg.Record]", rows: list[asyncpg.Record]) -> None:
        await crash_point("outbox.before_send")
        sending: list[tuple[int, asyncio.Future[Any]]] = []
        for row in rows:
            if (lane := f"{row['topic']}/{row['key']}") in self._blocked:
                continue
            try:
                sending.append((row["id"], await self._producer.start_send(row)))
            except (MessageSizeTooLargeError, ValueError) as e:
                # This row can never be sent; it blocks its own key and nobody else's.
                self._blocked[lane] = asyncio.get_running_loop().time() + _STUCK_PAUSE_S
                await conn.execute(_STUCK, row["id"], type(e).__name__)
                _log.error("outbox row is stuck", schema=self._schema, row=row["id"], error=type(e).__name__)
        await self._until_acknowledged(conn, [future for _, future in sending])
        await crash_point("outbox.after_send")
        self._sent = [row_id for row_id, _ in sending]

    @staticmethod
    async def _until_acknowledged(
        conn: "asyncpg.Connection[asyncpg.Record]", sent: Sequence["asyncio.Future[Any]"]
    ) -> None:
        """Wait for the broker, and let the database know meanwhile that this leader is alive."""
        acknowledged = asyncio.gather(*sent)
        try:
            while not (await asyncio.wait({acknowledged}, timeout=_POLL_S))[0]:
                await conn.execute("select 1")
            await acknowledged
        finally:
            acknowledged.cancel()
