"""`make demo`: a stack of its own, the tour, the books, and nothing left behind."""

import asyncio
import os
import shlex
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp

from stack import tokens
from stack.demo.clients import Chat, Desk, Ledger, Store
from stack.demo.promises import Promises, disagreements
from stack.demo.tour import CRASH_CUSTOMER, CRASH_ORDER, SCENES, Scenery
from stack.demo_data import customers, orders
from stack.lifecycle import down, up
from stack.servers import forget_data

# Times short enough to watch, in the proportions the reconciler insists on: its threshold stays above
# provider timeout × tries + the claim's life.
_QUICK = {
    "RECONCILER_PENDING_AFTER_S": "9",
    "RECONCILER_EVERY_S": "1",
    "TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "3",
    "TOOLGATEWAY_PAYMENTS_TRIES": "1",
}


def demo(run: Path) -> bool:
    """Plays the tour in `run`, which is emptied first; True when every promise held."""
    down(run)
    forget_data(run)
    for name, value in _QUICK.items():
        os.environ.setdefault(name, value)
    try:
        up(run)
        promises = asyncio.run(_play(run))
    finally:
        down(run)
    sys.stdout.write(f"\n{promises.kept} promises kept, {len(promises.broken)} broken\n")
    sys.stdout.writelines(f"  ✗ {promise}\n" for promise in promises.broken)
    return not promises.broken


def read_stack_file(run: Path) -> dict[str, str]:
    pairs = (shlex.split(line)[0].partition("=") for line in (run / "stack.env").read_text().splitlines() if line)
    return {name: value for name, _, value in pairs}


async def _play(run: Path) -> Promises:
    stack, promises, now = read_stack_file(run), Promises(), datetime.now(UTC)
    keys = Path(stack["KEYS_DIR"])
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90)) as http:
        store, ledger = Store(http, stack["SANDBOX_URL"]), Ledger(stack["DATABASE_URL"])
        await _add_the_crash_customer(store, now)
        scenery = Scenery(
            maya=Chat(http, stack["GATEWAY_URL"], tokens.customer_token(keys, "C-1001", now)),
            amara=Chat(http, stack["GATEWAY_URL"], tokens.customer_token(keys, CRASH_CUSTOMER, now)),
            dana=Desk(http, stack["APPROVALS_URL"], tokens.staff_token(keys, "dana", "approver", now)),
            store=store,
            ledger=ledger,
            pids=Path(stack["PIDS_DIR"]),
            promises=promises,
        )
        for number, scene in enumerate(SCENES, 1):
            sys.stdout.write(f"\n{number}. {scene.__doc__}\n")
            try:
                await scene(scenery)
            except Exception as error:  # noqa: BLE001 - one broken scene must not hide the books
                traceback.print_exc(file=sys.stderr)
                promises.hold("the scene played to its end", kept=False, seen=repr(error))
        await _close_the_books(store, ledger, promises)
    return promises


async def _add_the_crash_customer(store: Store, now: datetime) -> None:
    """A customer without earlier refunds: Maya's third within 30 days would rightly wait for a person."""
    own = {"name": "Amara Okafor", "email": "amara@customers.example", "phone": "+15035550303"}
    amara = customers()["C-1001"] | own
    order = orders(now)["4417028"] | {"customer_id": CRASH_CUSTOMER}
    order["lines"] = [{"line_id": "L1", "title": "Toaster", "quantity": 1, "paid": "45.00"}]
    await store.put(f"customers/{CRASH_CUSTOMER}", amara)
    await store.put(f"orders/{CRASH_ORDER}", order)


async def _close_the_books(store: Store, ledger: Ledger, promises: Promises) -> None:
    rows = await ledger.rows()
    sys.stdout.write("\nLedger\n")
    sys.stdout.writelines(f"   {_line(row)}\n" for row in rows)
    sys.stdout.write("\nMoney really moved, by the payment provider's own list\n")
    items = await store.refunds()
    for item in items:
        what = f"{item['order_id']}:{item['line_id']}"
        sys.stdout.write(f"   {what:<26} {item['amount']:>8} {item['currency']}  {item['refund_id']}\n")
    moved = sum((Decimal(item["amount"]) for item in items), Decimal(0))
    paid = [row["amount"] for row in rows if row["kind"] == "refund" and row["status"] == "succeeded"]
    booked = sum(paid, Decimal(0))
    sys.stdout.write("\nBooks\n")
    wrong = disagreements(rows, items)
    promises.hold("ledger and provider agree, row by row", kept=not wrong, seen="; ".join(wrong) or f"{len(rows)} rows")
    promises.hold("their sums are equal", kept=moved == booked, seen=f"{booked} booked, {moved} moved")


def _line(row: Mapping[str, Any]) -> str:
    amount = f"{row['amount']} {row['currency']}" if row["amount"] is not None else ""
    approved = f" approved by {row['approved_by']}" if row["approved_by"] else ""
    return f"{row['key']:<26} {amount:>12}  {row['status']:<18} {row['verdict']}: {row['policy_reason']}{approved}"
