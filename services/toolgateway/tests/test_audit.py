"""Each checker of the audit stays silent on a sound system and catches the bug planted for it."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from common import db
from common.money import format_amount, from_minor
from common.producer import Producer
from common.topics import LEDGER_ACTIONS
from toolgateway.adapters import store
from toolgateway.audit import evidence
from toolgateway.audit.__main__ import main, report
from toolgateway.audit.checkers import Finding, load_checkers, run_checkers
from toolgateway.audit.stack_file import read_stack
from toolgateway.core.actions import changed_event
from toolgateway.policy import load_policy, packaged_policy

AUTO, ASKED = "refund:4417028:L2", "refund:4417028:L3"
EVERYTHING = frozenset({"ledger", "gateway", "support", "approvals", "limits", "kafka", "provider"})
COPY = (
    "insert into ledger.actions select (jsonb_populate_record(a, jsonb_build_object({changes}))).*"
    " from ledger.actions a{others} where key = '" + AUTO + "'"
)
A_GATEWAY_EVENT = (
    "insert into gateway.events (message_id, seq, conversation_id, position, event, data, writer, owner_version)"
    " values ({values}, '{{}}', 'agent', 1)"
)
# A bug as the databases would show it: triggers off, as no service can have them.
PLANTED: dict[str, list[str]] = {
    "c01_one_payment_a_key": [
        (
            "insert into provider_refunds select refund_id || 'x', key, order_id, line_id, amount, currency, status, at"
            f" from provider_refunds where key = '{AUTO}'"
        )
    ],
    "c01_payment_has_row": [f"update provider_refunds set amount = 640 where key = '{AUTO}'"],
    "c01_one_agent_row_a_line": [
        COPY.format(changes=f"'key', '{AUTO}~2', 'generation', 2, 'external_ref', 're_x'", others="")
    ],
    "c02_success_has_record": [f"update provider_refunds set status = 'failed' where key = '{AUTO}'"],
    "c02_cancel_returned_money": [
        COPY.format(changes="'key', 'cancel:1', 'fact', 'cancel:1', 'kind', 'cancel', 'order_id', '1'", others="")
    ],
    "c02_success_has_reference": [
        "alter table ledger.actions drop constraint a_paid_refund_names_its_reference",
        f"update ledger.actions set external_ref = null where key = '{AUTO}'",
    ],
    "c03_never_above_captured": ["update provider_payments set captured = 100"],
    "c04_automatic_refunds_in_window": [
        COPY.format(
            changes="'key', 'p' || i, 'fact', 'p' || i, 'external_ref', 're_x' || i, 'created_at', clock_timestamp()",
            others=", generate_series(1, 3) as planted(i)",
        ),
        (
            "insert into ledger.actions_history (key, version, status, cause, attempts, verdict, policy_version,"
            " policy_reason, at)"
            " select 'p' || i, 1, 'pending', 'proposed', 0, 'auto', 'v', 'r', now() - interval '1 min'"
            " from generate_series(1, 3) as planted(i)"
        ),
    ],
    "c05_approved_is_executed": [f"update ledger.actions set approved_digest = 'another' where key = '{ASKED}'"],
    "c05_decided_by_someone_allowed": ["update approvals.staff set role = 'viewer'"],
    "c06_history_is_whole": [f"update ledger.actions set version = version + 1 where key = '{AUTO}'"],
    "c06_published_once_in_order": [f"update published set log_offset = -log_offset where key = '{AUTO}'"],
    "c06_taken_by_each_group": ["update published set at = at - interval '1 hour'"],
    "c07_told_what_happened": [
        """update gateway.events set data = '{"status": "succeeded", "amount": "640.00",
        "key": "refund:4417028:L2"}' where event = 'action'"""
    ],
    "c08_nothing_hangs": [
        (
            "update ledger.actions set status = 'pending', first_tried_at = clock_timestamp() - interval '1 hour'"
            f" where key = '{AUTO}'"
        )
    ],
    "c08_outboxes_are_empty": ["update ledger.outbox set created_at = created_at - interval '1 hour'"],
    "c09_one_message_a_key": [
        "insert into gateway.idempotency values ('C-1001', 'conv_1', 'another', sha256('x'), 'm1', now())"
    ],
    "c09_events_without_gap": ["delete from gateway.events where event = 'action'"],
    "c09_one_owner": [
        (
            "insert into approvals.handoffs (id, conversation_id, channel, language, owner_version, reason, priority,"
            " queue, status, owner, packet, opened_at)"
            " select 'h' || i, 'conv_1', 'chat', 'en', 1, 'asked', 'standard', 'general',"
            " 'claimed', 'person' || i, '{}', now() from generate_series(1, 2) as planted(i)"
        )
    ],
    "c10_claims_end": [f"update ledger.actions set claim_until = now() where key = '{AUTO}'"],
    "c10_runs_end": [
        "insert into support.conversations (id, channel, language) values ('conv_1', 'chat', 'en')",
        (
            "insert into support.runs (message_id, conversation_id, seq, route, status, work, claimed_by,"
            " claim_expires_at) values ('m1', 'conv_1', 1, 'agent', 'running', '{}', 'gone', now() - interval '1 hour')"
        ),
    ],
    "c10_reservations_are_held": ["update ledger.automatic_money set minor = minor + 1"],
}


def at_the_provider(gateway: Any) -> list[dict[str, Any]]:
    return [{**r, "amount": format_amount(from_minor(r["amount_minor"], r["currency"]), r["currency"])}
            for r in gateway.provider.refunds]  # fmt: skip


async def as_published(conn: Any) -> list[evidence.Published]:
    """The outbox as the topic would hold it."""
    rows = await conn.fetch(
        "select id, event_id, key, payload from ledger.outbox where topic = $1", LEDGER_ACTIONS.name
    )
    bodies, _now = [json.loads(row["payload"]) for row in rows], datetime.now(UTC)
    return [
        evidence.Published(
            0, row["id"], row["event_id"], row["key"], body["version"], body["status"], datetime.now(UTC)
        )
        for row, body in zip(rows, bodies, strict=True)
    ]


@pytest.fixture
async def audited(gateway: Any, database: Any) -> AsyncIterator[Any]:
    """A connection that sees everything, over an automatic, an approved and a refused refund and a told customer."""
    await gateway.refund()
    await gateway.refund("L3", "250.00")
    await gateway.decide(ASKED, 1)
    gateway.provider.faults = ["402"]
    await gateway.refund("L1", "39.00")
    gateway.provider.put_order("4417029", "C-3")
    gateway.provider.faults = ["lost"]
    await gateway.refund("L1", "39.00", order="4417029", session=gateway.session("C-3"))
    await gateway.resume("refund:4417029:L1", "4417029")
    conn = await asyncpg.connect(database.dsn("admin"))
    await db.prepare_connection(conn)
    await conn.execute("""
        insert into approvals.staff (staff, role) values ('dana', 'approver');
        insert into gateway.conversations (id, owner, customer_id, channel)
            values ('conv_1', 'C-1001', 'C-1001', 'chat');
        insert into gateway.messages (id, conversation_id, channel, direction, author, text)
            values ('m1', 'conv_1', 'chat', 'inbound', 'customer', 'x');
        insert into gateway.idempotency values ('C-1001', 'conv_1', 'k', sha256('x'), 'm1', now());
        insert into gateway.events (message_id, seq, conversation_id, position, event, data, writer, owner_version)
            values ('m1', 1, 'conv_1', 1, 'status', '{}', 'agent', 1),
            ('m1', 2, 'conv_1', 2, 'action', '{"status": "succeeded", "amount": "64.00", "currency": "USD",
             "key": "refund:4417028:L2"}', 'agent', 1), ('m1', 3, 'conv_1', 3, 'done', '{}', 'agent', 1)
    """)
    await evidence.prepare(conn, load_policy(packaged_policy()))
    await evidence.put_refunds(conn, at_the_provider(gateway))
    captured = [(order, gateway.provider.minor(order), "USD") for order in ("4417028", "4417029")]
    await evidence.put_payments(conn, captured)
    await evidence.put_published(conn, await as_published(conn))
    yield conn
    await conn.close()


async def broken(conn: Any) -> dict[str, Finding]:
    return {f.checker.name: f for f in await run_checkers(conn, EVERYTHING) if f.offenders}


async def test_a_sound_system_has_no_offenders_and_every_checker_looked_at_something(audited: Any) -> None:
    findings = await run_checkers(audited, EVERYTHING)
    assert [(f.checker.name, f.offenders) for f in findings if f.offenders] == []
    causes = await audited.fetch("select distinct cause from ledger.actions_history")
    assert {row["cause"] for row in causes} >= {"proposed", "settled", "decided", "tried", "claimed", "adopted"}
    idle = {f.checker.name for f in findings if f.looked_at == 0}
    assert idle <= {"c02_cancel_returned_money", "c08_nothing_hangs", "c09_one_owner", "c10_runs_end"}


@pytest.mark.parametrize("name", sorted(PLANTED))
async def test_the_checker_catches_its_planted_bug(audited: Any, name: str) -> None:
    change = audited.transaction()
    await change.start()
    await audited.execute("set local session_replication_role = replica")
    for statement in PLANTED[name]:
        await audited.execute(statement)
    found = await broken(audited)
    await change.rollback()
    assert name in found
    assert await broken(audited) == {}


async def test_the_audit_sees_a_connection_that_idles_in_a_transaction(audited: Any, database: Any) -> None:
    checker = next(c for c in load_checkers() if c.name == "c10_nothing_idles_in_a_transaction")
    idle = await asyncpg.connect(database.dsn("ledger"))
    await idle.execute("begin; select 1 from ledger.actions")
    at_once = checker.sql.replace("interval '30 seconds'", "interval '0 seconds'")
    assert await audited.fetch(at_once)
    await idle.close()


def test_every_checker_has_a_planted_bug_and_every_rule_a_checker() -> None:
    named = {checker.name for checker in load_checkers()}
    assert named - set(PLANTED) == {"c10_nothing_idles_in_a_transaction"}
    assert {checker.rule for checker in load_checkers()} == {f"C{n}" for n in range(1, 11)}


async def test_a_change_the_customer_heard_by_an_answer_need_not_be_taken_to_be_told(audited: Any) -> None:
    await audited.execute("update published set at = at - interval '1 hour'")
    assert "c06_taken_by_each_group" in await broken(audited)
    await audited.execute("update published set untold = false")
    assert "c06_taken_by_each_group" not in await broken(audited)


async def test_old_claims_and_tries_need_no_event_but_an_unpublished_change_is_found(audited: Any) -> None:
    change = audited.transaction()
    await change.start()
    await audited.execute("set local session_replication_role = replica")
    await audited.execute("update ledger.actions_history set at = at - interval '1 hour'")
    assert "c06_published_once_in_order" not in await broken(audited)
    await audited.execute("delete from published where version = (select max(version) from published)")
    assert "c06_published_once_in_order" in await broken(audited)
    await change.rollback()


async def test_the_report_has_a_line_for_each_rule_and_names_offenders(audited: Any) -> None:
    text, clean = report(await run_checkers(audited, EVERYTHING))
    assert clean
    assert [line.split()[0] for line in text.splitlines()] == [f"C{n}" for n in range(1, 11)]
    await audited.execute("update provider_payments set captured = 1")
    text, clean = report(await run_checkers(audited, EVERYTHING))
    assert not clean
    assert "4417028: captured 1, refunded 314.00" in text


async def test_the_topic_is_read_to_its_end(
    gateway: Any, kafka_bootstrap: str, topic_prefix: str, make_topics: Any
) -> None:
    await make_topics([LEDGER_ACTIONS])
    assert await evidence.read_published(kafka_bootstrap, topic_prefix) == []
    await gateway.refund()
    action = await store.load_action(gateway.pool, AUTO)
    assert action is not None
    producer = Producer(kafka_bootstrap, topic_prefix)
    await producer.start()
    await producer.send(
        LEDGER_ACTIONS, AUTO, changed_event(action, "pending", inline=True), event_id="ev_1",
        occurred_at=action.updated_at,
    )  # fmt: skip
    await producer.stop()
    (record,) = await evidence.read_published(kafka_bootstrap, topic_prefix)
    assert (record.event_id, record.key, record.version, record.status) == ("ev_1", AUTO, 2, "succeeded")


def test_a_system_that_is_not_there_is_exit_two(tmp_path: Path, capsys: Any) -> None:
    assert main([]) == 2
    file = tmp_path / "stack.env"
    file.write_text("SANDBOX_URL='http://127.0.0.1:9'\nDATABASE_URL=postgresql://a:b@127.0.0.1:9/x\n")
    assert read_stack(file)["SANDBOX_URL"] == "http://127.0.0.1:9"
    assert main([str(file)]) == 2
    assert "can't be read" in capsys.readouterr().err
