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
_LIST_TASKS = """
select id, opened_at, about, reason, details, closed_at, closed_by, closed_why from tasks
where ($1 and closed_at is null) or (not $1 and closed_at is not null)
order by case when $1 then opened_at end, closed_at desc limit $2
"""
_LOAD_TASK = """
select id, opened_at, about, reason, details, closed_at, closed_by, closed_why from tasks where id = $1
"""
_CLOSE_TASK = """
update tasks set closed_at = clock_timestamp(), closed_by = $2, closed_why = $3 where id = $1 and closed_at is null
returning id, opened_at, about, reason, details, closed_at, closed_by, closed_why
"""
# One that began and never ended was cut off; after this it is another's to begin again.
_ABANDONED_S = 600.0
_LOCK_COMPARISONS = "select pg_advisory_xact_lock(hashtext('ledger.comparisons'))"
_BEGIN_COMPARISON = """
insert into comparisons (started_at)
select clock_timestamp() where not exists (
    select 1 from comparisons
    where started_at > clock_timestamp() - make_interval(
        secs => case when ended_at is null then $2::float8 else $1::float8 end))
returning id
"""
_END_COMPARISON = "update comparisons set ended_at = clock_timestamp(), strays = $2 where id = $1"
_LAST_COMPARISON = (
    "select started_at, ended_at, strays from comparisons where ended_at is not null order by id desc limit 1"
)
_OPEN_TASKS = "select count(*) from tasks where closed_at is null"
_CONTROLS = "select mode, ceilings, changed_by, changed_at from controls"
_LOCK_CONTROLS = "select pg_advisory_xact_lock(hashtext('ledger.controls'))"
_SET_CONTROLS = """
update controls set mode = coalesce($1, mode), ceilings = coalesce($2, ceilings), changed_by = $3
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


async def list_tasks(conn: Reader, *, open_ones: bool, limit: int) -> list[dict[str, Any]]:
    """Return open tasks, the oldest first, or closed ones, the newest first."""
    return [dict(row) for row in await conn.fetch(_LIST_TASKS, open_ones, limit)]


async def load_task(conn: Reader, task_id: int) -> dict[str, Any] | None:
    """Return one task."""
    row = await conn.fetchrow(_LOAD_TASK, task_id)
    return None if row is None else dict(row)


async def close_task(conn: Reader, task_id: int, who: str, why: str) -> dict[str, Any] | None:
    """Close an open task and return it; None when there is none, or somebody else was faster."""
    row = await conn.fetchrow(_CLOSE_TASK, task_id, who, why)
    return None if row is None else dict(row)


async def begin_comparison(conn: db.Connection, not_within_s: float) -> int | None:
    """Begin a comparison of the books and return its id, unless one ended that recently or is under way."""
    await conn.execute(_LOCK_COMPARISONS)
    begun: int | None = await conn.fetchval(_BEGIN_COMPARISON, not_within_s, _ABANDONED_S)
    return begun


async def end_comparison(conn: Reader, comparison_id: int, strays: int) -> None:
    """Note how a comparison ended."""
    await conn.execute(_END_COMPARISON, comparison_id, strays)


async def last_comparison(conn: Reader) -> dict[str, Any] | None:
    """Return when the books were last compared and how many strays were found, or None."""
    row = await conn.fetchrow(_LAST_COMPARISON)
    return None if row is None else dict(row)


async def count_open_tasks(conn: Reader) -> int:
    """Return how many tasks wait for a person."""
    count: int = await conn.fetchval(_OPEN_TASKS)
    return count


async def load_controls(conn: Reader) -> dict[str, Any]:
    """Return the operator's switch and ceilings."""
    row = await conn.fetchrow(_CONTROLS)
    assert row is not None, "the controls row is written by the migration and nobody may delete it"
    return dict(row)


async def save_controls(conn: db.Connection, mode: str | None, ceilings: dict[str, Any] | None, who: str) -> None:
    """Throw the switch or set ceilings, as the operator's login; waits for transactions that are deciding right now."""
    await conn.execute(_LOCK_CONTROLS)
    await conn.execute(_SET_CONTROLS, mode, ceilings, who)


async def prepare_history(pool: db.Database, months: int) -> int:
    """Make the coming months' partitions of the history; returns how many were made."""
    made: int = await pool.fetchval("select prepare_history($1)", months)
    return made
