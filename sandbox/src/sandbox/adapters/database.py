"""The sandbox's one SQLite file: every stand-in's state, kept across ``kill -9``."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

_SCHEMA = """
create table if not exists customers (id text primary key, body text not null);
create table if not exists orders (
    id text primary key, customer_id text not null, currency text not null, body text not null,
    version integer not null
);
create index if not exists orders_customer on orders (customer_id);
create table if not exists refunds (
    seq integer primary key autoincrement,
    refund_id text not null unique, order_id text not null, line_id text,
    amount_minor integer not null check (amount_minor > 0),
    currency text not null, status text not null check (status in ('succeeded', 'failed')),
    idempotency_key text not null, metadata text not null, created_at text not null, fails_at text, visible_at text
);
create index if not exists refunds_order on refunds (order_id);
create index if not exists refunds_failing on refunds (fails_at) where fails_at is not null;
create table if not exists disputes (
    order_id text primary key, amount_minor integer not null, created_at text not null
);
create table if not exists answers (
    scope text not null, key text not null, body_hash text not null, status integer not null, answer text not null,
    created_at text not null, primary key (scope, key)
);
create table if not exists webhooks (
    event_id text primary key, body text not null, due_at text not null, attempts integer not null default 0,
    copies integer not null default 1
);
create table if not exists labels (label_id text primary key, order_id text not null, body text not null);
create table if not exists mail (seq integer primary key autoincrement, recipient text not null, body text not null);
create table if not exists mail_keys (key text primary key);
create table if not exists faults (
    seq integer primary key autoincrement, target text not null, kind text not null, order_id text, delay_ms integer,
    times_left integer
);
create table if not exists scripts (
    seq integer primary key autoincrement, needle text not null, turns text not null, repeats integer not null,
    used integer not null default 0
);
create table if not exists script_runs (
    run text not null, user text not null, script integer not null, next_turn integer not null, served text not null,
    primary key (run, user)
);
create table if not exists choices (name text primary key, value text not null);
"""


class Database:
    """One connection for one event loop; nothing awaits inside a transaction, so no lock is needed."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        # FULL: an answered refund is on disk, whatever dies next. The log of money is a judge and must not forget.
        for pragma in ("journal_mode = wal", "synchronous = full", "busy_timeout = 5000"):
            self._connection.execute(f"pragma {pragma}")
        self._connection.executescript(_SCHEMA)

    def run(self, sql: str, *args: object) -> int:
        """Execute one statement; return the number of rows it changed."""
        return self._connection.execute(sql, args).rowcount

    def rows(self, sql: str, *args: object) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self._connection.execute(sql, args).fetchall()

    def row(self, sql: str, *args: object) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        found: sqlite3.Row | None = self._connection.execute(sql, args).fetchone()
        return found

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside commits together; a nested use joins the outer one."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    def close(self) -> None:
        """Close the file; what was committed stays."""
        self._connection.close()


def stamp(moment: datetime) -> str:
    """Return a moment as sortable ISO text in UTC: ``2026-11-29T18:00:00.000Z``."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dump(value: object) -> str:
    """Return JSON in ASCII, so that any text a test sends can be stored."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
