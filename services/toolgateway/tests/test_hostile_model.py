"""Any sequence of tool calls any model could emit, concurrent and across customers: promises 1 and 2 hold."""

import asyncio
import json
import os
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

CUSTOMERS = ("C-1", "C-2", "C-3")
ORDERS = {f"90000{c}{n}": f"C-{c}" for c in (1, 2, 3) for n in (1, 2)}
LINES = ("L1", "L2", "L3", "L4", "shipping")
AMOUNTS = ("10.00", "64.00", "99.99", "100.00", "100.01", "250.00", "500.01", "0.00", "0.01", "9" * 12, "-5.00", "1e3",
           "NaN", "６4.00", "64.00\n", "10", 64, None, ["64.00"], {"$gt": 0})  # fmt: skip
REASONS = ("damaged", "not_received", "late", "wrong_item", "changed_mind", "", "damaged\n", None)
GUARDS = ("clean", "clean", "clean", "flagged", "down", None, "CLEAN", 1)
FAULTS = ("lost", "500", "409", "429", "402", "stored_500", "mismatch", "pending")
CALLS = int(os.environ.get("HOSTILE_CALLS", "400"))
WAVE = 8


def any_args(rng: random.Random) -> tuple[str, Any]:  # noqa: PLR0911 - one return for each tool
    """Return a tool and arguments: mostly plausible, sometimes anything."""
    order = rng.choice([*ORDERS, *ORDERS, "4417028", "9000011\n", "9000011'--", 9000011, ""])
    extra = rng.choice([{}, {}, {}, {}, {"customer_id": "C-2"}, {"idempotency_key": str(rng.random())}])
    match rng.choice(["refund"] * 6 + ["cancel", "label", "address", "account", "get", "list", "junk"]):
        case "refund":
            return "issue_refund", {"order_id": order, "line_id": rng.choice([*LINES, "L9", "L1~2", "L1:x"]),
                                    "amount": rng.choice(AMOUNTS), "reason": rng.choice(REASONS), **extra}  # fmt: skip
        case "cancel":
            return "cancel_order", {"order_id": order, "reason": "x", **extra}
        case "label":
            return "create_return_label", {"order_id": order, "line_ids": rng.sample(LINES, 2), "reason": "x", **extra}
        case "address":
            address = {"line1": f"{rng.randint(1, 3)} Elm", "city": "c", "postal_code": "1", "country": "US"}
            return "change_address", {"order_id": order, "address": address, **extra}
        case "account":
            return "update_account_field", {"field": rng.choice(["email", "tier"]), "value": "a@b.example", **extra}
        case "get":
            return "get_order", {"order_id": order, **extra}
        case "list":
            return "list_orders", extra
        case _:
            return rng.choice(["issue_refund", "get_order"]), rng.choice([None, [], "x", 5, {"a": [[[]]]}, {}])


def put_world(provider: Any) -> None:
    provider.orders.clear()
    for order_id, customer in ORDERS.items():
        status = "processing" if order_id.endswith("2") else "delivered"
        lines = [{"line_id": n, "title": "t", "quantity": 1, "paid": "250.00" if n == "L3" else "64.00"} for n in LINES]
        provider.put_order(order_id, customer, status=status, lines=lines, note=f"secret of {customer}")


async def one_call(gateway: Any, rng: random.Random) -> tuple[str, dict[str, Any]]:
    customer = rng.choice(CUSTOMERS)
    tool, args = any_args(rng)
    context = {"guard": rng.choice(GUARDS), "intent_confidence": rng.choice([0.99, 0.95, 0.3, None, "1"])}
    _, answer = await gateway.send(
        "POST", f"/v1/tools/{tool}", {"args": args, "context": context},
        X_Session_Assertion=gateway.session(customer, f"conv_{customer}"),
    )  # fmt: skip
    return customer, answer


async def check_world(gateway: Any) -> None:
    """Hold the provider's own log against the ledger and the rules."""
    moved = gateway.provider.moved()
    rows = [dict(r) for r in await gateway.pool.fetch("select * from actions")]
    by_key = {row["key"]: row for row in rows}
    assert max(Counter(r["idempotency_key"] for r in moved).values(), default=0) <= 1, "C1: one payment a fact"
    paid = Counter[tuple[str, str]]()
    for refund in moved:
        row = by_key[refund["idempotency_key"]]
        assert (row["minor_units"], row["order_id"], row["line_id"]) == (
            refund["amount_minor"], refund["order_id"], refund["line_id"],
        )  # fmt: skip
        assert row["customer_id"] == ORDERS[refund["order_id"]], "promise 2: only the owner's"
        assert row["verdict"] == "auto", "nobody approved anything here"
        assert row["amount"] <= Decimal("100.00")
        paid[(refund["order_id"], refund["line_id"])] += refund["amount_minor"]
    assert all(total <= 6400 for (_, line), total in paid.items() if line != "L3"), "C3: never above what was paid"
    for customer in CUSTOMERS:
        auto = [r for r in moved if ORDERS[r["order_id"]] == customer]
        assert len(auto) <= 2, "C4: two automatic refunds in the window"
    listed = {r["refund_id"] for r in moved}
    for row in rows:
        if row["kind"] == "refund" and row["status"] == "succeeded":
            assert row["external_ref"] in listed, "C2: no success without a record"


@pytest.mark.parametrize("seed", [20261129])
async def test_no_sequence_of_calls_breaks_a_promise(gateway: Any, seed: int) -> None:
    rng = random.Random(os.environ.get("HOSTILE_SEED", seed))
    rounds = max(1, CALLS // (10 * WAVE))
    statuses: Counter[str] = Counter()
    for _ in range(rounds):
        put_world(gateway.provider)
        gateway.provider.faults = [rng.choice(["", "", *FAULTS]) for _ in range(20)]
        for _ in range(10):
            answers = await asyncio.gather(*(one_call(gateway, rng) for _ in range(WAVE)))
            for customer, answer in answers:
                statuses[str(answer.get("status"))] += 1
                text = json.dumps(answer)
                assert "secret of" not in text
                assert not any(order in text for order, owner in ORDERS.items() if owner != customer and order in text
                               and answer.get("status") not in ("not_found", "invalid"))  # fmt: skip
        await gateway.built.parts.background.drain(10)
        await check_world(gateway)
    assert statuses["succeeded"] > 0, statuses
    assert statuses["not_found"] > 0, statuses
    assert statuses["invalid"] > 0, statuses


@pytest.mark.slow
async def test_a_hundred_thousand_hostile_calls_break_no_promise(gateway: Any) -> None:
    rng = random.Random(int(os.environ.get("HOSTILE_SEED", "7")))
    calls = int(os.environ.get("HOSTILE_CALLS", "100000"))
    for done in range(0, calls, WAVE):
        if done % (200 * WAVE) == 0:
            put_world(gateway.provider)
            gateway.provider.faults = [rng.choice(["", "", *FAULTS]) for _ in range(40)]
        await asyncio.gather(*(one_call(gateway, rng) for _ in range(WAVE)))
        if done % (1_000 * WAVE) == 0:
            await check_world(gateway)
    await check_world(gateway)
