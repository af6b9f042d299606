"""Each checker of the ledger stays silent on sound rows and catches the bug it is there for."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from toolgateway.adapters.checks import CHECKS, find_offenders

AUTO, ASKED = "refund:4417028:L2", "refund:4417028:L3"
# A bug as the database would see it: triggers off, as no service can have them.
PLANTED = {
    "C1": [
        "drop index ledger.actions_one_row_per_provider_refund",
        f"update ledger.actions set external_ref = (select external_ref from ledger.actions where key = '{AUTO}')",
    ],
    "C2": [
        "alter table ledger.actions drop constraint a_paid_refund_names_its_reference",
        f"update ledger.actions set external_ref = null where key = '{AUTO}'",
    ],
    "C4": [
        (
            "insert into ledger.actions select (jsonb_populate_record(a, jsonb_build_object('key', 'planted:' || i,"
            " 'fact', 'planted:' || i, 'external_ref', 're_x' || i))).*"
            f" from ledger.actions a, generate_series(1, 3) as planted(i) where key = '{AUTO}'"
        )
    ],
    "C5": [f"update ledger.actions set approved_digest = 'another' where key = '{ASKED}'"],
    "C6": [f"update ledger.actions set version = version + 1 where key = '{AUTO}'"],
    "C8": [
        (
            "update ledger.actions set status = 'pending', first_tried_at = clock_timestamp() - interval '1 hour' "
            f"where key = '{AUTO}'"
        )
    ],
    "C10 a claim": [f"update ledger.actions set claim_until = now() where key = '{AUTO}'"],
    "C10 automatic": ["update ledger.automatic_money set minor = minor + 1"],
}


@pytest.fixture
async def admin(gateway: Any, database: Any) -> AsyncIterator[Any]:
    await gateway.refund()
    await gateway.refund("L3", "250.00")
    await gateway.decide(ASKED, 1)
    gateway.provider.faults = ["402"]
    await gateway.refund("L1", "39.00")
    conn = await asyncpg.connect(database.dsn("admin"))
    yield conn
    await conn.close()


async def test_every_checker_catches_its_planted_bug_and_no_other_rows(admin: Any) -> None:
    assert await find_offenders(admin) == {}
    assert all(any(name.startswith(planted) for planted in PLANTED) for name in CHECKS)
    for planted, statements in PLANTED.items():
        change = admin.transaction()
        await change.start()
        await admin.execute("set local session_replication_role = replica")
        for statement in statements:
            await admin.execute(statement)
        found = await find_offenders(admin)
        await change.rollback()
        assert any(name.startswith(planted) for name in found), (planted, found)
    assert await find_offenders(admin) == {}
