"""Every named point of the money path × what can happen there, then recovery, then the provider's log is read."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import ClientError

from common.crash import arm, disarm, record

OVERRIDES = {"payments_timeout_s": 0.3, "payments_tries": 1}
# Claim life of these settings (timeout × tries + 1 s) and a margin: what "paused past the claim" means here.
PAST_THE_CLAIM_S = 1.5
_HELD = "select status, version, claim_until > clock_timestamp() as held from actions where key = $1"
MODES = ("raise", "cancel", "pause")
EXPECTED = {
    "propose.before_commit",
    "propose.after_commit",
    "pay.before_call",
    "pay.after_call",
    "settle.before_commit",
    "settle.after_commit",
    "resume.claim.before_commit",
    "resume.claim.after_commit",
    "resume.before_look_up",
    "resume.after_look_up",
    "let_go.before_commit",
    "let_go.after_commit",
    "decide.before_commit",
    "decide.after_commit",
    "reissue.before_commit",
    "reissue.after_commit",
    "hook.before_commit",
    "hook.after_commit",
}


async def happy_path(gateway: Any, order_id: str) -> None:
    """An automatic refund, a lost answer that is resumed, and an approval: the points all three pass."""
    await gateway.refund("L2", "64.00", order=order_id)
    gateway.provider.faults = ["lost"]
    await gateway.refund("L1", "39.00", order=order_id)
    await gateway.resume(f"refund:{order_id}:L1", order_id)
    await gateway.refund("L3", "250.00", order=order_id)
    await change_and_decide(gateway, order_id)
    await gateway.webhook("refund.updated", {"order_id": order_id}, f"evt_{order_id}")


async def change_and_decide(gateway: Any, order_id: str) -> None:
    """The order moves on before the decision: the first approval is void, the one asked anew holds."""
    key = f"refund:{order_id}:L3"
    gateway.provider.orders[order_id]["address"] = {"line1": "2 Oak Street"}
    await _whatever(gateway.decide(key, 1))
    await _whatever(gateway.decide(key, 2))


def misfortune(mode: str, met: list[str]) -> Callable[[], Awaitable[None]]:
    """What happens at a point, once; ``met`` is how a test knows that it did."""

    async def happen() -> None:
        if met:
            return
        met.append(mode)
        if mode == "raise":
            raise ConnectionError("the connection is gone")
        if mode == "cancel":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(PAST_THE_CLAIM_S)

    return happen


async def survive(gateway: Any, key: str, order_id: str) -> None:
    """Do what a patient world does: ask again, decide again, and let reconcilers (two at once) resume."""
    line, amount = ("L2", "64.00") if key.endswith("L2") else ("L3", "250.00")
    for _ in range(4):
        await gateway.built.parts.background.drain(5)
        row = await gateway.pool.fetchrow(_HELD, key)
        if row is None:
            await gateway.refund(line, amount, order=order_id)
        elif row["status"] == "awaiting_approval":
            await gateway.decide(key, row["version"])
        elif row["status"] == "pending":
            if row["held"]:
                await asyncio.sleep(PAST_THE_CLAIM_S)
            await asyncio.gather(gateway.resume(key, order_id), gateway.resume(key, order_id))
        else:
            return


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("overrides", [OVERRIDES])
async def test_every_point_is_survived_with_one_payment(gateway: Any, overrides: Any, mode: str) -> None:
    # A pause matters most where the claim is held; the slow lane pauses everywhere.
    held = ("pay", "settle") if mode == "pause" else ("",)
    assert await survive_all(gateway, mode, held) >= (4 if mode == "pause" else len(EXPECTED))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("overrides", [OVERRIDES])
async def test_a_pause_past_the_claim_at_every_point_pays_once(gateway: Any, overrides: Any) -> None:
    met = await survive_all(gateway, "pause", ("",))
    print(f"paused at {met} points, {len(gateway.provider.moved())} payments, 0 violations")
    assert met >= len(EXPECTED)


async def survive_all(gateway: Any, mode: str, prefixes: tuple[str, ...]) -> int:
    """Meet ``mode`` at every point with such a prefix; returns at how many."""
    names = record()
    gateway.provider.put_order("7000000")
    await happy_path(gateway, "7000000")
    points = list(dict.fromkeys(names))
    disarm()
    assert set(points) == EXPECTED
    met = [point for point in points if point.startswith(prefixes)]
    for case, point in enumerate(met):
        order_id, customer = f"71{case:05d}", f"C-{case}"
        gateway.provider.put_order(order_id, customer)
        await _meet(gateway, point, mode, order_id, customer)
        keys = [r["idempotency_key"] for r in gateway.provider.moved(order_id)]
        rows = await gateway.pool.fetch("select key, status, claim_until from actions where order_id = $1", order_id)
        assert len(keys) == len(set(keys)), (point, keys)
        assert sorted(keys) == sorted(r["key"] for r in rows if r["status"] == "succeeded"), point
        assert {r["status"] for r in rows} == {"succeeded"}, (point, [dict(r) for r in rows])
        assert all(r["claim_until"] is None for r in rows), "C10: no claim at rest"
    return len(met)


async def _meet(gateway: Any, point: str, mode: str, order_id: str, customer: str) -> None:
    """Run an automatic and an approved refund of ``order_id`` while ``mode`` happens once at ``point``."""
    session, met = gateway.session(customer), list[str]()
    original = gateway.session
    gateway.session = lambda *_, **__: session
    try:
        gateway.provider.faults = ["lost"] if point.startswith(("resume", "let_go")) else []
        arm(point, misfortune(mode, met))
        for line, amount in (("L2", "64.00"), ("L3", "250.00")):
            await _whatever(gateway.refund(line, amount, order=order_id))
        await change_and_decide(gateway, order_id)
        await _whatever(gateway.resume(f"refund:{order_id}:L2", order_id))
        await _whatever(gateway.webhook("refund.updated", {"order_id": order_id}, f"evt_{order_id}"))
        disarm()
        assert met == [mode], f"{point} was never passed"
        for line in ("L2", "L3"):
            await survive(gateway, f"refund:{order_id}:{line}", order_id)
    finally:
        disarm()
        gateway.session = original


async def _whatever(call: Awaitable[Any]) -> None:
    """The caller of a service that breaks sees an error, a closed connection or nothing; it asks again later."""
    try:
        async with asyncio.timeout(5):
            await call
    except (AssertionError, TimeoutError, OSError, ValueError, ClientError):
        return
