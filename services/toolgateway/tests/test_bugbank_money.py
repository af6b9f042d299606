"""Money, limits, database and outbox as other people's bugs met them: each case stands for its whole kind."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import yaml

from common import db
from common.crash import arm, disarm
from common.outbox import Relay
from toolgateway.policy import packaged_policy

ORDER = "5500123"
KEY = f"refund:{ORDER}:L1"
# A crowd on a busy machine waits its turn: here no answer may be too late to count.
ROOMY = {"payments_timeout_s": 10.0}


def put(gateway: Any, *paid: str, currency: str = "USD", captured: int | None = None, names: str = "L") -> None:
    lines = [{"line_id": f"{names}{n}", "title": "x", "quantity": 1, "paid": p} for n, p in enumerate(paid, start=1)]
    gateway.provider.put_order(ORDER, lines=lines, currency=currency)
    if captured is not None:
        gateway.provider.minor = lambda _: captured


async def lead(gateway: Any, line: str, amount: str, tool: str = "issue_refund") -> dict[str, Any]:
    """A lead, whom neither counts nor ceilings hold back: what is left to refuse is what nobody may do."""
    about = gateway.staff("lee", "lead", None, customer_id="C-1001", handoff_id="h1", conversation_id="conv_1")
    args = {"order_id": ORDER, "line_id": line, "amount": amount, "reason": "damaged"}
    sent = {"args": args, "context": {}}
    status, answer = await gateway.send("POST", f"/v1/tools/{tool}", sent, service="approvals", X_Staff_Assertion=about)
    assert status == 200, answer
    return dict(answer)


# ---- what may be refunded ------------------------------------------------------------------------------------------
AMOUNTS: list[tuple[str, str, tuple[str, ...], int | None, list[tuple[str, str]], int]] = [
    ("BB-AMT-01", "EUR", ("1.11",) * 4, 444, [(f"L{n}", "1.11") for n in (1, 2, 3, 4)] + [("L4", "0.01")], 444),
    ("BB-AMT-03", "EUR", ("5.10",), 510, [("L1", "1.25"), ("L1", "3.85")], 510),
    ("BB-AMT-03", "EUR", ("5.10",), 510, [("L1", "1.25"), ("L1", "3.86")], 125),
    ("BB-AMT-04", "USD", ("59.50", "25.50"), 8500, [("L1", "70.00"), ("L1", "59.50")], 5950),
    ("BB-AMT-05", "USD", ("6.67", "6.67", "6.66"), 2000, [("L1", "6.67"), ("L2", "6.67"), ("L3", "6.67")], 1334),
    ("BB-AMT-05", "USD", ("6.67", "6.67", "6.66"), 2000, [("L1", "6.67"), ("L2", "6.67"), ("L3", "6.66")], 2000),
    ("BB-AMT-06", "USD", ("55.50", "6.90"), 6240, [("L1", "62.40"), ("L1", "55.50"), ("L2", "6.90")], 6240),
    ("BB-AMT-10", "USD", ("42.00", "0.00"), 4200, [("L2", "5.00"), ("L2", "0.01"), ("L2", "0.00")], 0),
    ("BB-AMT-13", "USD", ("80.00",), 6770, [("L1", "80.00"), ("L1", "67.71"), ("L1", "67.70")], 6770),
]  # fmt: skip


@pytest.mark.parametrize(("case", "currency", "paid", "captured", "asks", "moved"), AMOUNTS)
async def test_never_more_than_was_paid_for_the_line_or_captured_for_the_order(  # noqa: PLR0917 - a table's columns
    gateway: Any,
    case: str,
    currency: str,
    paid: tuple[str, ...],
    captured: int,
    asks: list[tuple[str, str]],
    moved: int,
) -> None:
    """BB-AMT-01, -03, -04, -05, -06, -10, -13: exact to the minor unit, even when a lead asks."""
    put(gateway, *paid, currency=currency, captured=captured)
    for line, amount in asks:
        await lead(gateway, line, amount)
    assert sum(r["amount_minor"] for r in gateway.provider.moved(ORDER)) == moved


@pytest.mark.parametrize("paid", ["NaN", "Infinity", "-5.00", "6.7", "", "1e3"])
async def test_an_order_whose_amounts_are_no_amounts_is_a_persons_case(gateway: Any, paid: str) -> None:
    """BB-AMT-13: what can't be counted is an error, never 0.00 and never everything."""
    put(gateway, "10.00")
    gateway.provider.orders[ORDER]["lines"][0]["paid"] = paid
    gateway.provider.minor = lambda _: 1000
    answer = await gateway.refund("L1", "1.00", order=ORDER)
    assert answer["status"] in ("handoff", "denied", "invalid")
    assert gateway.provider.moved() == []


# ---- limits under concurrency --------------------------------------------------------------------------------------
@pytest.mark.parametrize("overrides", [ROOMY])
async def test_parallel_refunds_never_add_up_to_more_than_was_captured(gateway: Any, overrides: Any) -> None:
    """BB-LIM-01: twenty lines at once against a payment of which half is left; a barrier proves they overlap."""
    put(gateway, *["10.00"] * 20)
    gateway.provider.record({"order_id": ORDER, "line_id": None, "amount_minor": 10000, "currency": "USD"}, "outside")
    barrier = asyncio.Barrier(20)
    at_once, most = 0, 0

    async def one(n: int) -> str:
        nonlocal at_once, most
        await barrier.wait()
        at_once += 1
        most = max(most, at_once)
        answer = await lead(gateway, f"L{n}", "10.00")
        at_once -= 1
        return str(answer["status"])

    statuses = await asyncio.gather(*(one(n) for n in range(1, 21)))
    assert most == 20
    assert statuses.count("succeeded") == 10
    assert sum(r["amount_minor"] for r in gateway.provider.moved(ORDER)) == 20000


@pytest.fixture
def sums(tmp_path: Path) -> dict[str, Any]:
    policy = yaml.safe_load(packaged_policy().read_text())
    policy["version"] = "2026-11-29.98"
    policy["refund"] |= {"refunds_in_window": 100, "sum_in_window": {"USD": "100.00"}}
    file = tmp_path / "sums.yaml"
    file.write_text(yaml.safe_dump(policy))
    return {"policy_file": file, "payments_tries": 1}


async def resumed(gateway: Any, order: str) -> dict[str, Any]:
    """The row of the order's first line once its claim ran out and a reconciler had it finished."""
    held = "select claim_until > clock_timestamp() from actions where key = $1 and status = 'pending'"
    key = f"refund:{order}:L1"
    while await gateway.pool.fetchval(held, key):  # noqa: ASYNC110 - a claim runs out by the database's clock
        await asyncio.sleep(0.1)
    for _ in range(5):
        await gateway.resume(key, order)
        if (row := await gateway.row(key))["status"] != "pending":
            break
    return dict(row)


class TestSums:
    """A cap on a customer's sum in the window."""

    @pytest.fixture
    def overrides(self, sums: dict[str, Any]) -> dict[str, Any]:
        return sums

    async def test_the_sum_in_the_window_holds_across_orders_while_a_worker_dies(self, gateway: Any) -> None:
        """BB-LIM-02: reserve, then settle or release; a dead worker's share is not given to somebody else."""
        died = asyncio.Event()

        async def die_once() -> None:
            if not died.is_set():
                died.set()
                raise ConnectionError("the worker is gone")

        orders = [f"66000{n:02d}" for n in range(20)]
        lines = [{"line_id": "L1", "title": "x", "quantity": 1, "paid": "20.00"}]
        for order in orders:
            gateway.provider.put_order(order, lines=lines)
        arm("pay.before_call", die_once)
        answers = await asyncio.gather(*(gateway.refund("L1", "20.00", order=order) for order in orders))
        disarm()
        assert died.is_set()
        statuses = [answer["status"] for answer in answers]
        hanging = [order for order, status in zip(orders, statuses, strict=True) if status == "pending"]
        # The dead worker's, and on a busy machine any whose answer came too late: all keep their share.
        assert len(hanging) >= 1
        assert statuses.count("succeeded") + len(hanging) == 5
        assert statuses.count("awaiting_approval") == 15
        await gateway.built.parts.background.drain(5)
        for order in hanging:
            assert (await resumed(gateway, order))["status"] == "succeeded"
        assert len(gateway.provider.moved()) == 5


# ---- one fact, one payment -----------------------------------------------------------------------------------------
async def test_a_replanned_call_and_an_impatient_second_message_read_the_first_row(gateway: Any) -> None:
    """BB-DUP-07, BB-DUP-08: other call ids, runs and messages are the same fact, also while the first is in flight."""
    inside, go = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        inside.set()
        await go.wait()

    put(gateway, "25.00")
    gateway.provider.before_refund = slow
    clean = {"guard": "clean", "intent_confidence": 0.95}
    first = asyncio.create_task(
        gateway.refund("L1", "25.00", order=ORDER, context={**clean, "message_id": "m-1", "run_id": "call_1"})
    )
    await inside.wait()
    again = await gateway.refund(
        "L1", "25.00", order=ORDER, context={**clean, "message_id": "m-2", "run_id": "call_9"},
        session=gateway.session("C-1001", "conv_2"),
    )  # fmt: skip
    assert (again["status"], again["result"]["repeated"], again["result"]["key"]) == ("pending", True, KEY)
    go.set()
    assert (await first)["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


@pytest.mark.parametrize("state", ["claimed", "let go", "settled"])
async def test_two_dispatches_of_one_row_do_the_step_once(gateway: Any, state: str) -> None:
    """BB-DUP-18: whoever finds the row claimed or finished does nothing."""
    put(gateway, "25.00")
    gateway.provider.faults = {"claimed": [], "let go": ["lost"], "settled": []}[state]
    asking = asyncio.create_task(gateway.refund("L1", "25.00", order=ORDER))
    if state != "claimed":
        await asking
    answers = await asyncio.gather(*(gateway.resume(KEY, ORDER) for _ in range(4)), return_exceptions=True)
    await asking
    assert all(isinstance(a, tuple) or state == "claimed" for a in answers)
    await gateway.resume(KEY, ORDER)
    assert (await gateway.row(KEY))["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


@pytest.mark.parametrize("point", ["propose.after_commit", "settle.after_commit", "let_go.after_commit"])
async def test_a_commit_whose_answer_is_lost_is_read_back_as_ones_own(gateway: Any, point: str) -> None:
    """BB-DUP-19: the row is there; asking again reads it instead of failing on its key."""

    async def lose() -> None:
        disarm()
        raise ConnectionError("committed, but who knows")

    put(gateway, "25.00")
    gateway.provider.faults = ["lost"] if point.startswith("let_go") else []
    arm(point, lose)
    await asyncio.gather(gateway.refund("L1", "25.00", order=ORDER), return_exceptions=True)
    await gateway.built.parts.background.drain(5)
    assert await gateway.pool.fetchval("select count(*) from actions") == 1
    await asyncio.sleep(2.0)
    again = await gateway.refund("L1", "25.00", order=ORDER)
    assert again["result"]["repeated"] is True
    await gateway.resume(KEY, ORDER)
    assert (await gateway.row(KEY))["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


async def test_an_approval_is_used_up_by_the_run_it_started(gateway: Any) -> None:
    """BB-APPR-07: a run that crashed after the decision, its resume, and a second use of the same decision pay once."""

    async def die() -> None:
        disarm()
        raise ConnectionError("gone")

    put(gateway, "250.00")
    assert (await gateway.refund("L1", "250.00", order=ORDER))["status"] == "awaiting_approval"
    arm("decide.after_commit", die)
    await asyncio.gather(gateway.decide(KEY, 1), return_exceptions=True)
    assert (await gateway.decide(KEY, 1))[0] == 409
    await asyncio.sleep(2.0)
    assert (await gateway.resume(KEY, ORDER))[1]["status"] == "succeeded"
    assert (await gateway.decide(KEY, 1))[0] == 409
    assert len(gateway.provider.moved()) == 1


# ---- database ------------------------------------------------------------------------------------------------------
async def quiet(gateway: Any) -> None:
    """Nothing idles in a transaction and every connection answers at once."""
    left = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in tr%'"
    assert await gateway.pool.fetchval(left) == 0
    started = time.monotonic()
    await asyncio.gather(*(gateway.pool.fetchval("select pg_sleep(0.01)") for _ in range(10)))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("point", ["propose.before_commit", "settle.before_commit"])
async def test_a_task_cancelled_inside_its_transaction_leaves_no_lock(gateway: Any, point: str) -> None:
    """BB-PG-01: the next worker gets the row's and the customer's locks at once."""

    async def cancel() -> None:
        disarm()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    put(gateway, "25.00", "25.00")
    arm(point, cancel)
    await asyncio.gather(gateway.refund("L1", "25.00", order=ORDER), return_exceptions=True)
    async with asyncio.timeout(2):
        assert (await gateway.refund("L2", "25.00", order=ORDER))["status"] == "succeeded"
    await quiet(gateway)


async def test_a_storm_of_cancellations_drains_no_connection(gateway: Any) -> None:
    """BB-PG-03: three hundred proposals cut off at any await, then the pool is whole."""
    put(gateway, *["1.00"] * 5)
    rng, parts = random.Random(20261129), gateway.built.parts
    from toolgateway.asking import Asker, Context
    from toolgateway.handlers import call_tool

    asker, context = Asker("agent", "C-1001", "conv_1"), Context("clean", 0.95, {})

    async def cut_off(n: int) -> None:
        args = {"order_id": ORDER, "line_id": f"L{n % 5 + 1}", "amount": "1.00", "reason": "damaged"}
        async with asyncio.timeout(rng.uniform(0, 0.02)):
            await call_tool(parts, "issue_refund", args, asker, context)

    for _ in range(10):
        await asyncio.gather(*(cut_off(n) for n in range(30)), return_exceptions=True)
    await parts.background.drain(10)
    assert gateway.pool.get_idle_size() == gateway.pool.get_size()
    await quiet(gateway)
    keys = [r["idempotency_key"] for r in gateway.provider.moved()]
    assert len(keys) == len(set(keys))


# ---- outbox --------------------------------------------------------------------------------------------------------
class Broker:
    """Takes what the relay sends; each event's id, in the order of arrival."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    async def start_send(self, row: Any) -> "asyncio.Future[Any]":
        self.taken.append(row["headers"]["event_id"])
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


async def relayed(gateway: Any, broker: Broker, until: Callable[[], Awaitable[bool]]) -> None:
    relay = asyncio.create_task(Relay(gateway.settings.database_url, "ledger", broker).run())  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(10):
            while not await until():  # noqa: ASYNC110 - the database has no event to wait for
                await asyncio.sleep(0.05)
    finally:
        relay.cancel()
        await asyncio.gather(relay, return_exceptions=True)


INSERT = "insert into outbox (event_id, topic, key, payload, headers) values ($1, 't', $1, '{}', $2)"


async def test_an_event_that_commits_late_under_a_lower_number_is_published(gateway: Any) -> None:
    """BB-OUT-01: the relay goes by what is there, not by the highest number it has seen."""
    late = await asyncpg.connect(gateway.settings.database_url, server_settings={"search_path": "ledger"})
    await db.prepare_connection(late)
    change = late.transaction()
    await change.start()
    await late.execute(INSERT, "early-number", {"event_id": "early-number"})
    await gateway.pool.execute(INSERT, "later-number", {"event_id": "later-number"})
    broker = Broker()

    async def both() -> bool:
        if broker.taken == ["later-number"]:
            await change.commit()
            broker.taken.append("committed")
        return "early-number" in broker.taken

    await relayed(gateway, broker, both)
    assert broker.taken == ["later-number", "committed", "early-number"]
    await late.close()


async def test_a_relay_that_dies_before_its_mark_sends_the_same_id_again(gateway: Any) -> None:
    """BB-OUT-04: the readers' dedupe needs an id that doesn't change."""

    async def die() -> None:
        disarm()
        raise ConnectionResetError("the relay is gone")

    await gateway.pool.execute(INSERT, "ev-1", {"event_id": "ev-1"})
    arm("outbox.after_send", die)
    broker = Broker()

    async def empty() -> bool:
        return await gateway.pool.fetchval("select count(*) from outbox") == 0

    await relayed(gateway, broker, empty)
    assert broker.taken == ["ev-1", "ev-1"]


async def test_row_and_event_are_one_commit(gateway: Any) -> None:
    """BB-OUT-05: rolled back, neither is there; committed, both are."""

    async def die() -> None:
        disarm()
        raise ConnectionError("gone")

    put(gateway, "25.00")
    arm("propose.before_commit", die)
    await asyncio.gather(gateway.refund("L1", "25.00", order=ORDER), return_exceptions=True)
    counts = "select (select count(*) from actions), (select count(*) from outbox), (select count(*) from audit)"
    assert tuple(await gateway.pool.fetchrow(counts)) == (0, 0, 0)
    arm("propose.after_commit", die)
    await asyncio.gather(gateway.refund("L1", "25.00", order=ORDER), return_exceptions=True)
    assert tuple(await gateway.pool.fetchrow(counts))[:2] == (1, 1)
