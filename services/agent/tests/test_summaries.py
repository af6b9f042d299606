"""The model's summary of a handoff: written once, labelled, counted, never waited for, never beyond the limit."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from agent.adapters.store import save_owner, save_state
from agent.core.limits import Limits
from agent.core.state import ConversationState, Memory
from agent.loop.play import play_agent_run
from agent.summaries import Summaries
from common.clock import FixedClock
from common.models import BudgetSpent, ModelsDown, ModelTurn, Usage, cost_usd

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
MODEL = "claude-haiku-5-5"
USED = Usage(200, 30)
LINES = "Wants a refund for a broken blender.\nNothing was done.\nThe refund is open."


def writes(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", USED, "fake", MODEL)


@pytest.fixture
async def handed(make_bench: Any, make_work: Any) -> Any:
    """A conversation that went to people, and what writes its summary: ``bench, write``."""
    bench = make_bench()
    await bench.arrive(make_work("My blender is broken, fetch somebody", intent="asks_for_human"))
    await play_agent_run(bench.parts, await bench.claim())

    async def write(*turns: Any, **limits: int) -> bool:
        bench.models.turns[:] = list(turns)
        # A try that failed is taken up again half a minute later.
        await bench.pool.execute("update handoffs set summary_at = now() - interval '1 minute'")
        summaries = Summaries(bench.pool, bench.models, bench.parts.tokens, FixedClock(AT), Limits(**limits))
        return await summaries.write_one()

    return bench, write


async def packet(bench: Any) -> dict[str, Any]:
    found: dict[str, Any] = await bench.pool.fetchval("select packet from handoffs")
    return found


async def standing(bench: Any) -> tuple[str, int]:
    return tuple(await bench.pool.fetchrow("select summary, summary_tries from handoffs"))


async def sent(bench: Any) -> list[Any]:
    rows = await bench.pool.fetch("select payload from outbox where topic = 'support.handoffs.v1' order by id")
    return [json.loads(row["payload"]) for row in rows]


async def test_a_handoff_has_its_facts_at_once_and_the_labelled_summary_later(handed: Any) -> None:
    bench, write = handed
    before = await packet(bench)
    assert before["model_summary"] is None
    assert await write(writes(LINES))
    after = await packet(bench)
    assert after["model_summary"] == {"written_by": "model", "model": MODEL, "text": LINES}
    assert {k: v for k, v in after.items() if k != "model_summary"} == {
        k: v for k, v in before.items() if k != "model_summary"
    }
    first, second = await sent(bench)
    assert second["packet"] == after
    assert {k: v for k, v in second.items() if k != "packet"} == {k: v for k, v in first.items() if k != "packet"}


async def test_the_small_model_is_shown_the_conversation_as_data(handed: Any) -> None:
    bench, write = handed
    await write(writes(LINES))
    request = bench.models.requests[-1]
    assert (request.size, request.subject, request.tools) == ("small", "conv_1", ())
    assert "customer: My blender is broken" in request.messages[0]["content"][0]["text"]


async def test_at_most_three_lines_are_kept_of_whatever_was_written(handed: Any) -> None:
    bench, write = handed
    await write(writes("\n\n One. \n\nTwo.\nThree.\nFour.\nRefund everything!"))
    assert (await packet(bench))["model_summary"]["text"] == "One.\nTwo.\nThree."


async def test_a_summary_is_written_once(handed: Any) -> None:
    bench, write = handed
    await write(writes(LINES))
    assert not await write(writes("never asked"))
    assert len(bench.models.requests) == 1
    assert len(await sent(bench)) == 2


@pytest.mark.parametrize("failure", [ModelsDown("both down"), BudgetSpent("too slow"), writes("  \n ")])
async def test_what_fails_is_tried_three_times_and_then_left(handed: Any, failure: Any) -> None:
    bench, write = handed
    for _ in range(3):
        assert await write(failure)
    assert await standing(bench) == ("given_up", 3)
    assert not await write(writes("never asked"))
    assert (await packet(bench))["model_summary"] is None
    assert len(await sent(bench)) == 1, "the handoff stands as it was"


async def test_after_a_failure_the_next_try_may_succeed(handed: Any) -> None:
    bench, write = handed
    await write(ModelsDown("both down"))
    await write(writes(LINES))
    assert (await packet(bench))["model_summary"]["text"] == LINES


async def test_its_tokens_count_with_the_conversation_and_are_kept_with_the_handoff(handed: Any) -> None:
    bench, write = handed
    await write(writes(""))
    await write(writes(LINES))
    row = await bench.pool.fetchrow("select summary_tokens, summary_cost_usd from handoffs")
    assert tuple(row) == (2 * USED.total, 2 * cost_usd(MODEL, USED))
    memory = await remembered(bench)
    assert (memory.tokens, memory.cost_usd) == tuple(row)
    assert bench.parts.tokens.total == 2 * USED.total


async def remembered(bench: Any) -> Memory:
    return ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations")).memory


async def test_while_a_run_has_the_conversation_its_checkpoint_is_left_alone(handed: Any) -> None:
    bench, write = handed
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 2, "agent", "active")
    before = await bench.pool.fetchval("select run_state from conversations")
    await write(writes(LINES))
    assert await bench.pool.fetchval("select run_state from conversations") == before
    assert bench.parts.tokens.total == USED.total


async def test_beyond_the_conversations_tokens_no_summary_is_asked_for(handed: Any) -> None:
    bench, write = handed
    state = ConversationState(memory=Memory(tokens=150_000, cost_usd=Decimal("0.45")))
    async with bench.pool.acquire() as conn:
        await save_state(conn, "conv_1", state.model_dump(mode="json"))
    assert await write(writes("never asked"))
    assert bench.models.requests == []
    assert await standing(bench) == ("given_up", 1)
    assert not await write(writes("never asked"))


async def test_without_a_handoff_there_is_nothing_to_write(make_bench: Any) -> None:
    bench = make_bench()
    assert not await Summaries(bench.pool, bench.models, bench.parts.tokens, FixedClock(AT)).write_one()
