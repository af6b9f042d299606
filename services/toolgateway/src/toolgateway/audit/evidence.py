"""What the checkers hold the databases against, put into temporary tables of the auditing connection.

An SRE does the same by hand: create these tables in psql, copy the provider's export in, and run the files.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from aiokafka import AIOKafkaConsumer

from common import db
from common.money import from_minor
from common.topics import LEDGER_ACTIONS
from toolgateway.core.policy import Policy

_TABLES = """
create temporary table provider_refunds (refund_id text primary key, key text, order_id text, line_id text,
    amount numeric, currency text, status text, at timestamptz);
create temporary table provider_payments (order_id text primary key, captured numeric, currency text);
create temporary table published (partition integer, log_offset bigint, event_id text, key text, version integer,
    status text, at timestamptz, untold boolean);
create temporary table limits (refunds_in_window integer, window_days integer);
create temporary table currency_limits (currency text primary key, handoff numeric)
"""
_READ_WITHIN_MS = 10_000


@dataclass(frozen=True)
class Published:
    """One record of the ledger's topic; ``untold`` when its customer has not heard of it by an answer already."""

    partition: int
    offset: int
    event_id: str
    key: str
    version: int
    status: str
    at: datetime
    untold: bool = True


async def prepare(conn: db.Connection, policy: Policy) -> None:
    """Create the tables and fill in the limits of the policy in force."""
    await conn.execute(_TABLES)
    await conn.execute("insert into limits values ($1, $2)", policy.refund.refunds_in_window, policy.refund.window_days)
    rows = [(currency, Decimal(limits.handoff)) for currency, limits in policy.refund.limits.items()]
    await conn.executemany("insert into currency_limits values ($1, $2)", rows)


async def put_refunds(conn: db.Connection, refunds: Iterable[dict[str, Any]]) -> None:
    """Fill ``provider_refunds`` from the provider's own log: amounts as decimal text, times as ISO text."""
    await conn.executemany(
        "insert into provider_refunds values ($1, $2, $3, $4, $5, $6, $7, $8)",
        [
            (
                r["refund_id"], r.get("idempotency_key"), r["order_id"], r.get("line_id"), Decimal(r["amount"]),
                r["currency"], r.get("status", "succeeded"), datetime.fromisoformat(r["created_at"]),
            )
            for r in refunds
        ],
    )  # fmt: skip
    # Made after the snapshot: its row, written before it, isn't in sight yet.
    await conn.execute("delete from provider_refunds where at > now()")


async def put_payments(conn: db.Connection, payments: Iterable[tuple[str, int, str]]) -> None:
    """Fill ``provider_payments`` from (order, captured minor units, currency)."""
    rows = [(order_id, from_minor(minor, currency), currency) for order_id, minor, currency in payments]
    await conn.executemany("insert into provider_payments values ($1, $2, $3)", rows)


async def put_published(conn: db.Connection, records: Iterable[Published]) -> None:
    """Fill ``published`` with what stands in the ledger's topic."""
    await conn.executemany(
        "insert into published values ($1, $2, $3, $4, $5, $6, $7, $8)",
        [(r.partition, r.offset, r.event_id, r.key, r.version, r.status, r.at, r.untold) for r in records],
    )


async def read_published(bootstrap: str, topic_prefix: str) -> list[Published]:
    """Return every record that the ledger's topic holds now; joins no group and commits nothing."""
    topic = f"{topic_prefix}{LEDGER_ACTIONS.name}"
    # From the earliest by setting: a seek right after the start races the client's own first reset to the latest.
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        parts = sorted(consumer.assignment())
        ends, begins = await consumer.end_offsets(parts), await consumer.beginning_offsets(parts)
        open_parts = {part for part in parts if begins[part] < ends[part]}
        found: list[Published] = []
        while open_parts:
            # All partitions, also those read to their end: records nobody takes would hold the others' fetches up.
            batches = await consumer.getmany(timeout_ms=_READ_WITHIN_MS)
            if not batches:
                missing = {part.partition: (await consumer.position(part), ends[part]) for part in open_parts}
                raise TimeoutError(f"{topic} stopped answering before its end: {missing}")
            found += [_published(record) for records in batches.values() for record in records]
            open_parts = {part for part in open_parts if await consumer.position(part) < ends[part]}
        return found
    finally:
        await consumer.stop()


def _published(record: Any) -> Published:
    body = json.loads(record.value or b"{}")
    headers = {name: value.decode(errors="replace") for name, value in record.headers}
    return Published(
        record.partition, record.offset, headers.get("event_id", ""), str(body.get("key")), int(body.get("version", 0)),
        str(body.get("status")), datetime.fromtimestamp(record.timestamp / 1e3, UTC),
        not body.get("inline") and body.get("conversation_id") is not None,
    )  # fmt: skip
