"""The log of money: every refund that really moved, whoever asked for it. Tests take it as the truth."""

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from common.clock import Clock
from common.ids import new_id
from common.money import format_amount, from_minor, parse_amount, to_minor
from sandbox.adapters.database import Database, dump, stamp
from sandbox.core.payment import Payment

Record = dict[str, Any]


@dataclass(frozen=True)
class Ask:
    """A refund somebody wants: ``amount_minor`` in the currency's minor units, ``line_id`` None for a whole payment."""

    order_id: str
    line_id: str | None
    amount_minor: int
    currency: str
    idempotency_key: str
    metadata: Record


class Till:
    """Payments, refunds and disputes; callers decide, this only records and adds up."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def payment(self, order_id: str) -> Payment | None:
        """Return what was captured, refunded and charged back for an order, or None when there is no such payment."""
        order = self._database.row("select currency, body from orders where id = ?", order_id)
        if order is None:
            return None
        currency = order["currency"]
        lines = json.loads(order["body"])["lines"]
        captured = sum(to_minor(parse_amount(line["paid"], currency), currency) for line in lines)
        refunded = sum(self.refunded_by_line(order_id).values())
        dispute = self._database.row("select amount_minor from disputes where order_id = ?", order_id)
        return Payment(
            currency=currency,
            captured_minor=captured,
            refunded_minor=refunded,
            disputed_minor=dispute["amount_minor"] if dispute else 0,
            disputed=dispute is not None,
        )

    def record(self, ask: Ask, *, fails_in_ms: int | None = None, hidden_ms: int | None = None) -> Record:
        """Move the money: append a refund; optionally one the bank returns later, or one that lists show later."""
        now = self._clock.now()
        refund_id = new_id("re")
        self._database.run(
            "insert into refunds (refund_id, order_id, line_id, amount_minor, currency, status, idempotency_key,"
            " metadata, created_at, fails_at, visible_at) values (?, ?, ?, ?, ?, 'succeeded', ?, ?, ?, ?, ?)",
            refund_id, ask.order_id, ask.line_id, ask.amount_minor, ask.currency, ask.idempotency_key,
            dump(ask.metadata), stamp(now), _later(now, fails_in_ms), _later(now, hidden_ms),
        )  # fmt: skip
        row = self._database.row("select * from refunds where refund_id = ?", refund_id)
        assert row is not None, "inserted in this transaction"
        return _wire(row)

    def refunded_by_line(self, order_id: str) -> dict[str | None, int]:
        """Return minor units refunded per line; money the bank returned doesn't count."""
        found = self._database.rows(
            "select line_id, sum(amount_minor) as minor from refunds where order_id = ? and status = 'succeeded'"
            " group by line_id",
            order_id,
        )
        return {row["line_id"]: row["minor"] for row in found}

    def page(self, order_id: str | None, limit: int, starting_after: str | None) -> tuple[list[Record], bool]:
        """Return one page of the provider's list, newest first, and whether more follow; lagging ones left out."""
        now = stamp(self._clock.now())
        found = self._database.rows(
            "select * from refunds where (? is null or order_id = ?) and (visible_at is null or visible_at <= ?)"
            " and (? is null or seq < (select seq from refunds where refund_id = ?)) order by seq desc limit ?",
            order_id, order_id, now, starting_after, starting_after, limit + 1,
        )  # fmt: skip
        return [_wire(row) for row in found[:limit]], len(found) > limit

    def knows(self, refund_id: str) -> bool:
        """Say whether such a refund exists."""
        return self._database.row("select 1 from refunds where refund_id = ?", refund_id) is not None

    def hide_newer(self, order_id: str, hidden_ms: int) -> bool:
        """Have lists leave out this order's refunds for ``hidden_ms``, but once only; say whether there were any."""
        until = _later(self._clock.now(), hidden_ms)
        changed = self._database.run(
            "update refunds set visible_at = ? where order_id = ? and visible_at is null", until, order_id
        )
        return changed > 0

    def moved(self, order_id: str | None) -> list[Record]:
        """Return every refund as the judge sees it, amounts as decimal text, oldest first."""
        found = self._database.rows(
            "select * from refunds where ? is null or order_id = ? order by seq", order_id, order_id
        )
        return [_judged(row) for row in found]

    def fail_due(self) -> list[Record]:
        """Turn refunds whose bank says no by now to failed; return them."""
        now = stamp(self._clock.now())
        due = self._database.rows(
            "select * from refunds where fails_at is not null and fails_at <= ? and status = 'succeeded'", now
        )
        for row in due:
            self._database.run("update refunds set status = 'failed', fails_at = null where seq = ?", row["seq"])
        return [{**_wire(row), "status": "failed"} for row in due]

    def next_failure_at(self) -> str | None:
        """Return when the next late failure is due, as a stamp."""
        row = self._database.row("select min(fails_at) as at from refunds where fails_at is not null")
        return None if row is None else row["at"]

    def charge_back(self, order_id: str, amount_minor: int) -> None:
        """Record that the customer's bank took the payment back."""
        self._database.run(
            "insert or ignore into disputes (order_id, amount_minor, created_at) values (?, ?, ?)",
            order_id, amount_minor, stamp(self._clock.now()),
        )  # fmt: skip


def _later(now: datetime, delay_ms: int | None) -> str | None:
    return None if delay_ms is None else stamp(now + timedelta(milliseconds=delay_ms))


def _wire(row: sqlite3.Row) -> Record:
    names = ("refund_id", "order_id", "line_id", "amount_minor", "currency", "status", "idempotency_key", "created_at")
    return {**{name: row[name] for name in names}, "metadata": json.loads(row["metadata"])}


def _judged(row: sqlite3.Row) -> Record:
    names = ("refund_id", "order_id", "line_id", "currency", "idempotency_key", "created_at", "status")
    judged = {name: row[name] for name in names}
    return {**judged, "amount": format_amount(from_minor(row["amount_minor"], row["currency"]), row["currency"])}
