"""Any sequence of tool calls any model could emit, concurrent and across customers: promises 1 and 2 hold."""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from aiohttp import ClientOSError

LINES = ("L1", "L2", "L3", "L4", "shipping")
AMOUNTS = ("10.00", "64.00", "99.99", "100.00", "100.01", "250.00", "500.01", "0.00", "0.01", "9" * 12, "-5.00", "1e3",
           "NaN", "６4.00", "64.00\n", "10", 64, None, ["64.00"], {"$gt": 0})  # fmt: skip
REASONS = ("damaged", "not_received", "late", "wrong_item", "changed_mind", "", "damaged\n", None)
GUARDS = ("clean", "clean", "clean", "flagged", "down", None, "CLEAN", 1)
FAULTS = ("lost", "500", "409", "429", "402", "stored_500", "mismatch", "pending")
CALLS = int(os.environ.get("HOSTILE_CALLS", "400"))
WAVE = 8


@dataclass(frozen=True)
class World:
    """Three customers and six orders that nothing was ever asked about: used-up ones would only test twins."""

    epoch: int

    @property
    def owners(self) -> Mapping[str, str]:
        return {f"9{self.epoch:04d}{c}{n}": f"C-{self.epoch}-{c}" for c in (1, 2, 3) for n in (1, 2)}

    @property
    def customers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.owners.values()))

    def put(self, provider: Any) -> None:
        for order_id, customer in self.owners.items():
            status = "processing" if order_id.endswith("2") else "delivered"
            lines = [{"line_id": n, "title": "t", "quantity": 1, "paid": "250.00" if n == "L3" else "64.00"}
                     for n in LINES]  # fmt: skip
            provider.put_order(order_id, customer, status=status, lines=lines, note=f"secret of {customer}")


@dataclass(frozen=True)
class Letters:
    """What the agent service sends along in one epoch, signed once as in a real conversation."""

    service: str
    sessions: Mapping[str, str]

    @classmethod
    def to(cls, gateway: Any, world: World) -> "Letters":
        sessions = {c: gateway.session(c, f"conv_{c}", ttl_s=1800) for c in world.customers}
        return cls(gateway.bearer(ttl_s=1800), sessions)


def any_args(rng: random.Random, world: World) -> tuple[str, Any]:  # noqa: PLR0911 - one return for each tool
    """Return a tool and arguments: mostly plausible, sometimes anything."""
    order = rng.choice([*world.owners, *world.owners, "4417028", "9000011\n", "9000011'--", 9000011, ""])
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


async def one_call(gateway: Any, rng: random.Random, world: World, letters: Letters) -> tuple[str, dict[str, Any]]:
    customer = rng.choice(world.customers)
    if rng.random() < 0.3:
        # A good ask that would run by itself: what races for the limits and really moves money.
        order = next(order for order, owner in world.owners.items() if owner == customer)
        amount, line = rng.choice(["64.00", "10.00"]), rng.choice(["L1", "L2", "L4", "shipping"])
        tool, args = "issue_refund", {"order_id": order, "line_id": line, "amount": amount, "reason": "damaged"}
        context = {"guard": "clean", "intent_confidence": 0.99}
    else:
        tool, args = any_args(rng, world)
        context = {"guard": rng.choice(GUARDS), "intent_confidence": rng.choice([0.99, 0.95, 0.3, None, "1"])}
    for _ in range(3):
        try:
            _, answer = await gateway.send(
                "POST", f"/v1/tools/{tool}", {"args": args, "context": context},
                Authorization=letters.service, X_Session_Assertion=letters.sessions[customer],
            )  # fmt: skip
        except ClientOSError:
            # The server closed a kept connection just as it was used; whether the call arrived is all the same here.
            continue
        except TimeoutError:
            # A machine that stood still: what the call did is judged all the same, only its answer is not read.
            return customer, {"status": "unanswered"}
        return customer, answer
    raise AssertionError("the tool gateway is gone")


def check_money(rows: list[dict[str, Any]], moved: list[dict[str, Any]], owner_of: Mapping[str, str]) -> None:
    """Hold the provider's own log against the ledger and the rules."""
    by_key = {row["key"]: row for row in rows}
    assert max(Counter(r["idempotency_key"] for r in moved).values(), default=0) <= 1, "C1: one payment a fact"
    paid, automatic = Counter[tuple[str, str]](), Counter[str]()
    for refund in moved:
        row = by_key[refund["idempotency_key"]]
        assert (row["minor_units"], row["order_id"], row["line_id"]) == (
            refund["amount_minor"], refund["order_id"], refund["line_id"],
        )  # fmt: skip
        assert row["customer_id"] == owner_of[refund["order_id"]], "promise 2: only the owner's"
        assert row["verdict"] == "auto", "nobody approved anything here"
        assert row["amount"] <= Decimal("100.00")
        paid[(refund["order_id"], refund["line_id"])] += refund["amount_minor"]
        automatic[row["customer_id"]] += 1
    assert all(total <= 6400 for (_, line), total in paid.items() if line != "L3"), "C3: never above what was paid"
    assert max(automatic.values(), default=0) <= 2, "C4: two automatic refunds in the window"
    listed = {r["refund_id"] for r in moved}
    for row in rows:
        if row["kind"] == "refund" and row["status"] == "succeeded":
            assert row["external_ref"] in listed, "C2: no success without a record"


async def one_epoch(gateway: Any, rng: random.Random, world: World, waves: int) -> Counter[str]:
    """Let a fresh world be called in waves of concurrent calls; nobody may see another's order in any answer."""
    world.put(gateway.provider)
    letters, before = Letters.to(gateway, world), len(gateway.provider.refunds)
    gateway.provider.faults = [rng.choice(["", "", *FAULTS]) for _ in range(10)]
    statuses: Counter[str] = Counter()
    for _ in range(waves):
        for customer, answer in await asyncio.gather(*(one_call(gateway, rng, world, letters) for _ in range(WAVE))):
            statuses[str(answer.get("status"))] += 1
            text = json.dumps(answer)
            assert "secret of" not in text
            others = (order for order, owner in world.owners.items() if owner != customer)
            assert answer.get("status") in ("not_found", "invalid") or not any(order in text for order in others)
    await gateway.built.parts.background.drain(10)
    rows = await gateway.pool.fetch("select * from actions where customer_id = any($1)", list(world.customers))
    moved = [r for r in gateway.provider.refunds[before:] if r["status"] != "failed"]
    check_money([dict(r) for r in rows], moved, world.owners)
    return statuses


async def many_epochs(gateway: Any, rng: random.Random, calls: int, waves: int) -> Counter[str]:
    """Let one world after another be called, and at the end hold the whole log against the whole ledger once more."""
    statuses: Counter[str] = Counter()
    owner_of: dict[str, str] = {}
    for epoch in range(max(1, calls // (waves * WAVE))):
        world = World(epoch)
        statuses += await one_epoch(gateway, rng, world, waves)
        owner_of |= world.owners
        # The careless store lists everybody's orders: two worlds are enough to tell them apart, hundreds only cost.
        for order in World(epoch - 1).owners if epoch else ():
            del gateway.provider.orders[order]
        if epoch % 50 == 0:
            print(epoch, dict(statuses), len(gateway.provider.moved()), flush=True)
    rows = await gateway.pool.fetch("select * from actions")
    check_money([dict(r) for r in rows], gateway.provider.moved(), owner_of)
    return statuses


@pytest.mark.parametrize("seed", [20261129])
async def test_no_sequence_of_calls_breaks_a_promise(gateway: Any, seed: int) -> None:
    rng = random.Random(int(os.environ.get("HOSTILE_SEED", seed)))
    statuses = await many_epochs(gateway, rng, CALLS, waves=10)
    assert statuses["succeeded"] > 0, statuses
    assert statuses["not_found"] > 0, statuses
    assert statuses["invalid"] > 0, statuses
    assert gateway.provider.moved(), "money moved, or nothing was tried"


@pytest.mark.slow
# Ten minutes on a machine of its own, an hour on a shared one.
@pytest.mark.timeout(7200)
# A lost answer is waited for a few thousand times here: briefly.
@pytest.mark.parametrize("overrides", [{"payments_timeout_s": 0.1, "payments_tries": 1}])
async def test_a_hundred_thousand_hostile_calls_break_no_promise(gateway: Any, overrides: Any) -> None:
    rng = random.Random(int(os.environ.get("HOSTILE_SEED", "7")))
    calls = int(os.environ.get("HOSTILE_CALLS", "100000"))
    statuses = await many_epochs(gateway, rng, calls, waves=25)
    print("calls", sum(statuses.values()), dict(statuses), "payments", len(gateway.provider.moved()), "0 violations")
    assert sum(statuses.values()) >= min(calls, 100_000)
    assert statuses["unanswered"] <= calls / 100
