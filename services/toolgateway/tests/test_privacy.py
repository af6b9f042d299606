"""What the ledger holds of one customer: bookings stay, words and addresses go, and money can't move twice after it."""

import json
from typing import Any

import asyncpg
import pytest

from common.privacy.command import Unfinished
from common.privacy.subject import Subject
from toolgateway.adapters import operations
from toolgateway.audit import evidence
from toolgateway.audit.checkers import run_checkers
from toolgateway.policy import load_policy, packaged_policy
from toolgateway.privacy import Privacy

NAME = "erased-00000000000000a1"
MAYA, BOB = Subject(customer_id="C-1001"), Subject(customer_id="C-2002")
STREET = {"line1": "9 Maya Lane", "city": "Bonn", "postal_code": "53111", "country": "DE"}
TABLES = ("actions", "actions_history", "audit", "tasks", "old_addresses", "outbox")
BOOKED = """
select key, kind, order_id, line_id, amount, currency, minor_units, status, verdict, policy_version, policy_reason,
       approved_by, external_ref, attempts, created_at, updated_at, version, digest, approved_digest, decided_by,
       decided_at, reserved_hour, customer_id from actions order by key
"""


async def everything(pool: Any) -> str:
    return str([[r[0] for r in await pool.fetch(f"select t::text from {table} t")] for table in TABLES])


@pytest.fixture
async def lived(gateway: Any, provider: Any) -> Any:
    """Maya: a refund, an approved one, an address, a label, an email, a denied wish, a closed task. Bob: a refund."""
    now = "2026-11-20T00:00:00+00:00"
    provider.put_order("4417030", status="processing", shipped_at=None, delivered_at=None, placed_at=now)
    provider.put_order("5520001", "C-2002", address=STREET | {"line1": "2 Bob Road"})
    await gateway.refund("L2", "64.00")
    waiting = await gateway.refund("L3", "250.00")
    row = await gateway.row(waiting["result"]["key"])
    status, _ = await gateway.decide(row["key"], row["version"], note="Maya called about it")
    assert status == 200
    await gateway.tool("change_address", {"order_id": "4417030", "address": STREET})
    label = {"order_id": "4417028", "line_ids": ["L1"], "reason": "maya says it drips"}
    await gateway.tool("create_return_label", label)
    await gateway.tool(
        "update_account_field", {"field": "email", "value": "maya.new@x.example"}, session=stepped(gateway)
    )
    denied = await gateway.tool("change_address", {"order_id": "4417028", "address": STREET})
    assert denied["status"] == "denied"
    await gateway.refund("L1", "39.00", order="5520001", session=gateway.session("C-2002", "conv_bob"))
    await gateway.pool.execute("delete from outbox")
    return gateway


def stepped(gateway: Any) -> Any:
    return gateway.session("C-1001", "conv_1", "otp")


@pytest.fixture
def privacy(gateway: Any) -> Privacy:
    return Privacy(gateway.pool, 30)


async def erase(privacy: Privacy, subject: Subject = MAYA) -> dict[str, int]:
    return await privacy.erase(await privacy.find(subject), NAME)


async def test_an_export_holds_all_of_theirs_and_nothing_of_anybody_else(lived: Any, privacy: Privacy) -> None:
    found = await privacy.find(MAYA)
    assert "refund:4417028:L2" in found.keys
    lines = [item async for item in privacy.export(found)]
    text = json.dumps(lines, default=str)
    assert {i["table"] for i in lines} == {"actions", "actions_history", "audit"}
    for theirs in ("9 Maya Lane", "Maya called about it", "maya says it drips", "maya.new@x.example", "1 Elm Street"):
        assert theirs in text
    assert "5520001" not in text
    assert "Bob Road" not in text


async def test_bookings_stay_as_they_are_and_what_a_person_is_known_by_goes(lived: Any, privacy: Privacy) -> None:
    booked = await lived.pool.fetch(BOOKED)
    his = [r[0] for r in await lived.pool.fetch("select t::text from actions t where customer_id = 'C-2002'")]
    counts = await erase(privacy)
    assert counts == {"actions": 5, "actions_history": 0, "audit": 1, "tasks": 0, "old_addresses": 0}
    left = await everything(lived.pool)
    for gone in ("Maya Lane", "maya", "Maya called", "Elm Street", "x.example"):
        assert gone not in left, gone
    assert await lived.pool.fetch(BOOKED) == booked
    assert [r[0] for r in await lived.pool.fetch("select t::text from actions t where customer_id = 'C-2002'")] == his
    assert (await lived.row("return_label:4417028:L1"))["args"] == {"order_id": "4417028", "line_ids": ["L1"]}
    assert sum((await erase(privacy)).values()) == 0, "again there is nothing to do"


async def test_the_same_refund_moves_no_money_and_the_limit_goes_on_counting(
    lived: Any, privacy: Privacy, provider: Any
) -> None:
    moved = provider.moved()
    await erase(privacy)
    again = await lived.refund("L2", "64.00", session=lived.session(conversation_id="conv_anew"))
    assert (again["status"], again["result"]["repeated"]) == ("succeeded", True)
    other = await lived.refund("L2", "60.00", session=lived.session(conversation_id="conv_anew"))
    assert other["status"] != "pending"
    assert provider.moved() == moved
    third = await lived.refund("L1", "39.00", session=lived.session(conversation_id="conv_anew"))
    assert (third["status"], third["result"]["reason"]) == ("awaiting_approval", "refunds_in_window")
    # Their account change is asked for anew, under the next number: the store has answered the first one's key.
    changed = await lived.tool(
        "update_account_field", {"field": "email", "value": "maya@y.example"},
        session=lived.session("C-1001", "conv_anew", "otp"),
    )  # fmt: skip
    assert changed["result"]["key"] == "account_change:C-1001:email:2"


async def test_the_ledgers_own_rules_hold_afterwards(lived: Any, privacy: Privacy) -> None:
    await erase(privacy)
    async with lived.pool.acquire() as conn, conn.transaction():
        await evidence.prepare(conn, load_policy(packaged_policy()))
        findings = await run_checkers(conn, frozenset({"ledger", "limits"}))
    assert [f.offenders for f in findings if f.offenders] == []
    assert sum(f.looked_at for f in findings) > 0


async def test_rows_that_no_rule_counts_any_more_lose_the_customers_id(
    lived: Any, privacy: Privacy, database: Any
) -> None:
    admin = await asyncpg.connect(database.dsn("admin"))
    await admin.execute("alter table ledger.actions disable trigger actions_guard")
    await admin.execute("update ledger.actions set created_at = created_at - interval '31 days'")
    await admin.execute("alter table ledger.actions enable trigger actions_guard")
    await admin.close()
    await erase(privacy)
    rows = await lived.pool.fetch("select kind, customer_id from actions where order_id is distinct from '5520001'")
    # The number of an account change counts on under a key that holds the id.
    assert {(r["kind"], r["customer_id"]) for r in rows} == {
        ("refund", NAME), ("address_change", NAME), ("return_label", NAME),
        ("account_change", "C-1001"),
    }  # fmt: skip
    assert (await privacy.find(MAYA)).keys == {"account_change:C-1001:email:1"}


async def test_a_row_that_is_open_an_event_on_its_way_and_an_open_task_have_to_end_first(
    lived: Any, privacy: Privacy
) -> None:
    await lived.refund("shipping", "7.50")
    await operations.open_task(lived.pool, "refund:4417028:L2", "outcome_unknown", {"error": "maya"})
    assert await privacy.unfinished(MAYA) == [
        "1 ledger row(s) are open: they have to run, or somebody has to decide them",
        "2 event(s) of the ledger are not published yet",
        "1 task(s) about them wait for a person",
    ]
    before = await everything(lived.pool)
    with pytest.raises(Unfinished, match="ledger row"):
        await erase(privacy)
    # Whoever calls the database's function past this is refused by it as well.
    with pytest.raises(asyncpg.ObjectInUseError):
        await lived.pool.execute("select erase_customer('C-1001', '{}', '{}', $1, 30)", NAME)
    assert await everything(lived.pool) == before
    assert await lived.pool.fetchval("select count(*) from erased_conversations") == 0


async def test_what_staff_wrote_when_they_closed_a_task_goes_from_task_and_audit(lived: Any, privacy: Privacy) -> None:
    for about, order in (("refund:4417028:L2", "4417028"), ("re_stranger", "4417028"), ("re_bob", "5520001")):
        await operations.open_task(lived.pool, about, "money_without_row", {"order_id": order})
    for task in await operations.list_tasks(lived.pool, open_ones=True, limit=9):
        who = "Bob" if task["about"] == "re_bob" else "Maya"
        await operations.close_task(lived.pool, task["id"], "staff:lena", f"{who} was called")
    assert (await erase(privacy))["tasks"] == 2
    left = await everything(lived.pool)
    assert "Maya was called" not in left
    assert left.count("Bob was called") == 2


FORBIDDEN = (
    "update actions set args = '{}'",
    "update actions set customer_id = 'x', version = version",
    "update actions set last_error = 'x', decided_note = null, version = version",
    "update audit set details = '{}'",
    "update actions_history set last_error = null",
    "update tasks set closed_why = 'erased'",
    "delete from erasures",
    "insert into erasures (pseudonym, counts) values ('x', '{}')",
    "update erasures set counts = '{}'",
)


async def test_the_services_own_login_can_erase_by_no_other_way(lived: Any, database: Any) -> None:
    await operations.open_task(lived.pool, "x", "y", {})
    [task] = await operations.list_tasks(lived.pool, open_ones=True, limit=1)
    await operations.close_task(lived.pool, task["id"], "staff:lena", "done")
    before = await everything(lived.pool)
    for statement in FORBIDDEN:
        with pytest.raises(asyncpg.PostgresError):
            await lived.pool.execute(statement)
    # And the function's own rights don't reach what is booked.
    admin = await asyncpg.connect(database.dsn("admin"))
    try:
        for change in ("amount = amount + 1, minor_units = 1", "status = 'failed'", "external_ref = 'x'", "n = 9"):
            with pytest.raises(asyncpg.CheckViolationError):
                await admin.execute(f"update ledger.actions set {change}")
    finally:
        await admin.close()
    assert await everything(lived.pool) == before


async def test_a_temporary_table_in_the_catalogs_place_gets_nobody_past_the_guards(gateway: Any) -> None:
    await gateway.refund("L3", "250.00")
    await operations.open_task(gateway.pool, "x", "y", {})
    [task] = await operations.list_tasks(gateway.pool, open_ones=True, limit=1)
    await operations.close_task(gateway.pool, task["id"], "staff:lena", "done")
    async with gateway.pool.acquire() as conn:
        outer = conn.transaction()
        await outer.start()
        try:
            await conn.execute("create temporary table pg_class (oid oid, relowner oid)")
            await conn.execute(
                "insert into pg_class select c.oid, r.oid from pg_catalog.pg_class c, pg_catalog.pg_roles r"
                " where c.relname in ('actions', 'tasks') and r.rolname = current_user"
            )
            await conn.execute("set local search_path = pg_temp, ledger, pg_catalog")
            for statement in (
                "update ledger.actions set last_error = 'x', decided_note = 'y'",
                "update ledger.tasks set closed_why = 'never'",
            ):
                with pytest.raises(asyncpg.CheckViolationError):
                    async with conn.transaction():
                        await conn.execute(statement)
        finally:
            await outer.rollback()


async def test_a_call_of_the_function_itself_reaches_no_further_and_leaves_a_record(lived: Any) -> None:
    for about, order in (("re_maya", "4417028"), ("re_bob", "5520001")):
        await operations.open_task(lived.pool, about, "money_without_row", {"order_id": order})
    for task in await operations.list_tasks(lived.pool, open_ones=True, limit=9):
        await operations.close_task(lived.pool, task["id"], "staff:lena", f"{task['about']} was called")
    for name in ("x", "C-2002", "erased-1", None):
        with pytest.raises(asyncpg.InvalidParameterValueError):
            await lived.pool.execute("select erase_customer('C-1001', '{}', '{}', $1, 30)", name)
    assert await lived.pool.fetchval("select count(*) from erasures") == 0
    subjects = ["4417028", "5520001", "re_bob", "refund:5520001:L1"]
    counts = await lived.pool.fetchval("select erase_customer('C-1001', $1, $2, $3, 0)", ["conv_bob"], subjects, NAME)
    assert counts["tasks"] == 1
    assert "re_bob was called" in await everything(lived.pool)
    assert await lived.pool.fetchval("select count(*) from actions where customer_id = $1", NAME) == 0, (
        "30 days at least"
    )
    assert [tuple(r) for r in await lived.pool.fetch("select pseudonym, counts from erasures")] == [(NAME, counts)]


async def test_an_audit_entry_keeps_no_key_that_holds_the_id(lived: Any, privacy: Privacy) -> None:
    for key in ("account_change:C-1001:email:1", "refund:4417028:L2"):
        await lived.pool.execute(
            "insert into audit (what, who, customer_id, details) values ('decision', 'x', 'C-1001', $1)", {"key": key}
        )
    await erase(privacy)
    kept = [r[0] for r in await lived.pool.fetch("select details ->> 'key' from audit where what = 'decision'")]
    assert "refund:4417028:L2" in kept
    assert "C-1001" not in str([r[0] for r in await lived.pool.fetch("select t::text from audit t")])


async def test_a_refusal_takes_back_the_marks_of_a_try_that_was_cut_off(lived: Any, privacy: Privacy) -> None:
    marks = ["conv_1", "conv_gone"]
    await lived.pool.execute("insert into erased_conversations (conversation_id) select unnest($1::text[])", marks)
    await operations.open_task(lived.pool, "refund:4417028:L2", "outcome_unknown", {})
    subject = MAYA.model_copy(update={"conversations": frozenset(marks)})
    with pytest.raises(Unfinished):
        await erase(privacy, subject)
    assert [r[0] for r in await lived.pool.fetch("select conversation_id from erased_conversations")] == ["conv_gone"]


async def test_a_tool_call_that_was_under_way_writes_nothing_of_an_erased_conversation(
    lived: Any, privacy: Privacy, provider: Any
) -> None:
    moved = provider.moved()
    await erase(privacy)
    args = {"order_id": "4417028", "line_id": "L1", "amount": "39.00", "reason": "damaged"}
    status, answer = await lived.send("POST", "/v1/tools/issue_refund", {"args": args, "context": {}},
                                 service="agent", X_Session_Assertion=lived.session())  # fmt: skip
    assert (status, "erased" in answer["detail"]) == (410, True)
    await lived.tool("change_address", {"order_id": "4417028", "address": STREET})
    assert "Maya Lane" not in await everything(lived.pool)
    assert provider.moved() == moved


async def test_a_refund_the_bank_returns_later_becomes_a_persons_task(
    lived: Any, privacy: Privacy, provider: Any
) -> None:
    await erase(privacy)
    [refund] = [r for r in provider.refunds if r["idempotency_key"] == "refund:4417028:L2"]
    refund["status"] = "failed"
    assert await lived.webhook("refund.failed", refund, "evt_1") == 200
    assert (await lived.row("refund:4417028:L2"))["status"] == "failed"
    [task] = await operations.list_tasks(lived.pool, open_ones=True, limit=9)
    assert (task["about"], task["reason"]) == ("refund:4417028:L2", "returned_by_bank")


async def test_a_conversation_that_others_have_rows_of_is_not_closed_to_them(lived: Any, privacy: Privacy) -> None:
    await lived.refund("L2", "64.00", order="5520001", session=lived.session("C-2002", "conv_1"))
    await lived.pool.execute("delete from outbox")
    await erase(privacy)
    assert await lived.pool.fetchval("select count(*) from erased_conversations") == 0
    await lived.refund("L3", "80.00", order="5520001", session=lived.session("C-2002", "conv_1"))
    assert await lived.pool.fetchval("select count(*) from actions where conversation_id = 'conv_1'") == 2
