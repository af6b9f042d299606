"""What is asked before a person takes over never keeps the conversation from them, whatever comes back."""

import asyncio
from typing import Any

import pytest

from agent.core.handoff import HandOver
from agent.loop.handing_over import hand_over

ROW = {"key": "refund:4417028:L2", "kind": "refund", "status": "succeeded", "version": 2}
ODD = [
    "a text",
    {},
    {field: value for field, value in ROW.items() if field != "key"},
    ROW | {"key": None},
    ROW | {"key": []},
    ROW | {"kind": None},
    ROW | {"status": None},
    ROW | {"version": "2"},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_a_ledger_item_that_is_no_row_makes_the_ledger_unread(make_bench: Any, odd: Any) -> None:
    bench = make_bench()
    bench.tools.ledger = {"good": ROW, "odd": odd}
    assert await bench.parts.ledger.load_rows("conv_1") is None


@pytest.mark.parametrize("odd", ODD, ids=str)
async def test_a_row_asked_for_by_its_key_has_to_be_one_too(make_bench: Any, odd: Any) -> None:
    bench = make_bench()

    async def load_action(_key: str) -> Any:
        return odd

    bench.tools.load_action = load_action
    assert await bench.parts.ledger.load_rows("conv_1", ["refund:1:1"]) is None


async def test_who_waits_for_the_ledger_or_a_customer_can_still_be_stopped(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    bench.tools.hanging = True

    async def hang(_conversation_id: str) -> Any:
        await asyncio.Event().wait()

    bench.tools.list_actions = hang
    parts = bench.parts
    for asking in (parts.ledger.load_rows("conv_1"), parts.customers.of_message(make_work().message)):
        task = asyncio.create_task(asking)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("error", [KeyError("assertion"), ValueError("no JSON"), AttributeError("a list")])
async def test_a_run_that_is_given_up_reaches_a_person_past_answers_of_any_shape(
    make_bench: Any, make_work: Any, error: Exception
) -> None:
    bench = make_bench()

    async def fail(*_: Any) -> Any:
        raise error

    bench.tools.load_customer = fail
    bench.tools.ledger = {"odd": {"status": "succeeded"}}
    await bench.arrive(make_work())
    parts, run = bench.parts, await bench.claim()
    over = HandOver("stuck", "5 attempts failed")
    await hand_over(parts.runs, parts.customers, parts.clock, run, over, route="agent", ledger=parts.ledger)
    assert (await bench.done())["handoff"] is True
    packet = await bench.pool.fetchval("select packet from handoffs")
    assert packet["reason"]["rows_current"] is False
    assert "name" in packet["customer"]["not_loaded"]
