"""History older than seven years leaves by whole months, by the owner's hand alone."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from toolgateway.retention import drop_old_history, main, seven_years_before

TODAY = datetime.now(UTC).date()
OLD = "select to_regclass('ledger.actions_history_' || $1) is not null"


@pytest.fixture
async def owner(database: Any) -> AsyncIterator[Any]:
    """The migrator's login, over one month of long ago, and one that ended a month after the seven years."""
    conn = await asyncpg.connect(database.dsn("admin"))
    young = seven_years_before(TODAY).replace(day=1)
    after = (young + timedelta(days=32)).replace(day=1)
    for first, following in ((date(2018, 1, 1), date(2018, 2, 1)), (young, after)):
        await conn.execute(
            f"create table ledger.actions_history_{first:%Y%m} partition of ledger.actions_history"
            f" for values from ('{first}') to ('{following}')"
        )
    await conn.execute(
        "insert into ledger.actions_history (key, version, status, cause, attempts, verdict, policy_version,"
        " policy_reason, at) values ('refund:1:1', 1, 'succeeded', 'settled', 1, 'auto', 'v', 'r', '2018-01-15')"
    )
    yield conn
    await conn.close()


async def test_whole_months_before_the_seven_years_go_and_nothing_younger(owner: Any, database: Any) -> None:
    before = await owner.fetchval(
        "select count(*) from pg_inherits where inhparent = 'ledger.actions_history'::regclass"
    )
    assert await drop_old_history(database.dsn("admin"), seven_years_before(TODAY)) == ["actions_history_201801"]
    after = await owner.fetchval(
        "select count(*) from pg_inherits where inhparent = 'ledger.actions_history'::regclass"
    )
    assert after == before - 1
    assert await owner.fetchval(OLD, f"{seven_years_before(TODAY):%Y%m}")
    assert await owner.fetchval("select details ->> 'dropped' from ledger.audit where what = 'retention'")
    assert await drop_old_history(database.dsn("admin"), seven_years_before(TODAY)) == []


async def test_a_day_younger_than_seven_years_is_refused(owner: Any, database: Any) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="seven years"):
        await drop_old_history(database.dsn("admin"), TODAY)
    assert await owner.fetchval(OLD, "201801")


@pytest.mark.parametrize("role", ["ledger", "gateway", "support", "approvals", "reconciler"])
async def test_no_services_login_can_drop_history(owner: Any, database: Any, role: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await drop_old_history(database.dsn(role), seven_years_before(TODAY))
    conn = await asyncpg.connect(database.dsn(role))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await conn.execute("drop table ledger.actions_history_201801")
    await conn.close()
    assert await owner.fetchval(OLD, "201801")


def test_a_leap_day_has_a_seventh_birthday() -> None:
    assert seven_years_before(date(2032, 2, 29)) == date(2025, 3, 1)


def test_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEDGER_OWNER_DATABASE_URL", raising=False)
    assert main([]) == 2
    monkeypatch.setenv("LEDGER_OWNER_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    assert main(["yesterday"]) == 2
    assert main([]) == 1
