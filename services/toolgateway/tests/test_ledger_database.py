"""What the database itself refuses, whoever asks; and the operator's tools on top of it."""

import asyncio
from typing import Any

import asyncpg
import pytest

from toolgateway import books, comparing
from toolgateway.core.books import safe_cell
from toolgateway.switch import throw

KEY = "refund:4417028:L2"


@pytest.fixture
async def paid(gateway: Any) -> Any:
    assert (await gateway.refund())["status"] == "succeeded"
    return gateway


@pytest.mark.parametrize(
    "statement",
    [
        "update actions set status = 'pending', version = version + 1",
        "update actions set status = 'rejected', version = version + 1",
        "update actions set amount = 1, version = version + 1",
        "update actions set customer_id = 'C-2', version = version + 1",
        "update actions set request = '{}', version = version + 1",
        "update actions set args = '{}', version = version + 1",
        "update actions set attempts = 9",
        "update actions set version = version + 2",
        "delete from actions",
        "truncate actions",
        "delete from actions_history",
        "update actions_history set status = 'failed'",
        "truncate actions_history",
        (
            "insert into actions_history (key, version, status, cause, attempts, verdict, policy_version,"
            " policy_reason) values ('x', 1, 'succeeded', 'x', 1, 'auto', 'v', 'r')"
        ),
        "update audit set reason = 'x'",
        "delete from audit",
        "drop table actions",
        "alter table actions disable trigger all",
        "update legal_moves set to_status = 'pending'",
        "delete from tasks",
        "update tasks set reason = 'x'",
        "update controls set mode = 'on'",
        "update controls set ceilings = '{}'",
        "insert into controls default values",
        "delete from controls",
        "truncate controls",
        "alter table controls disable trigger all",
        "set role operator",
        "set role postgres",
    ],
)
@pytest.mark.parametrize("login", ["ledger"])
async def test_the_services_own_login_cannot_rewrite_the_past(paid: Any, statement: str, login: str) -> None:
    with pytest.raises(asyncpg.PostgresError):
        await paid.pool.execute(statement)
    assert (await paid.row(KEY))["status"] == "succeeded"
    assert len(await paid.history(KEY)) == 2


@pytest.mark.parametrize("role", ["gateway", "support", "approvals", "reconciler"])
async def test_no_other_service_writes_the_ledger(paid: Any, database: Any, role: str) -> None:
    conn = await asyncpg.connect(database.dsn(role))
    try:
        for statement in (
            "update ledger.actions set version = version + 1",
            "insert into ledger.audit (what, who) values ('x', 'x')",
            "update ledger.controls set mode = 'on'",
            "delete from ledger.outbox",
        ):
            with pytest.raises(asyncpg.PostgresError):
                await conn.execute(statement)
    finally:
        await conn.close()


async def test_even_the_migrator_cannot_delete_a_row_or_its_history(paid: Any, database: Any) -> None:
    conn = await asyncpg.connect(database.dsn("admin"))
    try:
        for statement in ("delete from ledger.actions", "delete from ledger.actions_history", "truncate ledger.audit"):
            with pytest.raises(asyncpg.PostgresError, match="append-only"):
                await conn.execute(statement)
    finally:
        await conn.close()


@pytest.mark.parametrize("amount", ["0", "-1", "'NaN'", "'Infinity'"])
async def test_an_impossible_amount_is_no_row(paid: Any, amount: str) -> None:
    columns = "fact, kind, customer_id, order_id, line_id, currency, minor_units, args, request, status, verdict,"
    columns += " policy_version, policy_reason, cause, requested_by, facts, digest"
    values = "'f', 'refund', 'C', '1', 'L', 'USD', 1, '{}', '{}', 'pending', 'auto', 'v', 'r', 'c', 'agent', '{}', 'd'"
    with pytest.raises(asyncpg.CheckViolationError):
        await paid.pool.execute(f"insert into actions (key, amount, {columns}) values ('k', {amount}, {values})")


async def test_history_months_are_ready_and_the_catch_all_stays_empty(paid: Any) -> None:
    count = await paid.pool.fetchval(
        "select count(*) from pg_inherits where inhparent = 'ledger.actions_history'::regclass"
    )
    assert count >= 13
    assert await paid.pool.fetchval("select count(*) from actions_history_rest") == 0
    assert await paid.pool.fetchval("select prepare_history(12)") == 0


async def test_the_kill_switch_sends_money_to_approval_and_stop_stops_everything(gateway: Any, operator: Any) -> None:
    await throw(operator, ["approval"], "op")
    answer = await gateway.refund()
    assert (answer["status"], answer["result"]["reason"]) == ("awaiting_approval", "kill_switch")
    await throw(operator, ["stop"], "op")
    assert (await gateway.refund("L1", "39.00"))["status"] == "blocked"
    assert (await gateway.decide(KEY, 1))[0] == 409
    assert gateway.provider.moved() == []
    await throw(operator, ["on"], "op")
    assert (await gateway.refund("L1", "39.00"))["status"] == "succeeded"
    assert (await gateway.decide(KEY, 1))[1]["status"] == "succeeded"
    assert await gateway.pool.fetchval("select count(*) from audit where what = 'switch'") == 3


async def test_an_automatic_row_is_not_sent_again_while_the_switch_is_thrown(gateway: Any, operator: Any) -> None:
    gateway.provider.faults = ["hang"]
    await gateway.refund()
    await throw(operator, ["approval"], "op")
    _, row = await gateway.resume(KEY)
    assert (row["status"], row["last_error"]) == ("pending", "kill_switch")
    assert gateway.provider.moved() == []
    await throw(operator, ["on"], "op")
    assert (await gateway.resume(KEY))[1]["status"] == "succeeded"


async def test_automatic_money_stops_at_the_hours_ceiling_under_concurrency(gateway: Any, operator: Any) -> None:
    await throw(operator, ["ceiling", "USD", "100.00", "1000.00"], "op")
    for n in range(8):
        gateway.provider.put_order(f"55000{n:02d}", f"C-{n}")
    asks = (gateway.refund("L1", "39.00", order=f"55000{n:02d}", session=gateway.session(f"C-{n}")) for n in range(8))
    answers = await asyncio.gather(*asks)
    assert [a["status"] for a in answers].count("succeeded") == 2
    reasons = {a["result"]["reason"] for a in answers if a["status"] == "awaiting_approval"}
    assert reasons == {"automatic_money_ceiling"}
    assert len(gateway.provider.moved()) == 2


async def test_a_stray_on_either_side_of_the_books_opens_a_task(paid: Any) -> None:
    payments = paid.built.payments
    assert await comparing.compare(paid.pool, payments) == []
    paid.provider.record({"order_id": "4417028", "line_id": "L1", "amount_minor": 500, "currency": "USD"}, None)
    [stray] = await comparing.compare(paid.pool, payments)
    assert stray.reason == "money_without_row"
    paid.provider.refunds.pop(0)
    assert {s.reason for s in await comparing.compare(paid.pool, payments)} == {
        "money_without_row",
        "row_without_money",
    }
    tasks = await paid.pool.fetch("select about, reason from tasks order by reason")
    assert [(t["about"], t["reason"]) for t in tasks] == [("re_2", "money_without_row"), (KEY, "row_without_money")]


async def test_rows_lost_in_a_restore_are_rebuilt_before_money_moves_again(gateway: Any) -> None:
    body = {"order_id": "4417028", "line_id": "L2", "amount_minor": 6400, "currency": "USD"}
    refund = gateway.provider.record(body, KEY)
    assert await books.rebuild(gateway.pool, gateway.built.payments, gateway.built.parts.facts) == [KEY]
    assert await books.rebuild(gateway.pool, gateway.built.payments, gateway.built.parts.facts) == []
    answer = await gateway.refund()
    assert (answer["status"], answer["result"]["repeated"]) == ("succeeded", True)
    assert answer["result"]["reference"] == refund["refund_id"]
    assert len(gateway.provider.moved()) == 1
    assert await comparing.compare(gateway.pool, gateway.built.payments) == []


async def test_bb_con_05_the_audit_export_computes_nothing_and_keeps_numbers(paid: Any) -> None:
    lines = (await books.export(paid.pool, "csv")).splitlines()
    assert lines[1].startswith("refund:4417028:L2,refund,C-1001,conv_1,4417028,L2,64.00,USD,succeeded,auto,")
    assert (await books.export(paid.pool, "jsonl")).count("\n") == 1
    for cell in ("=1+1", "+49 30 1234", "@x", "＝1+1", "\t=1+1", " =1+1", "-cmd", "\r=1"):
        assert safe_cell(cell)[0] == "_"
    assert [safe_cell(cell) for cell in ("-5", "64.00", "-12.30", "Kettle", None)] == [
        "-5",
        "64.00",
        "-12.30",
        "Kettle",
        "",
    ]
