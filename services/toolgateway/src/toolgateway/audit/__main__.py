"""``python -m toolgateway.audit <stack.env>``: hold a running system's databases, topic and provider against C1–C10.

Prints one line a rule and one for each offender; exit 1 on any violation, 2 when the system can't be read.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
from aiokafka.errors import KafkaError

from common import db
from common.errors import Verdict
from common.http import ServiceClient
from toolgateway.audit import evidence
from toolgateway.audit.checkers import Finding, load_checkers, run_checkers
from toolgateway.audit.stack_file import read_stack
from toolgateway.policy import load_policy, packaged_policy

_SHOWN = 20
_ALL = frozenset({"ledger", "gateway", "support", "approvals", "limits", "kafka", "provider"})


async def audit(stack: Mapping[str, str]) -> list[Finding]:
    """Gather the evidence of the system that ``stack`` names and run every checker."""
    conn = await asyncpg.connect(stack["DATABASE_URL"], server_settings={"application_name": "audit"})
    try:
        await db.prepare_connection(conn)
        # The snapshot first: whatever it calls succeeded, the provider and the topic have by the time they are read.
        async with conn.transaction(isolation="repeatable_read"):
            await evidence.prepare(conn, load_policy(packaged_policy()))
            await _put_provider(conn, stack["SANDBOX_URL"])
            published = await evidence.read_published(stack["KAFKA_BOOTSTRAP"], stack.get("TOPIC_PREFIX", ""))
            await evidence.put_published(conn, published)
            return await run_checkers(conn, _ALL)
    finally:
        await conn.close()


async def _put_provider(conn: db.Connection, sandbox_url: str) -> None:
    client = ServiceClient(sandbox_url, timeout_s=30.0)
    try:
        refunds = await _get(client, "/_sandbox/refunds")
        orders = sorted({str(refund["order_id"]) for refund in refunds})
        payments = [(order, await _get(client, f"/payments/v1/payments/{quote(order, safe='')}")) for order in orders]
    finally:
        await client.close()
    await evidence.put_refunds(conn, refunds)
    await evidence.put_payments(conn, [(o, p["captured_minor"], p["currency"]) for o, p in payments])


async def _get(client: ServiceClient, path: str) -> Any:
    reply = await client.call("GET", path)
    if reply.status != 200:
        raise OSError(f"{path} answered {reply.status}")
    return reply.body


def report(findings: list[Finding]) -> tuple[str, bool]:
    """Return the report and whether it is clean: a line for each rule, then its offenders."""
    lines, clean = [], True
    for rule in sorted({checker.rule for checker in load_checkers()}, key=lambda rule: int(rule[1:])):
        mine = [finding for finding in findings if finding.checker.rule == rule]
        bad = sum(len(finding.offenders) for finding in mine)
        clean = clean and not bad
        looked = ", ".join(f"{finding.checker.name[4:]} {finding.looked_at}" for finding in mine)
        lines.append(f"{rule:<4} {'ok' if not bad else 'BROKEN':<7} {bad} violations; looked at: {looked}")
        for finding in mine:
            lines += [f"     {finding.checker.name[4:]}: {who}: {why}" for who, why in finding.offenders[:_SHOWN]]
    return "\n".join(lines), clean


def main(arguments: list[str]) -> int:
    """Audit the system of the file named; returns the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text, clean = report(asyncio.run(audit(read_stack(Path(arguments[0])))))
    except (OSError, TimeoutError, KeyError, Verdict, KafkaError, asyncpg.PostgresError) as e:
        print(f"audit: the system can't be read: {type(e).__name__}: {e}", file=sys.stderr)
        return 2
    print(text)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
