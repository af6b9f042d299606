"""Looks at the age of every schema's oldest unpublished event and wakes the relay that should have sent it."""

import asyncpg

_SCHEMAS = ("gateway", "support", "ledger", "approvals")
_AGE = "select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 from {schema}.outbox"
_WAKE = "select pg_notify($1, '')"


async def wake_late(dsn: str, late_s: float) -> dict[str, float]:
    """Notify the relay of each schema whose outbox is late; returns those schemas' ages in seconds."""
    conn = await asyncpg.connect(dsn, timeout=5, command_timeout=10)
    try:
        ages = {schema: await conn.fetchval(_AGE.format(schema=schema)) for schema in _SCHEMAS}
        late = {schema: age for schema, age in ages.items() if age > late_s}
        for schema in late:
            await conn.execute(_WAKE, f"outbox_{schema}")
        return late
    finally:
        await conn.close(timeout=2)
