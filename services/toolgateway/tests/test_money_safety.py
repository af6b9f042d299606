"""Money moves at most once and never past the rules: races, crashes, lost answers and a provider that lies."""

import asyncio
from typing import Any

import pytest

from common.crash import arm, disarm

KEY = "refund:4417028:L2"
# A crowd on a busy machine waits its turn: here no answer may be too late to count.
ROOMY = {"payments_timeout_s": 10.0}


def ten_lines(provider: Any, paid: str = "10.00") -> None:
    lines = [{"line_id": f"L{n}", "title": "Thing", "quantity": 1, "paid": paid} for n in range(10)]
    provider.put_order("5500001", lines=lines)


@pytest.mark.parametrize("overrides", [ROOMY])
async def test_ten_lines_at_once_pay_two_and_queue_eight(gateway: Any, overrides: Any) -> None:
    ten_lines(gateway.provider)
    barrier = asyncio.Barrier(10)

    async def ask(n: int) -> str:
        await barrier.wait()
        return str((await gateway.refund(f"L{n}", "10.00", order="5500001"))["status"])

    statuses = await asyncio.gather(*(ask(n) for n in range(10)))
    assert sorted(statuses) == ["awaiting_approval"] * 8 + ["succeeded"] * 2
    assert len(gateway.provider.moved()) == 2


@pytest.mark.parametrize("overrides", [ROOMY])
async def test_ten_lines_of_ten_orders_pay_two_as_well(gateway: Any, overrides: Any) -> None:
    for n in range(10):
        gateway.provider.put_order(f"55000{n:02d}")
    asks = (gateway.refund("L1", "39.00", order=f"55000{n:02d}") for n in range(10))
    statuses = [answer["status"] for answer in await asyncio.gather(*asks)]
    assert statuses.count("succeeded") == 2
    assert len(gateway.provider.moved()) == 2


async def test_bb_dup_01_twins_at_once_are_one_row_and_one_payment(gateway: Any) -> None:
    inside = asyncio.Event()

    async def overlap() -> None:
        inside.set()
        await asyncio.sleep(0.1)

    gateway.provider.before_refund = overlap
    first = asyncio.create_task(gateway.refund())
    await inside.wait()
    twins = await asyncio.gather(*(gateway.refund() for _ in range(5)))
    assert (await first)["status"] == "succeeded"
    assert {t["status"] for t in twins} <= {"pending", "succeeded"}
    assert all(t["result"]["repeated"] for t in twins)
    assert len(gateway.provider.moved()) == 1
    assert await gateway.pool.fetchval("select count(*) from actions") == 1


async def test_a_second_different_ask_says_what_stands_and_goes_to_a_person(gateway: Any) -> None:
    await gateway.refund("L2", "20.00")
    more = await gateway.refund("L2", "44.00")
    assert more["status"] == "handoff"
    assert more["result"]["amount"] == "20.00"
    assert more["result"]["status"] == "succeeded"
    await gateway.refund("L1", "39.00")
    other = await gateway.refund("L1", "10.00")
    assert (other["status"], other["result"]["amount"]) == ("succeeded", "39.00")
    assert [r["amount_minor"] for r in gateway.provider.moved()] == [2000, 3900]


async def test_what_somebody_refunded_elsewhere_is_gone(gateway: Any) -> None:
    gateway.provider.record({"order_id": "4417028", "line_id": "L2", "amount_minor": 6000, "currency": "USD"}, None)
    for n in range(5):
        gateway.provider.record(
            {"order_id": "4417028", "line_id": "L1", "amount_minor": 1, "currency": "USD"}, f"other-{n}"
        )
    denied = await gateway.refund("L2", "4.01")
    assert (denied["status"], denied["result"]["reason"]) == ("denied", "above_refundable")
    assert (await gateway.refund("L2", "4.00"))["status"] == "succeeded"


@pytest.mark.parametrize("fault", ["lost", "hang", "500"])
async def test_bb_dup_02_an_unknown_outcome_is_pending_and_looked_up_before_any_retry(gateway: Any, fault: str) -> None:
    gateway.provider.faults = [fault]
    assert (await gateway.refund())["status"] == "pending"
    gateway.provider.calls.clear()
    _, row = await gateway.resume(KEY)
    assert row["status"] == "succeeded"
    first_call = gateway.provider.calls[0][0]
    assert first_call == "list"
    assert len(gateway.provider.moved()) == 1
    expected = "adopted" if fault == "lost" else "settled"
    assert (await gateway.history(KEY))[-1] == ("succeeded", expected)


@pytest.mark.parametrize("answers", [["409"], ["429"], ["409", "409", "409"]])
async def test_bb_dup_10_a_key_in_use_means_wait_and_never_failed(gateway: Any, answers: list[str]) -> None:
    gateway.provider.faults = list(answers)
    status = (await gateway.refund())["status"]
    assert status in ("succeeded", "pending")
    _, row = await gateway.resume(KEY)
    assert row["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


async def test_a_definite_refusal_ends_the_row_and_is_not_retried(gateway: Any) -> None:
    gateway.provider.faults = ["402"]
    answer = await gateway.refund()
    assert (answer["status"], answer["result"]["reason"]) == ("failed", "declined")
    again = await gateway.refund()
    assert (again["status"], again["result"]["repeated"]) == ("failed", True)
    assert gateway.provider.calls.count(("refund", KEY)) == 1
    assert await gateway.pool.fetchval("select minor from automatic_money") == 0


async def test_a_mismatch_under_our_key_is_a_persons_case(gateway: Any) -> None:
    gateway.provider.faults = ["mismatch"]
    assert (await gateway.refund())["status"] == "failed"
    assert await gateway.pool.fetchval("select reason from tasks where about = $1", KEY) == "key_mismatch"
    assert gateway.provider.moved() == []


async def test_a_stored_failure_replayed_for_ever_ends_failed_with_a_person(gateway: Any) -> None:
    gateway.provider.faults = ["stored_500"]
    assert (await gateway.refund())["status"] == "pending"
    for _ in range(4):
        assert (await gateway.resume(KEY))[1]["status"] == "pending"
    _, row = await gateway.resume(KEY)
    assert (row["status"], row["last_error"]) == ("failed", "same_failure_again")
    assert (await gateway.history(KEY))[-1] == ("failed", "gave_up")
    [*_, last] = await gateway.events()
    assert (last["status"], last["cause"], last["inline"]) == ("failed", "gave_up", False)
    assert gateway.provider.moved() == []


@pytest.mark.parametrize("overrides", [{"payments_key_retention_s": 0.2, "payments_settle_s": 0.0}])
async def test_bb_dup_11_past_the_safe_age_nothing_is_sent_again(gateway: Any, overrides: Any) -> None:
    gateway.provider.faults = ["hang"]
    await gateway.refund()
    await asyncio.sleep(0.2)
    _, row = await gateway.resume(KEY)
    assert (row["status"], row["last_error"]) == ("failed", "too_old_to_retry")
    assert gateway.provider.calls.count(("refund", KEY)) == 1


@pytest.mark.parametrize("overrides", [{"payments_key_retention_s": 0.2}])
async def test_bb_dup_11_past_the_safe_age_a_refund_that_is_there_is_adopted(gateway: Any, overrides: Any) -> None:
    gateway.provider.faults = ["lost"]
    await gateway.refund()
    gateway.provider.answers.clear()
    await asyncio.sleep(0.2)
    assert (await gateway.resume(KEY))[1]["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


@pytest.mark.parametrize(
    "point",
    ["propose.before_commit", "propose.after_commit", "pay.before_call", "pay.after_call", "settle.before_commit",
     "settle.after_commit"],
)  # fmt: skip
async def test_a_worker_that_dies_anywhere_leaves_one_payment_after_resume(gateway: Any, point: str) -> None:
    async def die() -> None:
        raise ConnectionError("the process is gone")

    arm(point, die)
    async with gateway.http.post(
        f"{gateway.url}/v1/tools/issue_refund",
        json={
            "args": {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"},
            "context": {"guard": "clean", "intent_confidence": 1.0},
        },
        headers={"Authorization": gateway.bearer(), "X-Session-Assertion": gateway.session()},
    ) as answer:
        await answer.read()
    disarm()
    await asyncio.sleep(2.0)
    found = await gateway.pool.fetchval("select status from actions where key = $1", KEY)
    if found is None:
        assert point == "propose.before_commit"
        assert (await gateway.refund())["status"] == "succeeded"
    else:
        _, row = await gateway.resume(KEY)
        assert row["status"] == "succeeded"
        assert (await gateway.refund())["result"]["repeated"] is True
    assert len(gateway.provider.moved()) == 1


async def test_only_the_reconciler_resumes_and_a_statement_beside_its_credential_narrows_it(gateway: Any) -> None:
    await gateway.refund()
    path = "/v1/actions/refund%3A4417028%3AL2/resume"
    assert (await gateway.send("POST", path, service="reconciler"))[0] == 200
    assert (await gateway.send("POST", path, service="agent"))[0] in (401, 403)
    assert (await gateway.resume("refund:4417028:L2", order_id="4417029"))[0] == 404
    unreadable = await gateway.send("POST", path, service="reconciler", X_Job_Assertion="x.y.z")
    assert unreadable[0] == 401


async def test_a_resume_neither_touches_a_claimed_row_nor_starts_a_waiting_one(gateway: Any) -> None:
    await gateway.refund("L3", "250.00")
    status, row = await gateway.resume("refund:4417028:L3")
    assert (status, row["status"], row["resumed"]) == (200, "awaiting_approval", False)
    working = asyncio.Event()

    async def slow() -> None:
        working.set()
        await asyncio.sleep(0.2)

    gateway.provider.before_refund = slow
    running = asyncio.create_task(gateway.refund())
    await working.wait()
    _, row = await gateway.resume(KEY)
    assert (row["status"], row["resumed"]) == ("pending", False)
    assert (await running)["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


async def test_two_reconcilers_on_one_row_make_one_payment(gateway: Any) -> None:
    gateway.provider.faults = ["hang"]
    await gateway.refund()
    results = await asyncio.gather(*(gateway.resume(KEY) for _ in range(4)))
    assert [body["resumed"] for _, body in results].count(True) >= 1
    assert len(gateway.provider.moved()) == 1


async def test_a_refund_the_bank_returns_turns_the_row_failed_with_its_history(gateway: Any) -> None:
    await gateway.refund()
    gateway.provider.refunds[0]["status"] = "failed"
    data = {"order_id": "4417028", "idempotency_key": KEY}
    assert await gateway.webhook("refund.failed", data, "evt_1") == 200
    assert await gateway.webhook("refund.failed", data, "evt_1") == 200
    assert (await gateway.history(KEY))[-2:] == [("succeeded", "settled"), ("failed", "bank_returned")]
    [*_, last] = await gateway.events()
    assert (last["status"], last["previous_status"], last["cause"]) == ("failed", "succeeded", "bank_returned")
    assert (await gateway.refund())["result"]["repeated"] is True
    assert gateway.provider.calls.count(("refund", KEY)) == 1


async def test_bb_dup_14_a_webhook_before_our_commit_makes_no_second_row_or_message(gateway: Any) -> None:
    answered: list[int] = []

    async def early() -> None:
        gateway.provider.before_refund = None
        answered.append(await gateway.webhook("refund.updated", {"order_id": "4417028"}, "evt_early"))

    gateway.provider.before_refund = early
    assert (await gateway.refund())["status"] == "succeeded"
    again = await gateway.webhook("refund.updated", {"order_id": "4417028"}, "evt_early")
    assert again == 200
    assert [e["status"] for e in await gateway.events()] == ["pending", "succeeded"]


async def test_a_refund_the_provider_has_only_accepted_is_pending_until_it_says_more(gateway: Any) -> None:
    gateway.provider.faults = ["pending"]
    assert (await gateway.refund())["status"] == "pending"
    assert (await gateway.resume(KEY))[1]["status"] == "pending"
    gateway.provider.refunds[0]["status"] = "succeeded"
    assert await gateway.webhook("refund.updated", {"order_id": "4417028"}, "evt_2") == 200
    assert (await gateway.history(KEY))[-1] == ("succeeded", "adopted")
    assert gateway.provider.calls.count(("refund", KEY)) == 1


async def test_a_charge_back_after_a_refund_is_a_persons_task(gateway: Any) -> None:
    await gateway.refund()
    assert await gateway.webhook("dispute.created", {"order_id": "4417028"}, "evt_3") == 200
    assert await gateway.pool.fetchval("select reason from tasks where about = '4417028'") == "dispute"


async def test_a_webhook_with_a_wrong_signature_changes_nothing(gateway: Any) -> None:
    await gateway.refund()
    gateway.provider.refunds[0]["status"] = "failed"
    assert await gateway.webhook("refund.failed", {"order_id": "4417028"}, "evt_9", secret="other") == 400
    assert (await gateway.row(KEY))["status"] == "succeeded"


async def test_bb_dup_16_a_disputed_payment_is_never_refunded(gateway: Any) -> None:
    gateway.provider.disputed.add("4417028")
    answer = await gateway.refund()
    assert (answer["status"], answer["result"]["reason"]) == ("handoff", "dispute_open")
    assert gateway.provider.calls.count(("refund", KEY)) == 0


async def test_payment_facts_that_cannot_be_had_send_the_case_to_a_person(gateway: Any) -> None:
    gateway.provider.reads_down = True
    answer = await gateway.refund()
    assert (answer["status"], answer["result"]["reason"]) == ("handoff", "payment_facts_unavailable")
    assert gateway.provider.moved() == []


async def test_deny_and_handoff_write_no_row_so_that_a_later_right_ask_is_judged_anew(gateway: Any) -> None:
    assert (await gateway.refund("L2", "64.01"))["status"] == "denied"
    assert (await gateway.refund("L2", reason="bored"))["status"] == "denied"
    assert await gateway.pool.fetchval("select count(*) from audit where verdict = 'deny'") == 2
    assert (await gateway.refund())["status"] == "succeeded"


async def test_an_absent_word_of_the_guard_or_the_router_counts_at_its_worst(gateway: Any) -> None:
    for context in ({}, {"guard": "clean"}, {"intent_confidence": 1.0}, {"guard": "CLEAN", "intent_confidence": "1"}):
        answer = await gateway.refund(context=context)
        assert answer["status"] == "awaiting_approval", context
    assert await gateway.pool.fetchval("select count(*) from actions") == 1


async def test_bb_amt_16_a_payment_in_another_currency_is_not_refundable(gateway: Any) -> None:
    gateway.provider.put_order("4417028", currency="EUR")
    original = gateway.provider.orders["4417028"]
    gateway.provider.orders["4417028"] = original
    body = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}

    real = gateway.built.parts.facts.money

    async def in_dollars(order_id: str) -> Any:
        from dataclasses import replace

        return replace(await real(order_id), currency="USD")

    object.__setattr__(gateway.built.parts.facts, "money", in_dollars)
    answer = await gateway.tool("issue_refund", body)
    assert (answer["status"], answer["result"]["reason"]) == ("denied", "refundable_unknown")


async def test_an_order_in_a_currency_without_known_decimals_is_a_persons_case(gateway: Any) -> None:
    gateway.provider.put_order("6600009", currency="XXA")
    answer = await gateway.refund("L1", "39.00", order="6600009")
    assert (answer["status"], answer["result"]["reason"]) == ("handoff", "order_unreadable")
    assert (await gateway.tool("get_order", {"order_id": "6600009"}))["status"] == "ok"


async def test_bb_unit_01_yen_and_dinars_travel_in_their_own_minor_units(gateway: Any) -> None:
    lines = [{"line_id": "L1", "title": "x", "quantity": 1, "paid": "5800"}]
    gateway.provider.put_order("6600001", currency="JPY", lines=lines)
    assert (await gateway.refund("L1", "5800", order="6600001"))["status"] == "succeeded"
    assert gateway.provider.moved("6600001")[0]["amount_minor"] == 5800
    lines = [{"line_id": "L1", "title": "x", "quantity": 1, "paid": "18.600"}]
    gateway.provider.put_order("6600002", currency="KWD", lines=lines)
    assert (await gateway.refund("L1", "18.60", order="6600002"))["status"] == "invalid"
    assert (await gateway.refund("L1", "18.600", order="6600002"))["status"] == "succeeded"
    assert gateway.provider.moved("6600002")[0]["amount_minor"] == 18600


async def test_bb_pg_05_a_caller_who_hangs_up_does_not_stop_the_payment(gateway: Any) -> None:
    inside = asyncio.Event()

    async def slow() -> None:
        inside.set()
        await asyncio.sleep(0.2)

    gateway.provider.before_refund = slow
    asking = asyncio.create_task(gateway.refund())
    await inside.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await gateway.built.parts.background.drain(5)
    assert (await gateway.row(KEY))["status"] == "succeeded"
    assert len(gateway.provider.moved()) == 1


async def test_bb_pg_04_no_connection_is_held_while_the_provider_thinks(gateway: Any) -> None:
    waiting: list[int] = []
    go = asyncio.Event()

    async def think() -> None:
        waiting.append(1)
        await go.wait()

    gateway.provider.before_refund = think
    ten_lines(gateway.provider)
    asks = [asyncio.create_task(gateway.refund("L1", "10.00", order="5500001"))]
    asks.append(asyncio.create_task(gateway.refund("L2", "10.00", order="5500001")))
    while len(waiting) < 2:  # noqa: ASYNC110 - two callers of one hook, no event says "both"
        await asyncio.sleep(0.01)
    busy = await gateway.pool.fetchval(
        "select count(*) from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()"
    )
    go.set()
    await asyncio.gather(*asks)
    assert busy == 0
