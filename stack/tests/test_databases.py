"""The fixtures everybody's tests stand on, tried on the real server."""

import asyncpg
import pytest

from stack.databases import TestDatabase, TestDatabases, dsn_for


async def test_each_owner_logs_in_to_a_database_with_every_schema(database: TestDatabase) -> None:
    connection = await asyncpg.connect(database.dsn("ledger"))
    try:
        user = await connection.fetchval("select current_user")
        schemas = {row[0] for row in await connection.fetch("select nspname from pg_namespace")}
    finally:
        await connection.close()
    assert user.endswith("_ledger")
    assert {"gateway", "support", "ledger", "approvals"} <= schemas


async def test_what_is_written_in_one_database_the_next_lacks(databases: TestDatabases) -> None:
    for _ in range(2):
        with databases.fresh() as one:
            await _leave_a_table_behind(one)


async def _leave_a_table_behind(one: TestDatabase) -> None:
    connection = await asyncpg.connect(one.dsn("admin"))
    try:
        assert await connection.fetchval("select to_regclass('public.left_over')") is None
        await connection.execute("create table public.left_over()")
    finally:
        await connection.close()


def test_an_unknown_role_is_named(database: TestDatabase) -> None:
    with pytest.raises(ValueError, match="'boss' is none of"):
        database.dsn("boss")


def test_a_dsn_keeps_its_address_when_login_and_database_change() -> None:
    admin = "postgresql://postgres:pw@127.0.0.1:5432/postgres"
    assert dsn_for(admin, database="d", user="u", password="p") == "postgresql://u:p@127.0.0.1:5432/d"
    assert dsn_for(admin) == admin
