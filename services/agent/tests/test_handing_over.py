"""The handoff rules where they bite: between two tool calls, after a refusal, and on the way back from a person."""

import json
from typing import Any

import pytest

from agent.core.state import ConversationState, Memory
from agent.loop.play import play_agent_run
from common.models import ModelTurn, ToolCall, Usage

REFUND = ("issue_refund", {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"})
MISSING = ("get_order", {"order_id": "9999999"})


def calls(*tools: tuple[str, dict[str, Any]]) -> ModelTurn:
    made = tuple(ToolCall(f"toolu_{n}", name, json.dumps(args)) for n, (name, args) in enumerate(tools))
    return ModelTurn("", made, "tool_use", Usage(100, 20), "fake", "fake-large")


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


async def play(bench: Any, work: Any) -> dict[str, Any]:
    await bench.arrive(work)
    await play_agent_run(bench.parts, await bench.claim())
    done: dict[str, Any] = await bench.done(work.message.message_id)
    return done


@pytest.mark.parametrize(
    ("before", "confidence", "reason"),
    [
        ([MISSING], 0.69, "stuck"),
        ([MISSING], 0.70, None),
        ([MISSING, ("get_order", {"order_id": "9999998"})], 0.95, "stuck"),
    ],
)
async def test_a_write_in_the_same_breath_as_too_many_failures_does_not_run(
    make_bench: Any, make_work: Any, before: Any, confidence: float, reason: str | None
) -> None:
    bench = make_bench(calls(*before, REFUND), says("I have refunded 64.00 USD for the blender of order 4417028."))
    done = await play(bench, make_work(confidence=confidence))
    assert done.get("handoff_reason") == reason
    assert bench.tools.paid == ([] if reason else ["refund:4417028:L2"])


async def test_a_refund_that_the_provider_refuses_goes_to_a_person_and_is_told_as_failed(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(calls(REFUND), says("Your refund was made."))
    bench.tools.status = "failed"
    done = await play(bench, make_work())
    assert done["handoff_reason"] == "policy"
    assert "64.00 USD" in done["reply"]
    assert [e["data"]["status"] for e in await bench.events() if e["event"] == "action"] == ["failed"]
    packet = await bench.pool.fetchval("select packet from handoffs")
    assert "Pay again only with proof" in packet["next_step"]
    assert len(bench.models.requests) == 1


@pytest.mark.parametrize("move", ["return", "close"])
async def test_a_conversation_that_comes_back_from_a_person_is_not_handed_over_for_its_past(
    make_bench: Any, make_work: Any, move_owner: Any, move: str
) -> None:
    bench = make_bench(says("Which item arrived broken?"))
    await bench.arrive(make_work())
    worn = ConversationState(memory=Memory(turns=12, agent_seconds=900.0, failed_calls=2, idle_turns=3))
    await bench.pool.execute("update runs set status = 'done'")
    await bench.pool.execute("update conversations set run_state = $1", worn.model_dump(mode="json"))
    await move_owner(bench, "takeover")
    await move_owner(bench, move)
    done = await play(bench, make_work(message_id="msg_2", seq=2))
    assert done["handoff"] is False


@pytest.fixture
def move_owner() -> Any:
    from agent.owner_api import OwnerChange, _set_owner
    from common.clock import SystemClock

    async def move(bench: Any, action: Any) -> None:
        await _set_owner(bench.pool, "conv_1", OwnerChange(action=action, staff="dana"), SystemClock())

    return move


async def test_a_plain_yes_that_the_router_makes_nothing_of_confirms_what_it_was_sure_of(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(calls(REFUND), says("I have refunded 64.00 USD for the blender of order 4417028."))
    await play(bench, make_work(channel="voice", read_back=True, confidence=0.93))
    yes = make_work("Yes.", channel="voice", read_back=True, message_id="msg_2", seq=2, intent="other", confidence=0.31)
    await play(bench, yes)
    assert [context["intent_confidence"] for name, _, context in bench.tools.calls if name == "issue_refund"] == [0.93]
    assert bench.tools.paid == ["refund:4417028:L2"]


async def test_a_wish_that_was_unsure_stays_so_when_its_yes_is_sure(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND), says("I have refunded 64.00 USD for the blender of order 4417028."))
    await play(bench, make_work(channel="voice", read_back=True, confidence=0.5))
    await play(bench, make_work("Yes.", channel="voice", read_back=True, message_id="msg_2", seq=2, confidence=1.0))
    assert [context["intent_confidence"] for name, _, context in bench.tools.calls if name == "issue_refund"] == [0.5]


@pytest.mark.parametrize("verdict", ["down", "flagged"])
async def test_a_clean_yes_does_not_clean_what_the_guard_said_of_the_wish(
    make_bench: Any, make_work: Any, verdict: str
) -> None:
    bench = make_bench(calls(REFUND), says("I have refunded 64.00 USD for the blender of order 4417028."))
    bench.guard.customer = verdict
    await play(bench, make_work(channel="voice", read_back=True))
    bench.guard.customer = "clean"
    await play(bench, make_work("Yes.", channel="voice", read_back=True, message_id="msg_2", seq=2, intent="other"))
    assert [context["guard"] for name, _, context in bench.tools.calls if name == "issue_refund"] == [verdict]
