"""A person comes, and perhaps goes, while a message is in work: what was done is shown once, and who has it answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent.adapters.run_store import ClaimedRun
from agent.adapters.store import save_state, save_words
from agent.core.handoff import HandOver
from agent.core.state import ConversationState, Memory
from agent.loop.handing_over import hand_over
from agent.loop.play import play_agent_run
from agent.loop.tools import book_unseen_rows
from agent.owner_api import OwnerChange, _set_owner
from agent.worker import Worker
from common.clock import SystemClock
from common.errors import OutcomeUnknown, Transient
from common.models import ModelTurn, ToolCall, Usage

Json = dict[str, Any]
KEY = "refund:4417028:L2"
REFUND_ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
TRUE_WORDS = "I have refunded 64.00 USD for the blender of order 4417028."
QUESTION = "Which item arrived broken?"


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


def refunds() -> ModelTurn:
    call = ToolCall("toolu_refund", "issue_refund", json.dumps(REFUND_ARGS))
    return ModelTurn("", (call,), "tool_use", Usage(100, 20), "fake", "fake-large")


async def move(bench: Any, *actions: Any) -> None:
    for action in actions:
        await _set_owner(bench.pool, "conv_1", OwnerChange(action=action, staff="dana"), SystemClock(), rows=[])


async def work_until_done(bench: Any) -> None:
    """One loop worker, until every run has ended."""

    async def look_up(run: ClaimedRun) -> None:
        await book_unseen_rows(bench.parts, run)

    async def play(run: ClaimedRun) -> None:
        await play_agent_run(bench.parts, run)

    async def give_up(run: ClaimedRun, why: str) -> None:
        parts = bench.parts
        over = HandOver("stuck", why)
        await hand_over(parts.runs, parts.customers, parts.clock, run, over, route="agent", ledger=parts.ledger)

    worker = Worker("w1", ("agent",), bench.parts.runs, SystemClock(), play, give_up, look_up=look_up)
    running = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(20):
            while await bench.pool.fetchval("select count(*) from runs where status <> 'done'"):  # noqa: ASYNC110 - the database has no event
                await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def after_the_write(bench: Any, act: Callable[[], Awaitable[None]]) -> None:
    """Have ``act`` happen once a refund is through and before its answer is back."""
    real = bench.tools.call

    async def call(name: str, *args: Any) -> Json:
        answer: Json = await real(name, *args)
        if name == "issue_refund":
            bench.tools.call = real
            await act()
        return answer

    bench.tools.call = call


def as_told(events: list[Json]) -> list[tuple[Any, ...]]:
    return [(e["seq"], e["event"], e["owner_version"], e["data"].get("key") or e["data"].get("reply")) for e in events]


async def packets(bench: Any) -> list[Json]:
    """The packets that went to the people, in order."""
    rows = await bench.pool.fetch("select payload from outbox where topic = 'support.handoffs.v1' order by id")
    return [json.loads(row["payload"])["packet"] for row in rows]


async def test_a_refund_that_was_under_way_when_a_person_came_is_shown_to_the_customer_and_to_them(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds())
    await bench.arrive(make_work())
    after_the_write(bench, lambda: move(bench, "takeover"))
    await work_until_done(bench)
    assert bench.tools.paid == [KEY]
    assert as_told(await bench.events()) == [(2, "action", 2, KEY), (3, "done", 2, "")]
    opened, fuller = await packets(bench)
    assert opened["actions"] == []
    assert [(row["key"], row["status"], row["amount"]) for row in fuller["actions"]] == [(KEY, "succeeded", "64.00")]
    assert await bench.pool.fetchval("select packet from handoffs") == fuller
    state = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    assert state.memory.actions[KEY]["status"] == "succeeded"


async def test_a_refund_whose_outcome_is_open_tells_the_person_not_to_pay_again(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds())
    bench.tools.status = "pending"
    await bench.arrive(make_work())
    after_the_write(bench, lambda: move(bench, "takeover"))
    await work_until_done(bench)
    assert (await packets(bench))[-1]["next_step"] == f"Wait for {KEY}: its outcome is not known yet. Do not pay again."


def lose_the_answer(bench: Any, unknown_outcome: OutcomeUnknown, *before: str) -> None:
    """Have a person act while a refund is under way that no row is ever found of."""

    async def call(*_: Any) -> Json:
        await move(bench, *before)
        raise unknown_outcome

    bench.tools.call = call


async def test_a_write_that_was_lost_while_a_person_came_is_named_in_their_packet(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    bench = make_bench(refunds())
    await bench.arrive(make_work())
    lose_the_answer(bench, unknown_outcome, "takeover")
    await work_until_done(bench)
    opened, fuller = await packets(bench)
    lost = f"Look in the ledger for {KEY}: nobody heard how it ended. Do nothing twice."
    assert (opened["next_step"] == lost, fuller["next_step"]) == (False, lost)
    assert await bench.pool.fetchval("select packet from handoffs") == fuller


async def test_a_return_clears_what_was_lost_before_it_also_for_a_run_that_remembers_it(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    bench = make_bench(says(QUESTION), says(QUESTION))
    await bench.arrive(make_work())
    fact = {"kind": "refund", "order_id": "4417028", "line_id": "L1", "besides": []}
    async with bench.pool.acquire() as conn:
        state = ConversationState(memory=Memory(unheard=[fact]))
        await save_state(conn, "conv_1", state.model_dump(mode="json"))
    real = bench.models.ask

    async def ask(*args: Any) -> ModelTurn:
        bench.models.ask = real
        await move(bench, "takeover", "return")
        turn: ModelTurn = await real(*args)
        return turn

    bench.models.ask = ask
    await work_until_done(bench)
    state = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    assert state.memory.unheard == []


async def test_a_message_given_back_while_its_refund_ran_shows_it_once_and_is_answered(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds(), says(TRUE_WORDS))
    await bench.arrive(make_work())
    after_the_write(bench, lambda: move(bench, "takeover", "return"))
    await work_until_done(bench)
    assert bench.tools.paid == [KEY]
    assert as_told(await bench.events()) == [(2, "action", 3, KEY), (3, "token", 3, None), (4, "done", 3, TRUE_WORDS)]
    assert (await bench.done())["route"] == "agent"


async def test_a_second_ask_after_the_return_shows_the_refund_no_second_time(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(refunds(), refunds(), says(TRUE_WORDS))
    await bench.arrive(make_work())
    after_the_write(bench, lambda: move(bench, "takeover", "return"))
    await work_until_done(bench)
    assert bench.tools.paid == [KEY]
    assert [e["event"] for e in await bench.events()] == ["action", "token", "done"]


async def test_a_message_given_back_while_the_model_thought_is_thought_about_anew(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds(), says(QUESTION))
    await bench.arrive(make_work())
    real, asked = bench.models.ask, []

    async def ask(request: Any, *args: Any) -> ModelTurn:
        asked.append(request)
        if len(asked) == 1:
            await move(bench, "takeover")
            async with bench.pool.acquire() as conn:
                await save_words(conn, "conv_1", "msg_staff", "staff", "Dana here: I'll send a new one.")
            await move(bench, "return")
        turn: ModelTurn = await real(request, *args)
        return turn

    bench.models.ask = ask
    await work_until_done(bench)
    assert bench.tools.paid == [], "what the model wanted before the person came is not done after"
    assert as_told(await bench.events()) == [(2, "token", 3, None), (3, "done", 3, QUESTION)]
    assert [message["role"] for message in asked[0].messages] == ["user"]
    customer, colleague, note = asked[1].messages
    assert customer == asked[0].messages[0]
    assert colleague == {"role": "assistant", "content": [{"type": "text", "text": "Dana here: I'll send a new one."}]}
    assert "given the conversation back" in note["content"][0]["text"]
    said = await bench.pool.fetch("select text from messages where sender = 'agent'")
    assert [row["text"] for row in said] == [QUESTION]


async def test_a_message_whose_person_closed_the_conversation_ends_without_words(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(says(QUESTION))
    await bench.arrive(make_work())
    real = bench.models.ask

    async def ask(*args: Any) -> ModelTurn:
        await move(bench, "takeover", "close")
        turn: ModelTurn = await real(*args)
        return turn

    bench.models.ask = ask
    await work_until_done(bench)
    assert as_told(await bench.events()) == [(2, "done", 3, "")]


class DiedError(Exception):
    """Stands for kill -9 in mid-write."""


async def die_in_the_write(bench: Any) -> None:
    async def die() -> None:
        raise DiedError

    after_the_write(bench, die)
    with pytest.raises(DiedError):
        await play_agent_run(bench.parts, await bench.claim(ttl_s=60))
    await bench.pool.execute("update runs set claim_expires_at = clock_timestamp() - interval '1 s'")


@pytest.mark.parametrize("ledger_away", [0, 2, 99])
async def test_a_refund_of_a_dead_worker_is_shown_although_a_person_came_before_the_next(
    make_bench: Any, make_work: Any, ledger_away: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.worker.PAUSE_S", 0.0)
    bench = make_bench(refunds())
    await bench.arrive(make_work())
    await die_in_the_write(bench)
    await move(bench, "takeover")
    real, tries = bench.tools.list_actions, 0

    async def list_actions(conversation_id: str) -> list[Json]:
        nonlocal tries
        tries += 1
        if tries <= ledger_away:
            raise Transient("the ledger is away")
        rows: list[Json] = await real(conversation_id)
        return rows

    bench.tools.list_actions = list_actions
    await work_until_done(bench)
    if ledger_away == 99:
        assert as_told(await bench.events()) == [(2, "done", 2, "")], "nobody waits for ever"
    else:
        assert as_told(await bench.events()) == [(2, "action", 2, KEY), (3, "done", 2, "")]
        assert [row["key"] for row in (await packets(bench))[-1]["actions"]] == [KEY]


async def test_a_refund_of_a_dead_worker_is_shown_when_a_person_came_and_went_before_the_next(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds(), says(TRUE_WORDS))
    await bench.arrive(make_work())
    await die_in_the_write(bench)
    await move(bench, "takeover", "return")
    await work_until_done(bench)
    assert bench.tools.paid == [KEY]
    assert as_told(await bench.events()) == [(2, "action", 3, KEY), (3, "token", 3, None), (4, "done", 3, TRUE_WORDS)]


async def test_a_refund_whose_first_answer_was_lost_on_the_way_is_shown_once(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(refunds(), says(TRUE_WORDS))
    await bench.arrive(make_work())
    real = bench.tools.call

    async def asked_twice(name: str, *args: Any) -> Json:
        await real(name, *args)
        answer: Json = await real(name, *args)
        return answer

    bench.tools.call = asked_twice
    await work_until_done(bench)
    assert [e["event"] for e in await bench.events()] == ["action", "token", "done"]
    assert (await bench.done())["reply"] == TRUE_WORDS


async def test_a_row_that_an_earlier_message_made_is_told_in_words_alone(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(refunds(), says(TRUE_WORDS))
    await bench.arrive(make_work())
    await bench.tools.call("issue_refund", REFUND_ARGS, {"message_id": "msg_0"}, None)
    await work_until_done(bench)
    assert [e["event"] for e in await bench.events()] == ["token", "done"]
    assert (await bench.done())["reply"] == TRUE_WORDS


@pytest.mark.parametrize("route", ["upset", "given up"])
async def test_a_refund_of_a_dead_worker_is_shown_although_the_next_only_hands_over(
    make_bench: Any, make_work: Any, route: str
) -> None:
    bench = make_bench(refunds())
    await bench.arrive(make_work())
    await die_in_the_write(bench)
    upset, worn = "work = jsonb_set(work, '{sentiment}', '-0.9')", "attempts = 5"
    await bench.pool.execute(f"update runs set {upset if route == 'upset' else worn}")
    await work_until_done(bench)
    events = await bench.events()
    assert [(e["seq"], e["event"]) for e in events[:2]] == [(2, "action"), (3, "token")]
    assert [e["seq"] for e in events] == list(range(2, len(events) + 2))
    assert (await bench.done())["handoff"] is True
    assert [row["key"] for row in (await packets(bench))[-1]["actions"]] == [KEY]
    assert len(bench.tools.calls) == 1


async def test_what_a_dead_worker_still_meant_to_do_is_not_done_after_a_person_came_and_went(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(refunds(), says(QUESTION))
    await bench.arrive(make_work())
    real = bench.tools.call

    async def die(*_: Any) -> Json:
        raise DiedError

    bench.tools.call = die
    with pytest.raises(DiedError):
        await play_agent_run(bench.parts, await bench.claim(ttl_s=60))
    bench.tools.call = real
    await bench.pool.execute("update runs set claim_expires_at = clock_timestamp() - interval '1 s'")
    await move(bench, "takeover", "return")
    await work_until_done(bench)
    assert bench.tools.paid == []
    assert (await bench.done())["reply"] == QUESTION
