"""PostgreSQL as every service uses it: one pool, JSON as Python values, transactions that retry what asks for it."""

import json
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

import asyncpg
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | asyncpg.Connection[asyncpg.Record]"
Database: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
_T = TypeVar("_T")

# The database, not the statement, is what is in trouble: trying later is the answer, giving up on a message is not.
UNAVAILABLE: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # A process that stood still finds the server's goodbye unread on its connection; asyncpg calls that its own error.
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.IdleSessionTimeoutError,
)
_CONFLICTS = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
# A process that is stopped (SIGSTOP, a frozen container) keeps its connections and so its row locks; the database takes
# them back after this. No transaction of ours waits for anything outside the database (R5), so none idles this long.
IDLE_IN_TRANSACTION_MS = 5_000


async def open_pool(
    dsn: str,
    schema: str,
    *,
    min_size: int = 2,
    max_size: int = 8,
    plan_once: bool = False,
    statement_s: float = 30,
) -> Database:
    """Open a pool whose connections read and write JSONB as Python values and look into ``schema`` first.

    Commits peak at about eight connections on two cores; a process never needs more. ``plan_once`` keeps one plan a
    statement and connection: for a service whose statements all look up by key. The server's own choice plans a
    statement over arrays anew each time, since it takes an unknown array for ten long; that costs more than running it.
    """
    return await asyncpg.create_pool(
        dsn,
        min_size=min_size,
        max_size=max_size,
        init=prepare_connection,
        reset=_leave_as_is,
        server_settings={
            "search_path": f"{schema},public",
            "application_name": schema,
            "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
            # A plan made while its tables were still empty would read them whole from then on.
            **({"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"} if plan_once else {}),
        },
        command_timeout=statement_s,
    )


async def prepare_connection(conn: Connection) -> None:
    """Teach one connection JSON; Decimals inside travel as strings, so that no float ever holds money."""
    for name in ("json", "jsonb"):
        await conn.set_type_codec(name, encoder=dump_json, decoder=json.loads, schema="pg_catalog")


async def _leave_as_is(_: Connection) -> None:
    """Spare the reset query: nothing of ours changes a pooled session, and asyncpg itself rolls back what is left open.

    Session locks and LISTEN live on connections of their own.
    """


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form here")


_JSON = json.JSONEncoder(default=_plain, separators=(",", ":"), ensure_ascii=False)


def dump_json(value: Any) -> str:
    """Serialise a value for a JSON column."""
    return _JSON.encode(value)


async def in_transaction(pool: Database, work: Callable[[Connection], Awaitable[_T]], *, tries: int = 5) -> _T:
    """Run ``work`` in one transaction, again from the start after a serialisation conflict or a deadlock."""
    return await past_conflicts(lambda: _once(pool, work), tries=tries)


async def past_conflicts(act: Callable[[], Awaitable[_T]], *, tries: int = 5) -> _T:
    """Run ``act``, one statement or one transaction, again after a serialisation conflict or a deadlock."""
    try:
        return await act()
    except _CONFLICTS:
        # Rare: only then is the retrying worth setting up.
        pass
    async for attempt in AsyncRetrying(
        retry=retry_if_exception_type(_CONFLICTS),
        stop=stop_after_attempt(tries - 1),
        wait=wait_random_exponential(multiplier=0.01, max=0.5),
        reraise=True,
    ):
        with attempt:
            return await act()
    raise AssertionError("the last attempt returns or raises")


async def _once(pool: Database, work: Callable[[Connection], Awaitable[_T]]) -> _T:
    async with pool.acquire() as conn, conn.transaction():
        return await work(conn)
