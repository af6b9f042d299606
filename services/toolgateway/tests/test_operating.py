"""What people and operators do around the ledger: tasks, the daily comparison, and the operator's own login."""

import asyncio
import json
import os
import sys
from typing import Any

import asyncpg
import pytest

from common.errors import Malformed, Refused
from toolgateway.adapters import operations
from toolgateway.comparing import Comparing
from toolgateway.core.tasks import read_why
from toolgateway.switch import throw
from toolgateway.tasks import carry_out

STRAY = {"order_id": "4417028", "line_id": "L1", "amount_minor": 500, "currency": "USD"}


async def compare(gateway: Any, **body: Any) -> Any:
    status, answer = await gateway.send("POST", "/v1/books/compare", body, service="reconciler")
    assert status == 200, answer
    await gateway.built.parts.background.drain(10)
    return answer


async def tasks(gateway: Any, status: str = "open") -> Any:
    return (await gateway.send("GET", f"/v1/tasks?status={status}", service="approvals"))[1]["items"]


async def close(gateway: Any, task: int, why: Any = "refunded by hand", role: str = "lead", staff: str = "lena") -> Any:
    assertion = gateway.staff(staff, role)
    return await gateway.send(
        "POST", f"/v1/tasks/{task}/close", {"why": why}, service="approvals", X_Staff_Assertion=assertion
    )


# ---- the daily comparison --------------------


async def test_a_stray_on_either_side_becomes_a_task_that_can_be_read(gateway: Any) -> None:
    await gateway.refund()
    gateway.provider.refunds.clear()
    gateway.provider.record(STRAY, None)
    assert (await compare(gateway))["begun"] is True
    found = {(task["about"], task["reason"]) for task in await tasks(gateway)}
    assert found == {("re_2", "money_without_row"), ("refund:4417028:L2", "row_without_money")}
    again = await compare(gateway, not_within_s=0)
    assert (again["last"]["strays"], again["open_tasks"]) == (2, 2), "a stray that is still there opens no second task"


async def test_replicas_and_restarts_that_ask_at_once_compare_once_a_day(gateway: Any) -> None:
    answers = await asyncio.gather(*(compare(gateway, not_within_s=86_400) for _ in range(5)))
    assert sorted(a["begun"] for a in answers) == [False] * 4 + [True]
    assert (await compare(gateway))["begun"] is False
    lists = [call for call in gateway.provider.calls if call == ("list", "")]
    assert len(lists) == 1
    assert await gateway.pool.fetchval("select count(*) from comparisons") == 1


async def test_a_comparison_that_was_cut_off_is_begun_again_and_one_under_way_is_not(
    gateway: Any, database: Any
) -> None:
    comparing = Comparing(gateway.pool, gateway.built.payments)
    begun = await comparing.begin(0)
    assert begun is not None
    assert await comparing.begin(0) is None, "under way"
    admin = await asyncpg.connect(database.dsn("admin"))
    await admin.execute("update ledger.comparisons set started_at = started_at - interval '11 minutes'")
    await admin.close()
    assert await comparing.begin(86_400) is not None


async def test_a_provider_that_is_away_leaves_the_comparison_to_a_later_ask(gateway: Any) -> None:
    gateway.provider.reads_down = True
    assert (await compare(gateway))["last"] is None
    assert await gateway.pool.fetchval("select ended_at from comparisons") is None


@pytest.mark.parametrize(
    "body", [{"not_within_s": -1}, {"not_within_s": "1"}, {"not_within_s": True}, {"not_within_s": 1e9}]
)
async def test_a_strange_period_is_refused(gateway: Any, body: Any) -> None:
    assert (await gateway.send("POST", "/v1/books/compare", body, service="reconciler"))[0] == 422


@pytest.mark.parametrize(
    ("method", "path", "service"),
    [
        ("POST", "/v1/books/compare", "agent"),
        ("POST", "/v1/books/compare", "approvals"),
        ("GET", "/v1/tasks", "agent"),
        ("GET", "/v1/tasks", "gateway"),
        ("POST", "/v1/tasks/1/close", "reconciler"),
        ("POST", "/v1/tasks/1/close", "agent"),
    ],
)
async def test_only_who_needs_it_reads_tasks_and_has_books_compared(
    gateway: Any, method: str, path: str, service: str
) -> None:
    assert (await gateway.send(method, path, {}, service=service))[0] == 403
    assert (await gateway.send(method, path, {}, service=None))[0] == 401


# ---- tasks --------------------


@pytest.fixture
async def task(gateway: Any) -> int:
    await operations.open_task(gateway.pool, "re_9", "money_without_row", {"order_id": "4417028"})
    [found] = await tasks(gateway)
    number: int = found["id"]
    return number


async def test_a_lead_closes_a_task_once_and_who_and_why_stay(gateway: Any, task: int) -> None:
    answers = await asyncio.gather(*(close(gateway, task, staff=name) for name in ("lena", "lou")))
    assert sorted(status for status, _ in answers) == [200, 409]
    [closed] = await tasks(gateway, "closed")
    assert closed["closed_by"] in ("staff:lena", "staff:lou")
    assert (closed["closed_why"], await tasks(gateway)) == ("refunded by hand", [])
    entry = await gateway.pool.fetchrow("select who, reason, details from audit where what = 'task'")
    assert (entry["who"], entry["reason"]) == (closed["closed_by"], "refunded by hand")
    assert (entry["details"]["about"], entry["details"]["opened_for"]) == ("re_9", "money_without_row")


@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_who_is_no_lead_closes_nothing(gateway: Any, task: int, role: str) -> None:
    assert (await close(gateway, task, role=role))[0] == 403
    assert len(await tasks(gateway)) == 1


@pytest.mark.parametrize("why", [None, "", "  ", "\x00", 7, ["x"]])
async def test_a_task_isnt_closed_without_a_reason(gateway: Any, task: int, why: Any) -> None:
    assert (await close(gateway, task, why))[0] == 422
    assert len(await tasks(gateway)) == 1


@pytest.mark.parametrize("number", [0, 999, 2**63, -1])
async def test_a_task_that_isnt_there_is_404(gateway: Any, number: int) -> None:
    assert (await close(gateway, number))[0] == 404


async def test_the_database_itself_lets_no_closed_task_be_rewritten(gateway: Any, task: int, operator: Any) -> None:
    await close(gateway, task)
    for pool in (gateway.pool, operator):
        with pytest.raises(asyncpg.PostgresError):
            await pool.execute("update tasks set closed_why = 'other', closed_by = 'x'")
    await operations.open_task(gateway.pool, "re_9", "money_without_row", {})
    for why in ("null", "''"):
        with pytest.raises(asyncpg.CheckViolationError):
            await gateway.pool.execute(
                f"update tasks set closed_at = now(), closed_by = 'x', closed_why = {why} where closed_at is null"
            )


async def test_an_operator_reads_and_closes_tasks_by_command(gateway: Any, task: int, operator: Any) -> None:
    assert [t["id"] for t in await carry_out(operator, ["list"], "op")] == [task]
    for bad in (["close", str(task)], ["close", "x", "why"], ["close", str(task), " "], ["shut"], []):
        with pytest.raises(Malformed):
            await carry_out(operator, bad, "op")
    [closed] = await carry_out(operator, ["close", str(task), "returned", "by", "the", "bank"], "op")
    assert (closed["closed_by"], closed["closed_why"]) == ("operator:op", "returned by the bank")
    with pytest.raises(Refused):
        await carry_out(operator, ["close", str(task), "again"], "op")
    assert [t["id"] for t in await carry_out(operator, ["list", "closed"], "op")] == [task]


def test_a_reason_is_words_within_bounds() -> None:
    assert read_why(" x\x00y ") == "xy"
    assert len(read_why("x" * 9_999) or "") == 2_000


# ---- the operator's login --------------------


async def test_every_move_of_the_switch_is_recorded_whoever_makes_it(gateway: Any, operator: Any) -> None:
    await throw(operator, ["stop"], "ann")
    await operator.execute("update controls set mode = 'on', changed_by = 'by hand'")
    rows = await gateway.pool.fetch("select who, reason, details from audit where what = 'switch' order by id")
    assert [(r["who"], r["reason"], r["details"]["before"]) for r in rows] == [
        ("ann", "stop", "on"),
        ("by hand", "on", "stop"),
    ]
    assert all(r["details"]["login"].endswith("operator") for r in rows)


async def test_the_service_obeys_the_switch_and_cannot_lift_it(gateway: Any, operator: Any) -> None:
    await throw(operator, ["stop"], "ann")
    for mode in ("on", "approval"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await throw(gateway.pool, [mode], "toolgateway")
    assert (await gateway.refund())["status"] == "blocked"
    assert gateway.provider.moved() == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from actions",
        "update actions set status = 'succeeded'",
        "insert into tasks (about, reason) values ('x', 'x')",
        "delete from tasks",
        "update tasks set details = '{}'",
        "insert into audit (what, who) values ('x', 'x')",
        "select * from audit",
        "select * from old_addresses",
        "delete from controls",
        "insert into outbox (event_id, topic, key, payload, headers) values ('e', 't', 'k', '', '{}')",
        "select * from gateway.messages",
        "select * from support.conversations",
        "select * from approvals.staff",
        "create table x (y int)",
    ],
)
async def test_the_operators_login_moves_the_switch_and_nothing_else(operator: Any, statement: str) -> None:
    with pytest.raises(asyncpg.PostgresError):
        await operator.execute(statement)


async def test_both_commands_run_as_they_are_written_down(gateway: Any, task: int, database: Any) -> None:
    environment = {**os.environ, "OPERATOR_DATABASE_URL": database.dsn("operator")}

    async def run(*arguments: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *arguments, env=environment, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        return process.returncode, out.decode()

    status, out = await run("toolgateway.switch", "approval")
    assert (status, json.loads(out)["mode"]) == (0, "approval")
    status, out = await run("toolgateway.tasks", "close", str(task), "seen", "to")
    assert (status, json.loads(out)["closed_why"]) == (0, "seen to")
    assert (await gateway.refund())["status"] == "awaiting_approval"
