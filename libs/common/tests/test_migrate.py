"""A service refuses to start on a database that is older than its code, and says what to do."""

from typing import Any

import asyncpg
import pytest

from common import db
from common.migrate import OWNERS, NotMigratedError, require_migrated


@pytest.mark.parametrize("schema", OWNERS)
async def test_the_owner_sees_how_far_its_schema_is_and_cannot_say_otherwise(module_database: Any, schema: str) -> None:
    pool = await db.open_pool(module_database.dsn(schema), schema, min_size=1, max_size=1)
    try:
        await require_migrated(pool, schema)
        for statement in (
            "insert into schema_migrations (name) values ('9999_x.sql')",
            "delete from schema_migrations",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await pool.execute(statement)
    finally:
        await pool.close()


async def test_a_schema_behind_its_code_is_named_with_what_is_missing(database: Any) -> None:
    admin = await asyncpg.connect(database.dsn("admin"))
    await admin.execute("delete from ledger.schema_migrations where name like '0003%'")
    pool = await db.open_pool(database.dsn("ledger"), "ledger", min_size=1, max_size=1)
    try:
        with pytest.raises(NotMigratedError, match=r"ledger lacks 0003_old_addresses\.sql: run the migrations"):
            await require_migrated(pool, "ledger")
        await admin.execute(
            "insert into ledger.schema_migrations (name) values ('0003_old_addresses.sql'), ('9000_x.sql')"
        )
        await require_migrated(pool, "ledger")
        await admin.execute("drop table ledger.schema_migrations")
        with pytest.raises(NotMigratedError, match="0001_ledger"):
            await require_migrated(pool, "ledger")
    finally:
        await pool.close()
        await admin.close()
