"""``python -m toolgateway.books check|compare|rebuild|export``: the ledger against the provider, and for auditors.

check               the ledger against the rules of the audit that it alone can answer; exit 1 when one is broken
compare             open a task for money without a row, and for a row without money; exit 1 when there is any
rebuild             after a restore: write back the rows of refunds that the provider has made under our keys;
                    throw the switch to ``stop`` before and back afterwards
export csv|jsonl    every row, to standard output
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from common import db
from common.clock import SystemClock
from common.money import from_minor
from toolgateway.adapters import operations, store
from toolgateway.adapters.payments import Payments, ProviderRefund
from toolgateway.app import build
from toolgateway.audit import evidence
from toolgateway.audit.checkers import run_checkers
from toolgateway.comparing import compare
from toolgateway.core.actions import ledger_columns
from toolgateway.core.books import csv_text, read_refund_key
from toolgateway.core.digests import approval_digest, canonical_json
from toolgateway.facts import Facts
from toolgateway.policy import load_policy, packaged_policy
from toolgateway.settings import Settings

_COLUMNS = [
    "key", "kind", "customer_id", "conversation_id", "order_id", "line_id", "amount", "currency", "status", "verdict",
    "policy_version", "policy_reason", "approved_by", "external_ref", "attempts", "created_at", "updated_at", "version",
]  # fmt: skip


async def rebuild(pool: db.Database, payments: Payments, facts: Facts) -> list[str]:
    """Write back, as succeeded, the row of every effective refund under our key that has none; returns keys."""
    written = []
    for refund in await payments.list_all_refunds():
        parts = read_refund_key(refund.key) if refund.key and refund.status == "succeeded" else None
        if parts is None or refund.key is None or await store.load_action(pool, refund.key):
            continue
        order = await facts.order(refund.order_id)
        if order is None:
            await operations.open_task(pool, refund.refund_id, "money_without_row", {"order_id": refund.order_id})
            continue
        new = _rebuilt(refund, refund.key, parts, order.customer_id)

        async def inside(conn: db.Connection, new: store.NewAction = new) -> None:
            await store.publish(conn, await store.insert_action(conn, new), None, inline=True)
            await operations.save_audit(conn, "rebuild", "operator", customer_id=new.customer_id, order_id=new.order_id)

        await store.committed(pool, "rebuild", inside)
        written.append(refund.key)
    return written


async def export(pool: db.Database, form: str) -> str:
    """Return every row as ``csv`` (safe to open in a spreadsheet) or ``jsonl`` (exact)."""
    rows = [ledger_columns(row) for row in await store.list_all(pool)]
    if form == "csv":
        return csv_text(_COLUMNS, rows)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rebuilt(refund: ProviderRefund, key: str, parts: tuple[str, str, str, int], customer_id: str) -> store.NewAction:
    fact, order_id, line_id, generation = parts
    amount = from_minor(refund.amount_minor, refund.currency)
    args = {"order_id": order_id, "line_id": line_id, "amount": str(amount), "reason": "rebuilt"}
    facts: dict[str, Any] = {"order": {}, "rebuilt_from": refund.refund_id}
    bound = {"key": key, "generation": generation, "kind": "refund", "customer_id": customer_id,
             "currency": refund.currency, "args": args, "policy_version": "rebuilt", "facts": facts}  # fmt: skip
    return store.NewAction(
        key=key,
        fact=fact,
        n=1,
        generation=generation,
        kind="refund",
        customer_id=customer_id,
        conversation_id=None,
        order_id=order_id,
        line_id=line_id,
        amount=amount,
        currency=refund.currency,
        minor_units=refund.amount_minor,
        args=args,
        request=canonical_json({"rebuilt_from": refund.refund_id}),
        status="succeeded",
        verdict="staff",
        policy_version="rebuilt",
        policy_reason="rebuilt",
        approved_by="operator",
        external_ref=refund.refund_id,
        requested_by="operator",
        requested_staff="operator",
        facts=facts,
        digest=approval_digest(version=1, minor_units=refund.amount_minor, **bound),  # type: ignore[arg-type]
        context={},
        leads_only=False,
        expires_s=None,
        claim_s=None,
        reserved_hour=None,
        cause="rebuilt",
    )


async def _compare(pool: db.Database, payments: Payments, _: Facts) -> int:
    strays = await compare(pool, payments)
    for stray in strays:
        print(json.dumps({"about": stray.about, "reason": stray.reason, **stray.details}))
    return 1 if strays else 0


async def _check(pool: db.Database, _: Payments, __: Facts) -> int:
    async with pool.acquire() as conn:
        await evidence.prepare(conn, load_policy(packaged_policy()))
        findings = await run_checkers(conn, frozenset({"ledger", "limits"}))
    broken = [finding for finding in findings if finding.offenders]
    for finding in broken:
        print(json.dumps({"rule": finding.checker.title, "offenders": finding.offenders[:20]}))
    return 1 if broken else 0


async def _rebuild(pool: db.Database, payments: Payments, facts: Facts) -> int:
    print("\n".join(await rebuild(pool, payments, facts)))
    return 0


async def main(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    commands: dict[str, Callable[[db.Database, Payments, Facts], Awaitable[int]]] = {
        "check": _check,
        "compare": _compare,
        "rebuild": _rebuild,
    }
    settings = Settings()
    pool = await db.open_pool(settings.database_url, "ledger", min_size=1, max_size=2)
    built = build(settings, pool, SystemClock())
    try:
        match arguments:
            case ["export", "csv" | "jsonl" as form]:
                sys.stdout.write(await export(pool, form))
                return 0
            case [command] if command in commands:
                return await commands[command](pool, built.payments, built.parts.facts)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    finally:
        await built.close()
        await pool.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
