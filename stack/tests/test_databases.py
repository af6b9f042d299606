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


async def test_a_database_comes_back_emptied_with_its_first_rows_and_numbers_and_under_a_new_name(
    databases: TestDatabases,
) -> None:
    with databases.fresh() as first:
        before = await _everything_in(first)
        await _execute(
            first,
            "insert into gateway.conversations (id, owner, channel) values ('c', 'o', 'chat')",
            "insert into gateway.outbox (event_id, topic, key, payload, headers) values ('e', 't', 'k', '{}', '{}')",
            "update ledger.controls set mode = 'stop'",
            "delete from approvals.schema_migrations",
        )
        assert await _everything_in(first) != before
        copies = databases.copies
        left_open = await asyncpg.connect(first.dsn("ledger"))
    with databases.fresh() as second:
        assert second.name != first.name
        assert databases.copies == copies, "it was emptied, not made anew"
        assert await _everything_in(second) == before
    assert left_open.is_closed()


@pytest.mark.parametrize(
    "change",
    [
        "drop trigger {trigger} on ledger.actions_history",
        "alter table ledger.actions_history disable trigger user",
        "alter table gateway.conversations add column more text",
        "grant delete on ledger.actions_history to public",
        "create function public.f() returns int language sql as 'select 1'",
        "alter database {name} set work_mem = '1MB'",
    ],
)
async def test_a_database_whose_shape_was_changed_is_not_handed_out_again(
    databases: TestDatabases, change: str
) -> None:
    with databases.fresh() as one:
        trigger = (
            "select tgname from pg_trigger where tgrelid = 'ledger.actions_history'::regclass and not tgisinternal"
        )
        (name, *_) = await _execute(one, trigger)
        copies = databases.copies
        await _execute(one, change.format(trigger=name[0], name=one.name))
    with databases.fresh():
        assert databases.copies == copies + 1


async def _execute(one: TestDatabase, *statements: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(one.dsn("admin"))
    try:
        return [row for statement in statements for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def _everything_in(one: TestDatabase) -> dict[str, list[str]]:
    """Every row of every table, and where every sequence stands."""
    owned = "schemaname in ('gateway', 'support', 'ledger', 'approvals')"
    tables = await _execute(one, f"select format('%I.%I', schemaname, tablename) from pg_tables where {owned}")
    held = {table: [row[0] for row in await _execute(one, f"select t::text from {table} t order by 1")]
            for (table,) in tables}  # fmt: skip
    numbers = await _execute(one, f"select sequencename, last_value from pg_sequences where {owned}")
    return held | {"sequences": sorted(f"{name} {at}" for name, at in numbers)}
