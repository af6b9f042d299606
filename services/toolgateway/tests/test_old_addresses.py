"""A changed email or phone is told to the old address: once, whatever dies in between, and never when it failed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import ClientError

from common.crash import arm, disarm

TOPIC = "accounts.changed.v1"
KEY = "account_change:C-1001:email:1"
OLD, NEW = "maya@example.com", "maya.new@example.com"
QUICK = {"payments_timeout_s": 0.2, "payments_tries": 1}
# The claim of these settings (0.2 s × 1 try + 1 s) and a margin.
PAST_THE_CLAIM_S = 1.3
pytestmark = pytest.mark.parametrize("overrides", [QUICK], ids=["quick"])


async def change(gateway: Any, value: str = NEW, field: str = "email", **context: Any) -> dict[str, Any]:
    session = gateway.session("C-1001", "conv_1", "otp")
    context = {"guard": "clean", "intent_confidence": 0.95, **context}
    answer: dict[str, Any] = await gateway.tool(
        "update_account_field", {"field": field, "value": value}, context=context, session=session
    )
    return answer


async def resume(gateway: Any, key: str = KEY) -> Any:
    return (await gateway.resume(key, "C-1001", "account_change"))[1]


async def kept(gateway: Any) -> int:
    count: int = await gateway.pool.fetchval("select count(*) from old_addresses")
    return count


async def test_the_old_address_is_told_in_the_customers_own_language(gateway: Any) -> None:
    gateway.provider.customers["C-1001"] |= {"locale": "es-MX", "phone": "+15550001"}
    assert (await change(gateway, language="fr"))["status"] == "succeeded"
    [event] = await gateway.events(TOPIC)
    assert event["tell"] == [{"channel": "email", "address": OLD}]
    assert (event["key"], event["field"], event["locale"], event["conversation_id"]) == (
        KEY,
        "email",
        "es-MX",
        "conv_1",
    )
    assert NEW not in str(event)
    assert await kept(gateway) == 0, "an address is kept no longer than its change takes"

    assert (await change(gateway, "+15559999", "phone", language="fr"))["status"] == "succeeded"
    told = (await gateway.events(TOPIC))[1]
    assert {(a["channel"], a["address"]) for a in told["tell"]} == {("whatsapp", "+15550001"), ("email", NEW)}


async def test_without_a_language_of_the_stores_the_conversations_is_meant(gateway: Any) -> None:
    await change(gateway, language="de")
    assert [e["locale"] for e in await gateway.events(TOPIC)] == ["de"]


async def test_asked_twice_it_is_told_once_and_changed_back_it_is_told_there(gateway: Any) -> None:
    await asyncio.gather(change(gateway), change(gateway), change(gateway))
    assert (await change(gateway))["result"]["repeated"] is True
    assert len(await gateway.events(TOPIC)) == 1
    assert (await change(gateway, OLD))["status"] == "succeeded"
    assert [e["tell"][0]["address"] for e in await gateway.events(TOPIC)] == [OLD, NEW]


async def test_what_leaves_the_record_as_it_was_tells_nobody(gateway: Any) -> None:
    assert (await change(gateway, OLD))["status"] == "succeeded"
    assert (await change(gateway, "Maya Lopez", "name"))["status"] == "succeeded"
    assert await gateway.events(TOPIC) == []


async def test_a_refused_change_tells_nobody(gateway: Any) -> None:
    gateway.provider.patch_faults = ["refuse"]
    assert (await change(gateway))["status"] == "failed"
    assert await gateway.events(TOPIC) == []
    assert await kept(gateway) == 0


async def test_without_step_up_nothing_is_changed_and_nothing_told(gateway: Any) -> None:
    answer = await gateway.tool("update_account_field", {"field": "email", "value": NEW})
    assert answer["status"] == "denied"
    assert (await gateway.events(TOPIC), await kept(gateway)) == ([], 0)


async def test_while_the_old_address_cant_be_read_the_account_isnt_changed(gateway: Any) -> None:
    gateway.provider.customer_reads_down = True
    assert (await change(gateway))["status"] == "pending"
    assert gateway.provider.customers["C-1001"]["email"] == OLD
    assert [c for c in gateway.provider.calls if c[0] == "patch"] == []
    gateway.provider.customer_reads_down = False
    await asyncio.sleep(PAST_THE_CLAIM_S)
    assert (await resume(gateway))["status"] == "succeeded"
    assert [e["tell"][0]["address"] for e in await gateway.events(TOPIC)] == [OLD]


async def test_a_lost_answer_is_settled_by_looking_and_the_address_from_before_is_told(gateway: Any) -> None:
    gateway.provider.patch_faults = ["lost"]
    assert (await change(gateway))["status"] == "pending"
    assert gateway.provider.customers["C-1001"]["email"] == NEW
    assert await gateway.events(TOPIC) == []
    await asyncio.sleep(PAST_THE_CLAIM_S)
    assert (await resume(gateway))["status"] == "succeeded"
    assert [e["tell"] for e in await gateway.events(TOPIC)] == [[{"channel": "email", "address": OLD}]]


async def test_an_address_of_between_two_tries_is_told_as_well(gateway: Any) -> None:
    """The store may have changed it by itself between our tries: whoever was reached before either hears of it."""
    gateway.provider.patch_faults = ["hang"]
    assert (await change(gateway))["status"] == "pending"
    gateway.provider.customers["C-1001"]["email"] = "between@example.com"
    await asyncio.sleep(PAST_THE_CLAIM_S)
    assert (await resume(gateway))["status"] == "succeeded"
    [event] = await gateway.events(TOPIC)
    assert [a["address"] for a in event["tell"]] == [OLD, "between@example.com"]


POINTS = (
    "propose.before_commit", "propose.after_commit", "keep_old_address.before_commit",
    "keep_old_address.after_commit", "pay.before_call", "pay.after_call", "settle.before_commit", "settle.after_commit",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["raise", pytest.param("cancel", marks=pytest.mark.slow)])
async def test_whatever_point_it_dies_at_the_old_address_is_told_once(gateway: Any, mode: str) -> None:
    before = OLD
    for n, point in enumerate(POINTS, start=1):
        value, met = f"maya{n}@example.com", list[str]()
        arm(point, misfortune(mode, met))
        await whatever(change(gateway, value))
        disarm()
        assert met == [mode], point
        await gateway.built.parts.background.drain(2)
        await finish(gateway, value)
        told = [a["address"] for e in await gateway.events(TOPIC) for a in e["tell"]]
        assert told.count(before) == 1, (point, told)
        assert (len(told), gateway.provider.customers["C-1001"]["email"]) == (n, value), point
        before = value
    assert await kept(gateway) == 0


async def finish(gateway: Any, value: str) -> None:
    """What a patient world does: resume what hangs, ask again for what was never written."""
    for _ in range(4):
        row = await gateway.pool.fetchrow(
            "select key, status, claim_until > clock_timestamp() as held from actions where args ->> 'value' = $1",
            value,
        )
        if row is None:
            await change(gateway, value)
        elif row["status"] == "pending":
            if row["held"]:
                await asyncio.sleep(PAST_THE_CLAIM_S)
            await resume(gateway, row["key"])
        else:
            return


def misfortune(mode: str, met: list[str]) -> Callable[[], Awaitable[None]]:
    async def happen() -> None:
        if met:
            return
        met.append(mode)
        if mode == "raise":
            raise ConnectionError("the connection is gone")
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    return happen


async def whatever(call: Awaitable[Any]) -> None:
    try:
        async with asyncio.timeout(5):
            await call
    except (AssertionError, TimeoutError, OSError, ValueError, ClientError):
        return
