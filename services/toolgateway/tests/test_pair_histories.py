"""Pairs of things that happen at once, one of them cut off somewhere, by seed; then recovery, then every checker."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from aiohttp import ClientError

from common import db
from common.crash import arm, disarm
from common.money import format_amount, from_minor
from toolgateway.audit import evidence
from toolgateway.audit.checkers import run_checkers
from toolgateway.policy import load_policy, packaged_policy

OVERRIDES = {"payments_timeout_s": 0.3, "payments_tries": 1}
POINTS = ("propose.before_commit", "propose.after_commit", "pay.before_call", "pay.after_call", "settle.before_commit",
          "settle.after_commit", "let_go.before_commit", "let_go.after_commit", "resume.claim.after_commit",
          "resume.before_look_up", "resume.after_look_up", "decide.before_commit", "decide.after_commit")  # fmt: skip
# Longer than the claim of these settings: whoever wakes up then has lost its row.
PAST_THE_CLAIM_S = 1.5
FAULTS = ("", "", "", "lost", "500", "409", "429", "402", "hang")
HISTORIES = int(os.environ.get("HISTORIES", "6"))
Deed = Callable[[Any, str, str], Awaitable[Any]]


def session(gateway: Any, customer: str) -> str:
    return str(gateway.session(customer, f"conv_{customer}"))


async def refund(gateway: Any, order: str, customer: str) -> None:
    await gateway.refund("L2", "64.00", order=order, session=session(gateway, customer))


async def part_of_it(gateway: Any, order: str, customer: str) -> None:
    await gateway.refund("L2", "20.00", order=order, session=session(gateway, customer))


async def other_line(gateway: Any, order: str, customer: str) -> None:
    await gateway.refund("L1", "39.00", order=order, session=session(gateway, customer))


async def large_one(gateway: Any, order: str, customer: str) -> None:
    await gateway.refund("L3", "250.00", order=order, session=session(gateway, customer))


async def approve(gateway: Any, order: str, customer: str) -> None:
    await large_one(gateway, order, customer)
    await gateway.decide(f"refund:{order}:L3", 1)


async def reject(gateway: Any, order: str, customer: str) -> None:
    await large_one(gateway, order, customer)
    await gateway.decide(f"refund:{order}:L3", 1, "reject")


async def resume(gateway: Any, order: str, customer: str) -> None:
    await gateway.resume(f"refund:{order}:L2", order)


async def outside(gateway: Any, order: str, customer: str) -> None:
    body = {"order_id": order, "line_id": "L1", "amount_minor": 3900, "currency": "USD"}
    if not any(r["line_id"] == "L1" for r in gateway.provider.moved(order)):
        gateway.provider.record(body, None)


async def person(gateway: Any, order: str, customer: str) -> None:
    about = gateway.staff("lee", "lead", None, customer_id=customer, handoff_id="h1", conversation_id="conv_1")
    args = {"order_id": order, "line_id": "L2", "amount": "64.00", "reason": "damaged"}
    sent = {"args": args, "context": {}}
    await gateway.send("POST", "/v1/tools/issue_refund", sent, service="approvals", X_Staff_Assertion=about)


DEEDS: tuple[Deed, ...] = (refund, part_of_it, other_line, large_one, approve, reject, resume, outside, person)


def cut(rng: random.Random) -> Callable[[], Awaitable[None]]:
    """What happens at the point, once: an error, a cancellation, or a pause that outlives the claim."""
    mode, met = rng.choice(("raise", "cancel", "pause")), asyncio.Event()

    async def happen() -> None:
        if met.is_set():
            return
        met.set()
        if mode == "raise":
            raise ConnectionError("the connection is gone")
        if mode == "pause":
            await asyncio.sleep(PAST_THE_CLAIM_S)
            return
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    return happen


async def whatever(deed: Awaitable[Any]) -> None:
    """The caller sees an error or nothing; the world goes on."""
    try:
        async with asyncio.timeout(8):
            await deed
    except (AssertionError, TimeoutError, OSError, ValueError, ClientError):
        return


async def recover(gateway: Any) -> None:
    """Two reconcilers resume whatever is pending until nothing is."""
    for _ in range(12):
        await gateway.built.parts.background.drain(10)
        rows = await gateway.pool.fetch(
            "select key, order_id, claim_until > clock_timestamp() as held from actions where status = 'pending'"
        )
        if not rows:
            return
        if any(row["held"] for row in rows):
            await asyncio.sleep(PAST_THE_CLAIM_S)
        for row in rows:
            await asyncio.gather(*(whatever(gateway.resume(row["key"], row["order_id"])) for _ in range(2)))
    raise AssertionError("something stays pending")


async def judged(gateway: Any, dsn: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Hold the ledger against the provider's own log with the audit's checkers."""
    conn = await asyncpg.connect(dsn)
    try:
        await db.prepare_connection(conn)
        await conn.execute("insert into approvals.staff (staff, role) values ('dana', 'approver'), ('lee', 'lead')"
                           " on conflict do nothing")  # fmt: skip
        await evidence.prepare(conn, load_policy(packaged_policy()))
        await evidence.put_refunds(conn, [{**r, "amount": format_amount(from_minor(r["amount_minor"], "USD"), "USD")}
                                          for r in gateway.provider.refunds])  # fmt: skip
        orders = {r["order_id"] for r in gateway.provider.refunds}
        await evidence.put_payments(conn, [(order, gateway.provider.minor(order), "USD") for order in orders])
        at_hand = frozenset({"ledger", "limits", "provider", "approvals"})
        return [(f.checker.name, f.offenders) for f in await run_checkers(conn, at_hand) if f.offenders]
    finally:
        await conn.close()


async def one_history(gateway: Any, seed: int) -> str:
    rng, order, customer = random.Random(seed), f"8{seed:06d}", f"C-{seed}"
    gateway.provider.put_order(order, customer)
    gateway.provider.faults = [rng.choice(FAULTS)]
    pair, point = rng.choices(DEEDS, k=2), rng.choice(POINTS)
    arm(point, cut(rng))
    start = asyncio.Barrier(2)

    async def together(deed: Deed) -> None:
        await start.wait()
        await whatever(deed(gateway, order, customer))

    await asyncio.gather(*(together(deed) for deed in pair))
    disarm()
    gateway.provider.faults = []
    await recover(gateway)
    return f"seed {seed}: {pair[0].__name__} beside {pair[1].__name__}, cut at {point}"


async def play(gateway: Any, database: Any, first: int, count: int) -> int:
    for seed in range(first, first + count):
        told = await one_history(gateway, seed)
        assert await judged(gateway, database.dsn("admin")) == [], told
    return count


@pytest.mark.parametrize("overrides", [OVERRIDES])
async def test_a_few_pairs_of_deeds_leave_sound_books(gateway: Any, database: Any, overrides: Any) -> None:
    assert await play(gateway, database, int(os.environ.get("HISTORY_SEED", "20261129")) % 100_000, HISTORIES) > 0


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [OVERRIDES])
async def test_many_pairs_of_deeds_leave_sound_books(gateway: Any, database: Any, overrides: Any) -> None:
    count = int(os.environ.get("HISTORIES", "300"))
    done = await play(gateway, database, int(os.environ.get("HISTORY_SEED", "1")), count)
    print(f"{done} histories, 0 violations")
