"""The real process on real Kafka: killed at every named point, restarted, resumed; and its events arrive."""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientError
from aiokafka import AIOKafkaConsumer

from common.stopping import GRACE_S
from common.topics import ACCOUNTS_CHANGED, APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS
from toolgateway.audit.evidence import read_published

KEY = "refund:4417028:L2"
# A machine that does much else starts a process in this time.
START_WITHIN_S = 90


@asynccontextmanager
async def process(gateway: Any, environment: dict[str, str], crash_at: str = "") -> AsyncIterator[Any]:
    """Run ``python -m toolgateway`` on a port of its own and point ``gateway`` at it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolgateway",
        env={**os.environ, **environment, "TOOLGATEWAY_PORT": str(port), "CRASH_POINT": crash_at},
        stderr=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    url, gateway.url = gateway.url, f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(START_WITHIN_S):
            while not await _ready(gateway):  # noqa: ASYNC110 - another process has no event to wait for
                await asyncio.sleep(0.1)
        yield running
    finally:
        gateway.url = url
        if running.returncode is None:
            running.terminate()
        await running.wait()


async def _ready(gateway: Any) -> bool:
    try:
        async with gateway.http.get(f"{gateway.url}/readyz") as answer:
            return bool(answer.status == 200)
    except ClientError:
        return False


@pytest.fixture
async def environment(
    gateway: Any, kafka_bootstrap: str, redis_url: str, topic_prefix: str, make_topics: Any
) -> dict[str, str]:
    await make_topics([ACCOUNTS_CHANGED, APPROVALS_DECIDED, APPROVALS_REQUESTED, LEDGER_ACTIONS])
    settings = gateway.settings
    return {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "REDIS_URL": redis_url,
        "TOPIC_PREFIX": topic_prefix,
        "KEYS_DIR": str(settings.keys_dir),
        "TOOLGATEWAY_DATABASE_URL": settings.database_url,
        "TOOLGATEWAY_COMMERCE_URL": settings.commerce_url,
        "TOOLGATEWAY_PAYMENTS_URL": settings.payments_url,
        "TOOLGATEWAY_APPROVALS_URL": settings.approvals_url,
        "TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "0.4",
        "TOOLGATEWAY_PAYMENTS_TRIES": "1",
        "TOOLGATEWAY_PAYMENTS_WEBHOOK_SECRET": settings.payments_webhook_secret,
    }


@pytest.mark.parametrize("point", ["pay.before_call", "pay.after_call", "settle.before_commit"])
async def test_killed_in_mid_payment_and_resumed_it_has_paid_once(
    gateway: Any, environment: dict[str, str], topic_prefix: str, kafka_bootstrap: str, point: str
) -> None:
    async with process(gateway, environment, crash_at=point) as first:
        with pytest.raises(ClientError):
            await gateway.refund()
        assert await first.wait() == -9
    assert (await gateway.row(KEY))["status"] == "pending"
    await asyncio.sleep(1.5)
    async with process(gateway, environment):
        _, row = await gateway.resume(KEY)
        assert row["status"] == "succeeded"
        assert (await gateway.refund())["result"]["repeated"] is True
        assert await _statuses(f"{topic_prefix}{LEDGER_ACTIONS.name}", kafka_bootstrap, 2) == ["pending", "succeeded"]
    assert len(gateway.provider.moved()) == 1


async def test_stopped_in_mid_payment_it_ends_the_payment_and_leaves_within_its_grace(
    gateway: Any, environment: dict[str, str]
) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        reached.set()
        await go_on.wait()

    gateway.provider.before_refund = hold
    async with process(gateway, environment | {"TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "30"}) as running:
        asking = asyncio.create_task(whatever(gateway.refund()))
        await asyncio.wait_for(reached.wait(), 20)
        running.terminate()
        began = time.monotonic()
        await asking
        go_on.set()
        assert await asyncio.wait_for(running.wait(), GRACE_S) == 0
        assert time.monotonic() - began < GRACE_S
    assert (await gateway.row(KEY))["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


# Every point of the money path (test_crash_points compares them with what is passed) and the relay's own.
POINTS = ("propose.before_commit", "propose.after_commit", "pay.before_call", "pay.after_call", "settle.before_commit",
          "settle.after_commit", "let_go.before_commit", "let_go.after_commit", "resume.claim.before_commit",
          "resume.claim.after_commit", "resume.before_look_up", "resume.after_look_up", "decide.before_commit",
          "decide.after_commit", "reissue.before_commit", "reissue.after_commit", "hook.before_commit",
          "hook.after_commit", "outbox.before_send", "outbox.after_send", "outbox.after_mark")  # fmt: skip
# The claim of these settings (0.4 s × 1 try + 1 s) and a margin.
PAST_THE_CLAIM_S = 1.6


async def whatever(call: Awaitable[Any]) -> None:
    """A caller of a process that dies sees an error or nothing."""
    try:
        async with asyncio.timeout(6):
            await call
    except (AssertionError, TimeoutError, OSError, ValueError, ClientError):
        return


async def everything(gateway: Any, order: str, customer: str) -> None:
    """An automatic refund, a lost answer resumed, an approval voided and asked anew, and a webhook."""
    session = gateway.session(customer, f"conv_{customer}")
    await whatever(gateway.refund("L2", "64.00", order=order, session=session))
    gateway.provider.faults = ["lost"]
    await whatever(gateway.refund("L1", "39.00", order=order, session=session))
    gateway.provider.faults = []
    await whatever(gateway.resume(f"refund:{order}:L1", order))
    await whatever(gateway.refund("L3", "250.00", order=order, session=session))
    gateway.provider.orders[order]["address"] = {"line1": "2 Oak Street"}
    await whatever(gateway.decide(f"refund:{order}:L3", 1))
    await whatever(gateway.decide(f"refund:{order}:L3", 2))
    await whatever(gateway.webhook("refund.updated", {"order_id": order}, f"evt_{order}"))


async def patience(gateway: Any, order: str, customer: str) -> None:
    """Ask, resume and decide again until every line has ended."""
    session = gateway.session(customer, f"conv_{customer}")
    for line, amount in (("L2", "64.00"), ("L1", "39.00"), ("L3", "250.00")):
        key = f"refund:{order}:{line}"
        for _ in range(6):
            row = await gateway.pool.fetchrow("select status, version from actions where key = $1", key)
            if row is None:
                await gateway.refund(line, amount, order=order, session=session)
            elif row["status"] == "awaiting_approval":
                await gateway.decide(key, row["version"])
            elif row["status"] == "pending":
                await asyncio.sleep(PAST_THE_CLAIM_S)
                await asyncio.gather(gateway.resume(key, order), gateway.resume(key, order))
            else:
                break
    await gateway.webhook("refund.updated", {"order_id": order}, f"evt_{order}")


async def live_until_it_dies(gateway: Any, case: int, first: Any) -> dict[str, str]:
    """Let customers live through everything until the process met its point; returns each one's order.

    One is enough, unless a busy machine takes longer than these short settings allow and the point is not passed.
    """
    customers: dict[str, str] = {}
    for attempt in range(10):
        order, customer = f"72{case:03d}{attempt:02d}", f"C-{case}-{attempt}"
        gateway.provider.put_order(order, customer)
        customers[order] = customer
        await everything(gateway, order, customer)
        try:
            async with asyncio.timeout(5):
                assert await first.wait() == -9
        except TimeoutError:
            continue
        return customers
    raise AssertionError(f"{POINTS[case]} was never passed")


async def check_order(gateway: Any, order: str, point: str, records: list[Any]) -> None:
    """Every line was paid once, every row is at rest, and every change was published, each under one id."""
    rows = await gateway.pool.fetch("select key, status, claim_until from actions where order_id = $1", order)
    paid = [refund["idempotency_key"] for refund in gateway.provider.moved(order)]
    assert sorted(paid) == sorted(row["key"] for row in rows), point
    assert len(paid) == 3, point
    assert {(row["status"], row["claim_until"]) for row in rows} == {("succeeded", None)}, point
    published = [r for r in records if r.key in set(paid)]
    told = await gateway.pool.fetch(
        "select key, version from actions_history where key = any($1) and cause not in ('claimed', 'tried')", paid
    )
    assert {(r.key, r.version) for r in published} == {(row["key"], row["version"]) for row in told}, point
    assert len({r.event_id for r in published}) == len({(r.key, r.version) for r in published}), point


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_killed_at_every_point_it_pays_once_and_publishes_every_change(
    gateway: Any, environment: dict[str, str], topic_prefix: str, kafka_bootstrap: str
) -> None:
    for case, point in enumerate(POINTS):
        print(point, flush=True)
        async with process(gateway, environment, crash_at=point) as first:
            customers = await live_until_it_dies(gateway, case, first)
        async with process(gateway, environment):
            for order, customer in customers.items():
                await patience(gateway, order, customer)
            while await gateway.pool.fetchval("select count(*) from outbox"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        for order in customers:
            await check_order(gateway, order, point, await read_published(kafka_bootstrap, topic_prefix))
    print(f"killed at {len(POINTS)} points, {len(gateway.provider.moved())} payments, 0 violations")


async def _statuses(topic: str, bootstrap: str, count: int) -> list[str]:
    """Return the statuses of the first ``count`` events; one that a dying relay sent twice has the same id twice."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    seen: dict[bytes, str] = {}
    try:
        async with asyncio.timeout(20):
            while len(seen) < count:
                record = await consumer.getone()
                seen[dict(record.headers)["event_id"]] = json.loads(record.value or b"{}")["status"]
    finally:
        await consumer.stop()
    return list(seen.values())
