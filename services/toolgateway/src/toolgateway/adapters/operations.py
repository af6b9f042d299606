"""SQL of what surrounds the ledger: audit entries, people's tasks, the operator's switch, the history's partitions."""

from typing import Any

from common import db
from toolgateway.adapters.store import Reader

_AUDIT = """
insert into audit (what, who, customer_id, conversation_id, order_id, verdict, reason, policy_version, details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_OPEN_TASK = """
insert into tasks (about, reason, details) values ($1, $2, $3)
on conflict (about, reason) where closed_at is null do nothing
"""
_CONTROLS = "select mode, ceilings, changed_by, changed_at from controls"
_LOCK_CONTROLS = "select pg_advisory_xact_lock(hashtext('ledger.controls'))"
_SET_CONTROLS = """
update controls set mode = coalesce($1, mode), ceilings = coalesce($2, ceilings), changed_by = $3, changed_at = now()
"""


async def save_audit(
    conn: Reader, what: str, who: str, *, customer_id: str | None = None,
    conversation_id: str | None = None, order_id: str | None = None, verdict: str | None = None,
    reason: str | None = None, policy_version: str | None = None, details: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Append one audit entry."""
    await conn.execute(
        _AUDIT, what, who, customer_id, conversation_id, order_id, verdict, reason, policy_version, details or {}
    )


async def open_task(conn: Reader, about: str, reason: str, details: dict[str, Any]) -> None:
    """Open a task for a person, once while it stays open."""
    await conn.execute(_OPEN_TASK, about, reason, details)


async def load_controls(conn: Reader) -> dict[str, Any]:
    """Return the operator's switch and ceilings."""
    row = await conn.fetchrow(_CONTROLS)
    assert row is not None, "the controls row is written by the migration and nobody may delete it"
    return dict(row)


async def save_controls(conn: db.Connection, mode: str | None, ceilings: dict[str, Any] | None, who: str) -> None:
    """Throw the switch or set ceilings; waits for transactions that are deciding right now."""
    await conn.execute(_LOCK_CONTROLS)
    await conn.execute(_SET_CONTROLS, mode, ceilings, who)


async def prepare_history(pool: db.Database, months: int) -> int:
    """Make the coming months' partitions of the history; returns how many were made."""
    made: int = await pool.fetchval("select prepare_history($1)", months)
    return made
