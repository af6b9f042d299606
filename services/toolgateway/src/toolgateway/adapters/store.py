"""All SQL of the ledger, by name. Times are the database's; every write of a row names the version it read."""

# ruff: noqa: S608 - the one thing formatted into a statement is our own list of columns

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from common import db
from common.crash import crash_point
from common.ids import derived_id
from common.outbox import Outgoing, enqueue_all
from common.topics import APPROVALS_REQUESTED, LEDGER_ACTIONS
from toolgateway.adapters import old_addresses
from toolgateway.core.actions import Action, approval_event, changed_event
from toolgateway.core.addressees import is_told
from toolgateway.core.transitions import Status, check_move

_T = TypeVar("_T")
Reader: TypeAlias = "db.Connection | db.Database"
_COLUMNS = ", ".join(Action.__dataclass_fields__)
# Order first, then customer, always: two asks that take both can't wait for each other.
# The shared lock makes an operator's switch wait for decisions under way, and later ones see it.
_LOCK = """
select pg_advisory_xact_lock_shared(hashtext('ledger.controls')),
       pg_advisory_xact_lock(hashtextextended('order:' || $1, 0)),
       pg_advisory_xact_lock(hashtextextended('customer:' || $2, 0))
"""
_STANDING = f"""
select {_COLUMNS} from actions
where fact = $1 or ($2::text is not null and order_id = $2 and kind in ('refund', 'cancel'))
order by n, generation
"""
_WINDOW = """
select (select count(*) from actions where kind = 'refund' and customer_id = $1 and status in ('pending', 'succeeded')
            and created_at > clock_timestamp() - make_interval(days => $2)) as used,
       (select coalesce(sum(amount), 0) from actions where kind = 'refund' and customer_id = $1 and currency = $3
            and status in ('pending', 'succeeded')
            and created_at > clock_timestamp() - make_interval(days => $2)) as spent,
       (select mode from controls) as mode,
       (select ceilings from controls) as ceilings
"""
_RESERVE = """
insert into automatic_money as m (currency, hour, minor) values ($1, date_trunc('hour', clock_timestamp()), $2)
on conflict (currency, hour) do update set minor = m.minor + excluded.minor
returning hour, minor as this_hour,
    (select coalesce(sum(e.minor), 0)::bigint from automatic_money e where e.currency = $1
        and e.hour > clock_timestamp() - interval '24 hours'
        and e.hour < date_trunc('hour', clock_timestamp())) as earlier
"""
_RELEASE = "update automatic_money set minor = minor - $3 where currency = $1 and hour = $2"
_INSERT = f"""
insert into actions (key, fact, n, generation, kind, customer_id, conversation_id, order_id, line_id, amount, currency,
    minor_units, args, request, status, verdict, policy_version, policy_reason, approved_by, external_ref, attempts,
    cause, requested_by, requested_staff, facts, digest, context, leads_only, expires_at, claim_until, first_tried_at,
    reserved_hour)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, clock_timestamp() + make_interval(secs => $29),
    clock_timestamp() + make_interval(secs => $30), case when $30::float8 is not null then clock_timestamp() end, $31)
returning {_COLUMNS}
"""
_LOAD = f"select {_COLUMNS} from actions where key = $1"
_BY_CONVERSATION = f"select {_COLUMNS} from actions where conversation_id = $1 order by created_at, key limit 500"
_WAITING = f"select {_COLUMNS} from actions where status = $1 order by created_at, key limit $2"
_EVERYTHING = f"select {_COLUMNS} from actions order by created_at, key"
_CLAIM = f"""
update actions set version = version + 1, attempts = attempts + 1, cause = 'claimed',
    claim_until = clock_timestamp() + make_interval(secs => $2),
    first_tried_at = coalesce(first_tried_at, clock_timestamp())
where key = $1 and status = 'pending' and (claim_until is null or claim_until < clock_timestamp())
returning {_COLUMNS}
"""
_IS_CLAIMED = "select true from actions where key = $1 and claim_until > clock_timestamp()"
_FINISH = f"""
update actions set version = version + 1, status = $3, cause = $4, external_ref = coalesce($5, external_ref),
    claim_until = null, last_error = $6
where key = $1 and version = $2 and status = $7
returning {_COLUMNS}
"""
_TRIED = f"""
update actions set version = version + 1, cause = 'tried', claim_until = null,
    external_ref = coalesce($5, external_ref),
    same_errors = case when $4 and last_error = $3 then same_errors + 1 when $4 then 1 else 0 end,
    same_error_since = case when $4 and last_error = $3 then same_error_since
        when $4 then clock_timestamp() end,
    last_error = $3
where key = $1 and version = $2 and status = 'pending'
returning {_COLUMNS}
"""
_DECIDE = f"""
update actions set version = version + 1, status = $4, cause = 'decided', decided_by = $5, decided_note = $6,
    decided_at = clock_timestamp(), approved_by = case when $4 = 'pending' then $5 end,
    approved_digest = case when $4 = 'pending' then digest end,
    attempts = attempts + case when $4 = 'pending' then 1 else 0 end,
    claim_until = case when $4 = 'pending' then clock_timestamp() + make_interval(secs => $7) end,
    first_tried_at = case when $4 = 'pending' then clock_timestamp() end
where key = $1 and version = $2 and digest = $3 and status = 'awaiting_approval' and expires_at > clock_timestamp()
returning {_COLUMNS}
"""
_REISSUE = f"""
update actions set version = version + 1, cause = $3, digest = $4, facts = $5, policy_version = $6, policy_reason = $7,
    leads_only = leads_only or $8, expires_at = clock_timestamp() + make_interval(secs => $9)
where key = $1 and version = $2 and status = 'awaiting_approval'
returning {_COLUMNS}
"""
_OVERDUE = f"""
select {_COLUMNS} from actions where status = 'awaiting_approval' and expires_at <= clock_timestamp()
order by expires_at limit $1
"""
_HANGING = f"""
select {_COLUMNS} from actions where status = 'pending' and updated_at < clock_timestamp() - make_interval(secs => $1)
    and (claim_until is null or claim_until < clock_timestamp())
order by updated_at limit $2
"""


@dataclass(frozen=True)
class NewAction:
    """A row to write; ``claim_s`` claims it at once for the caller, ``expires_s`` gives a waiting one its deadline."""

    key: str
    fact: str
    n: int
    generation: int
    kind: str
    customer_id: str
    conversation_id: str | None
    order_id: str | None
    line_id: str | None
    amount: Decimal | None
    currency: str | None
    minor_units: int | None
    args: dict[str, Any]
    request: str
    status: Status
    verdict: str
    policy_version: str
    policy_reason: str
    approved_by: str | None
    external_ref: str | None
    requested_by: str
    requested_staff: str | None
    facts: dict[str, Any]
    digest: str
    context: dict[str, Any]
    leads_only: bool
    expires_s: float | None
    claim_s: float | None
    reserved_hour: datetime | None
    cause: str = "proposed"


@dataclass(frozen=True)
class Window:
    """One customer's refunds in the window, and the operator's switch."""

    refunds: int
    total: Decimal
    mode: str
    ceilings: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Reservation:
    """A share of the hour's automatic money, held; minor units, this share included."""

    hour: datetime
    this_hour: int
    this_day: int


async def lock_subjects(conn: db.Connection, order_id: str, customer_id: str) -> None:
    """Take the locks on an order and on a customer's window until the transaction ends."""
    await conn.execute(_LOCK, order_id, customer_id)


async def load_standing(conn: Reader, fact: str, order_id: str | None) -> list[Action]:
    """Return the rows of the fact and the refunds and cancellations of its order, oldest number first."""
    return [_action(row) for row in await conn.fetch(_STANDING, fact, order_id)]


async def load_window(conn: db.Connection, customer_id: str, days: int, currency: str | None) -> Window:
    """Return what the customer's window holds (call it under the lock) and what the switch says."""
    row = await conn.fetchrow(_WINDOW, customer_id, days, currency)
    assert row is not None, "the controls row is written by the migration and nobody may delete it"
    return Window(row["used"], row["spent"], row["mode"], row["ceilings"])


async def reserve_automatic(conn: db.Connection, currency: str, minor: int) -> Reservation:
    """Add to the hour's automatic money and return the new totals; the row stays locked until the transaction ends."""
    row = await conn.fetchrow(_RESERVE, currency, minor)
    assert row is not None, "an upsert returns its row"
    return Reservation(row["hour"], row["this_hour"], row["this_hour"] + row["earlier"])


async def release_automatic(conn: db.Connection, currency: str, hour: datetime, minor: int) -> None:
    """Give a share back: the money did not move."""
    await conn.execute(_RELEASE, currency, hour, minor)


async def insert_action(conn: db.Connection, new: NewAction) -> Action:
    """Write the row; a twin that came first makes this raise UniqueViolationError."""
    check_move(None, new.status, new.cause)
    row = await conn.fetchrow(
        _INSERT, new.key, new.fact, new.n, new.generation, new.kind, new.customer_id, new.conversation_id,
        new.order_id, new.line_id, new.amount, new.currency, new.minor_units, new.args, new.request, new.status,
        new.verdict, new.policy_version, new.policy_reason, new.approved_by, new.external_ref,
        1 if new.claim_s is not None else 0, new.cause, new.requested_by, new.requested_staff, new.facts, new.digest,
        new.context, new.leads_only, new.expires_s, new.claim_s, new.reserved_hour,
    )  # fmt: skip
    assert row is not None, "an insert returns its row"
    return _action(row)


async def load_action(conn: Reader, key: str) -> Action | None:
    """Return a row as it stands."""
    row = await conn.fetchrow(_LOAD, key)
    return None if row is None else _action(row)


async def list_of_conversation(pool: db.Database, conversation_id: str) -> list[Action]:
    """Return a conversation's rows, oldest first."""
    return [_action(row) for row in await pool.fetch(_BY_CONVERSATION, conversation_id)]


async def list_all(pool: db.Database) -> list[Action]:
    """Return every row, oldest first: for audits, not for requests."""
    return [_action(row) for row in await pool.fetch(_EVERYTHING, timeout=300)]


async def list_by_status(pool: db.Database, status: str, limit: int) -> list[Action]:
    """Return rows in one status, oldest first."""
    return [_action(row) for row in await pool.fetch(_WAITING, status, limit)]


async def list_overdue(pool: db.Database, limit: int) -> list[Action]:
    """Return waiting rows whose deadline has passed."""
    return [_action(row) for row in await pool.fetch(_OVERDUE, limit)]


async def list_hanging(pool: db.Database, older_than_s: float, limit: int) -> list[Action]:
    """Return pending rows that nobody works on and that were not touched for ``older_than_s``."""
    return [_action(row) for row in await pool.fetch(_HANGING, older_than_s, limit)]


async def is_claimed(conn: db.Connection, key: str) -> bool:
    """Say whether somebody works on the row right now."""
    return bool(await conn.fetchval(_IS_CLAIMED, key))


async def claim_pending(conn: db.Connection, key: str, claim_s: float) -> Action | None:
    """Claim a pending row that nobody holds, or return None."""
    row = await conn.fetchrow(_CLAIM, key, claim_s)
    return None if row is None else _action(row)


async def finish(
    conn: db.Connection, before: Action, status: Status, cause: str, *, reference: str | None = None,
    error: str | None = None, inline: bool = False,
) -> Action | None:  # fmt: skip
    """Move a row to a final status, its event and its released share with it; None when somebody was faster."""
    check_move(before.status, status, cause)
    row = await conn.fetchrow(_FINISH, before.key, before.version, status, cause, reference, error, before.status)
    if row is None:
        return None
    after = _action(row)
    if status == "failed" and before.reserved_hour and before.currency and before.minor_units:
        await release_automatic(conn, before.currency, before.reserved_hour, before.minor_units)
    if is_told(after.kind, after.args):
        await old_addresses.hand_on(conn, after, status)
    await publish(conn, after, before.status, inline=inline)
    return after


async def save_tried(
    conn: db.Connection, before: Action, error: str, *, stored: bool, reference: str | None = None
) -> Action | None:
    """Note an attempt that ended without an outcome and let the claim go; ``stored`` counts equal answers."""
    row = await conn.fetchrow(_TRIED, before.key, before.version, error, stored, reference)
    return None if row is None else _action(row)


async def decide(
    conn: db.Connection, before: Action, status: Status, *, staff: str, note: str, claim_s: float
) -> Action | None:
    """Move a waiting row by a person's decision: one conditional update on version, digest, status and deadline."""
    check_move(before.status, status, "decided")
    row = await conn.fetchrow(_DECIDE, before.key, before.version, before.digest, status, staff, note, claim_s)
    if row is None:
        return None
    after = _action(row)
    await publish(conn, after, before.status, inline=False)
    return after


async def reissue(
    conn: db.Connection, before: Action, cause: str, *, digest: str, facts: dict[str, Any], policy_version: str,
    policy_reason: str, leads_only: bool, expires_s: float,
) -> Action | None:  # fmt: skip
    """Retire a waiting row's version and ask anew under the next one."""
    check_move(before.status, "awaiting_approval", cause)
    row = await conn.fetchrow(
        _REISSUE, before.key, before.version, cause, digest, facts, policy_version, policy_reason, leads_only, expires_s
    )
    if row is None:
        return None
    after = _action(row)
    await publish(conn, after, before.status, inline=False)
    return after


async def publish(conn: db.Connection, action: Action, previous: Status | None, *, inline: bool) -> None:
    """Queue the events of a change in the transaction that makes it; the same change has the same event ids."""
    version = str(action.version)
    events: list[Outgoing] = [
        Outgoing(
            LEDGER_ACTIONS, action.key, changed_event(action, previous, inline=inline),
            occurred_at=action.updated_at, event_id=derived_id(LEDGER_ACTIONS.name, action.key, version),
        )
    ]  # fmt: skip
    if action.status == "awaiting_approval":
        events.append(
            Outgoing(
                APPROVALS_REQUESTED, action.key, approval_event(action),
                occurred_at=action.updated_at, event_id=derived_id(APPROVALS_REQUESTED.name, action.key, version),
            )
        )  # fmt: skip
    await enqueue_all(conn, events)


async def committed(pool: db.Database, name: str, work: Callable[[db.Connection], Awaitable[_T]]) -> _T:
    """Run ``work(conn)`` in one transaction between two crash points named after it."""

    async def inside(conn: db.Connection) -> _T:
        result = await work(conn)
        await crash_point(f"{name}.before_commit")
        return result

    result = await db.in_transaction(pool, inside)
    await crash_point(f"{name}.after_commit")
    return result


def _action(row: Any) -> Action:
    return Action(**{name: row[name] for name in Action.__dataclass_fields__})
