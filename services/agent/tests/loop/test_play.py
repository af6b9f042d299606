"""The tool loop over a real run store: what runs, what is said, what goes to a person, and what a crash repeats."""

import asyncio
import json
from typing import Any

import pytest

from agent.adapters.run_store import LostClaim, TakenOver
from agent.adapters.store import save_owner
from agent.core.limits import Limits
from agent.core.state import ConversationState
from agent.loop.play import play_agent_run
from common import crash
from common.errors import OutcomeUnknown
from common.models import BudgetSpent, ModelsDown, ModelTurn, ToolCall, Usage

READ = ("get_order", '{"order_id": "4417028"}')
REFUND_ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
REFUND = ("issue_refund", json.dumps(REFUND_ARGS))


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


def calls(*tools: tuple[str, str], text: str = "", stop: str = "tool_use", ids: list[str] | None = None) -> ModelTurn:
    made = tuple(ToolCall(ids[n] if ids else f"toolu_{name}_{n}", name, raw) for n, (name, raw) in enumerate(tools))
    return ModelTurn(text, made, stop, Usage(100, 20), "fake", "fake-large")


TRUE_WORDS = "I have refunded 64.00 USD for the blender of order 4417028."


async def play(bench: Any, work: Any, **claim: Any) -> None:
    await bench.arrive(work)
    await play_agent_run(bench.parts, await bench.claim(**claim))


async def test_a_refund_turn_reads_pays_once_and_says_what_the_ledger_says(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(READ, text="Let me look."), calls(REFUND, text="I refunded it!"), says(TRUE_WORDS))
    await play(bench, make_work())
    events = await bench.events()
    assert [e["event"] for e in events] == ["action", "token", "done"]
    assert [e["seq"] for e in events] == [2, 3, 4]
    assert events[0]["data"] == {
        "type": "refund",
        "status": "succeeded",
        "key": "refund:4417028:L2",
        "order_id": "4417028",
        "line_id": "L2",
        "amount": "64.00",
        "currency": "USD",
        "reference": "re_1",
    }
    assert (await bench.done())["reply"] == TRUE_WORDS
    assert bench.tools.paid == ["refund:4417028:L2"]
    assert bench.tools.calls[1][2]["guard"] == "clean"
    assert bench.tools.calls[1][2]["intent_confidence"] == 0.95


async def test_a_false_claim_gets_one_chance_to_be_mended(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(says("I have refunded 64.00 USD for order 4417028."), says("Which item arrived broken?"))
    await play(bench, make_work())
    assert (await bench.done())["reply"] == "Which item arrived broken?"
    assert "not borne out" in json.dumps(bench.models.requests[1].messages[-1])


async def test_a_lie_that_is_repeated_is_replaced_by_the_ledgers_own_words(make_bench: Any, make_work: Any) -> None:
    lie = "I have refunded 900.00 USD for order 4417028."
    bench = make_bench(says(lie), says(lie))
    await play(bench, make_work())
    reply = (await bench.done())["reply"]
    assert "900" not in reply
    assert reply.strip()
    assert bench.tools.paid == []


async def test_a_call_in_a_turn_that_was_cut_off_never_runs(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND, stop="max_tokens"), says("Which item arrived broken?"))
    await play(bench, make_work())
    assert bench.tools.calls == []
    assert "before this call was complete" in json.dumps(bench.models.requests[1].messages[-1])


@pytest.mark.parametrize(
    "raw",
    [
        '{"order_id": "4417028", "line_id": "L2", "amount": "64',
        '{"amount": 64}',
        "[]",
        '{"a":1,"a":2}',
        r'{"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged\u0000"}',
        r'{"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "\ud800"}',
        '{"order_id": "4417028", "line_id": "L2", "amount": 1e999, "reason": "damaged"}',
    ],
)
async def test_arguments_that_are_not_strict_json_of_the_schema_never_run(
    make_bench: Any, make_work: Any, raw: str
) -> None:
    bench = make_bench(calls(("issue_refund", raw)), says("Which item arrived broken?"))
    await play(bench, make_work())
    assert bench.tools.calls == []
    assert bench.tools.paid == []


async def test_invented_tools_are_answered_and_two_in_a_row_fetch_a_person(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(("issue_store_credit", "{}")), calls(("issue_store_credit", "{}")))
    await play(bench, make_work())
    done = await bench.done()
    assert done["handoff_reason"] == "stuck"
    assert "no tool named" in json.dumps(bench.models.requests[1].messages[-1])


async def test_repeated_and_missing_call_ids_each_get_their_own_result(make_bench: Any, make_work: Any) -> None:
    turn = calls(READ, ("get_order", '{"order_id": "4417029"}'), READ, ids=["call_1", "call_1", ""])
    bench = make_bench(turn, says("Which item arrived broken?"))
    bench.tools.answers["get_order"] = [
        {"status": "ok", "result": {"order_id": "4417028", "status": "delivered", "n": n}} for n in range(3)
    ]
    await play(bench, make_work())
    asked, answered = bench.models.requests[1].messages[-2:]
    ids = [block["id"] for block in asked["content"]]
    assert len(set(ids)) == 3
    assert all(ids)
    assert [block["tool_use_id"] for block in answered["content"]] == ids
    assert [f'"n":{n}' in block["content"] for n, block in enumerate(answered["content"])] == [True] * 3


async def test_equal_parallel_refunds_pay_once_and_all_are_answered(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND, REFUND), says(TRUE_WORDS))
    await play(bench, make_work())
    assert bench.tools.paid == ["refund:4417028:L2"]
    assert len([e for e in await bench.events() if e["event"] == "action"]) == 1
    assert len(bench.models.requests[1].messages[-1]["content"]) == 2


async def test_the_same_call_runs_at_most_twice_then_the_model_is_told_it_is_blocked(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(calls(READ), calls(READ), calls(READ), says("Which item arrived broken?"))
    await play(bench, make_work())
    assert len(bench.tools.calls) == 2
    assert "made twice already" in json.dumps(bench.models.requests[3].messages[-1])


async def test_eight_model_calls_are_the_limit_and_then_a_person_takes_over(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(*(calls(("get_order", json.dumps({"order_id": f"44170{n}0"}))) for n in range(12)))
    bench.tools.answers["get_order"] = [{"status": "ok", "result": {"order_id": f"44170{n}0"}} for n in range(12)]
    await play(bench, make_work())
    assert len(bench.models.requests) == 8
    assert (await bench.done())["handoff_reason"] == "budget"


async def test_the_conversations_token_limit_fetches_a_person(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(READ), says("never asked"), limits=Limits(tokens_per_conversation=100))
    await play(bench, make_work())
    assert (await bench.done())["handoff_reason"] == "budget"
    assert bench.tools.calls == []


@pytest.mark.parametrize("failure", [ModelsDown("both down"), BudgetSpent("too slow")])
async def test_without_a_model_a_person_takes_over_with_words_that_say_so(
    make_bench: Any, make_work: Any, failure: Exception
) -> None:
    bench = make_bench(failure)
    await play(bench, make_work())
    done = await bench.done()
    assert done["handoff"] is True
    assert "can't answer this myself" in done["reply"]


async def test_no_write_happens_for_an_upset_customer_only_a_handoff(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND))
    await play(bench, make_work(sentiment=-0.8))
    assert bench.tools.calls == []
    assert bench.models.requests == []
    assert (await bench.done())["handoff_reason"] == "upset"


async def test_a_policy_handoff_stops_the_run_with_the_facts_in_the_packet(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND), customer={"name": "Maya", "tier": "standard", "lifetime_value": "900.00"})
    bench.tools.answers["issue_refund"] = [{"status": "handoff", "result": {"reason": "above_ceiling"}}]
    await play(bench, make_work())
    row = await bench.pool.fetchrow("select reason, queue, priority, packet from handoffs")
    assert (row["reason"], row["queue"], row["priority"]) == ("policy", "billing", "standard")
    assert set(row["packet"]) == set(
        "customer language reason orders actions pending_approvals attempted verified_fields sentiment open_tickets "
        "next_step transcript model_summary".split()
    )
    assert row["packet"]["customer"]["name"] == "Maya"
    assert row["packet"]["attempted"][0]["tool"] == "issue_refund"
    conversation = await bench.pool.fetchrow("select status, owner, owner_version from conversations")
    assert tuple(conversation) == ("with_person", "people", 2)
    done = [e for e in await bench.events() if e["event"] == "done"]
    assert len(done) == 1
    assert done[0]["owner_version"] == 2


async def test_what_was_done_before_a_handoff_is_said_once_with_one_notice(make_bench: Any, make_work: Any) -> None:
    second = ("issue_refund", json.dumps(REFUND_ARGS | {"line_id": "L3"}))
    bench = make_bench(calls(REFUND), calls(second))
    bench.tools.answers["issue_refund"] = []
    real = bench.tools.call

    async def call(name: str, args: Any, context: Any, assertion: Any) -> Any:
        if args.get("line_id") == "L3":
            return {"status": "handoff", "result": {"reason": "above_ceiling"}}
        return await real(name, args, context, assertion)

    bench.tools.call = call
    await play(bench, make_work())
    reply = (await bench.done())["reply"]
    assert reply.count("64.00 USD") == 1
    assert reply.count("colleague") == 1
    assert "If you like" not in reply


async def test_a_guard_that_flags_a_record_tightens_the_write_that_follows(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(READ), calls(REFUND), says(TRUE_WORDS))
    bench.guard.tool_result = "flagged"
    await play(bench, make_work())
    assert bench.tools.calls[1][2]["guard"] == "flagged"


async def test_with_the_guard_down_writes_say_so_and_answers_still_go_out(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND), says("Your refund of 64.00 USD is waiting for approval."))
    bench.guard.customer = "down"
    bench.tools.status = "awaiting_approval"
    await play(bench, make_work())
    assert bench.tools.calls[0][2]["guard"] == "down"
    assert await bench.pool.fetchval("select status from conversations") == "waiting_approval"
    assert (await bench.done())["handoff"] is False


async def test_an_unknown_outcome_is_never_told_as_done_or_failed(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    bench = make_bench(calls(REFUND), says(TRUE_WORDS))
    bench.tools.answers["issue_refund"] = [unknown_outcome]
    await play(bench, make_work())
    done = await bench.done()
    assert done["handoff_reason"] == "policy"
    assert "64.00" not in done["reply"]


async def test_a_lost_answer_whose_row_is_in_the_ledger_is_told_as_the_row_says(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    bench = make_bench(calls(REFUND), says(TRUE_WORDS))
    await bench.tools.call("issue_refund", REFUND_ARGS, {}, None)
    bench.tools.answers["issue_refund"] = [unknown_outcome]
    await play(bench, make_work())
    assert (await bench.done())["reply"] == TRUE_WORDS
    assert bench.tools.paid == ["refund:4417028:L2"]


async def test_a_takeover_while_the_model_thinks_drops_its_text_and_stops_its_writes(
    make_bench: Any, make_work: Any
) -> None:
    bench = make_bench(calls(REFUND))
    bench.models.pause = asyncio.Event()
    await bench.arrive(make_work())
    run = await bench.claim()
    playing = asyncio.create_task(play_agent_run(bench.parts, run))
    while not bench.models.requests:  # noqa: ASYNC110 - the fake's list has no event
        await asyncio.sleep(0.01)
    async with bench.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
    bench.models.pause.set()
    with pytest.raises(TakenOver):
        await playing
    assert bench.tools.calls == []
    assert await bench.events() == []


async def test_a_visitor_gets_no_tool_that_needs_a_session(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(READ), says("Please log in first."))
    await play(bench, make_work(customer_id=None))
    assert bench.tools.calls == []


async def test_a_session_of_another_conversation_opens_nothing(make_bench: Any, make_work: Any) -> None:
    foreign = make_work(conversation_id="conv_foreign").message.assertion
    bench = make_bench(calls(READ))
    await play(bench, make_work(assertion=foreign))
    assert bench.tools.calls == []
    assert (await bench.done())["handoff"] is True


async def test_on_voice_a_write_is_read_back_and_runs_after_a_yes(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(READ), calls(REFUND), says(TRUE_WORDS))
    await play(bench, make_work(channel="voice", read_back=True))
    question = (await bench.done())["reply"]
    assert "64.00 USD" in question
    assert question.endswith("?")
    assert bench.tools.paid == []
    await play(bench, make_work("Yes.", channel="voice", read_back=True, message_id="msg_2", seq=2, intent="other"))
    assert bench.tools.paid == ["refund:4417028:L2"]
    assert (await bench.done("msg_2"))["reply"] == TRUE_WORDS


async def test_anything_but_a_yes_drops_the_read_back_write(make_bench: Any, make_work: Any) -> None:
    bench = make_bench(calls(REFUND), says("All right, what should I do?"))
    await play(bench, make_work(channel="voice", read_back=True))
    await play(bench, make_work("no, wait", channel="voice", read_back=True, message_id="msg_2", seq=2, intent="other"))
    assert bench.tools.paid == []


async def test_what_waited_for_a_one_time_code_goes_on_by_itself(make_bench: Any, make_work: Any) -> None:
    change = ("update_account_field", '{"field": "email", "value": "new@example.org"}')
    told = "I have sent you a code. Please send me that code."
    bench = make_bench(calls(change), says("Please send me the code."), says("Your new address is saved."), says(told))
    bench.tools.answers["update_account_field"] = [
        {"status": "denied", "result": {"key": None, "status": None, "reason": "step_up_required"}},
        {
            "status": "succeeded",
            "result": {"key": "account_change:C-1001:email:1", "status": "succeeded", "repeated": False},
        },
    ]
    await play(bench, make_work("change my email", intent="account_update"))
    assert bench.gateway.codes == ["update_account_field"]
    await play(bench, make_work("••••••", message_id="msg_2", seq=2, intent="other", resumed_code=True))
    assert [name for name, _, _ in bench.tools.calls] == ["update_account_field"] * 2
    assert [e["data"]["status"] for e in await bench.events("msg_2") if e["event"] == "action"] == ["succeeded"]


async def test_another_message_than_the_code_does_not_release_what_waits(make_bench: Any, make_work: Any) -> None:
    change = ("update_account_field", '{"field": "email", "value": "new@example.org"}')
    bench = make_bench(calls(change), says("Please send me the code."), says("What should I do?"))
    bench.tools.answers["update_account_field"] = [{"status": "denied", "result": {"reason": "step_up_required"}}]
    await play(bench, make_work("change my email", intent="account_update"))
    await play(bench, make_work("just do it", message_id="msg_2", seq=2, intent="other"))
    assert len(bench.tools.calls) == 1
    held = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    assert held.memory.held_call is not None


class CrashError(Exception):
    """Stands for kill -9: nothing after it runs."""


async def _crash() -> None:
    raise CrashError


POINTS = [
    "run.before_checkpoint",
    "run.after_checkpoint",
    "tool.before_call",
    "run.before_finish",
    "run.after_finish",
]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
async def test_a_crash_at_any_step_pays_once_replies_once_and_repeats_no_saved_model_call(
    make_bench: Any, make_work: Any, point: str, nth: int
) -> None:
    bench = make_bench()
    script = {0: calls(READ), 1: calls(REFUND), 2: says(TRUE_WORDS)}
    saved: list[int] = []

    async def ask(request: Any, _budget_s: float, _priority: str = "live", _hearer: Any = None) -> ModelTurn:
        rounds_done = sum(1 for m in request.messages if m["role"] == "assistant")
        saved.append(rounds_done)
        return script[rounds_done]

    bench.models.ask = ask
    await bench.arrive(make_work())
    reached = 0

    async def maybe_crash() -> None:
        nonlocal reached
        reached += 1
        if reached == nth:
            await _crash()

    crash.arm(point, maybe_crash)
    try:
        crashed = False
        for _ in range(3):
            claimed = await bench.parts.runs.claim(("agent",), "w", 600, 1)
            if not claimed:
                break
            try:
                await play_agent_run(bench.parts, claimed[0])
            except (CrashError, LostClaim):
                crashed = True
                await bench.pool.execute(
                    "update runs set claim_expires_at = now() - interval '1 second' where status = 'running'"
                )
    finally:
        crash.disarm()
    assert bench.tools.paid == ["refund:4417028:L2"]
    events = await bench.events()
    assert [e["event"] for e in events] == ["action", "token", "done"]
    assert [e["seq"] for e in events] == [2, 3, 4]
    # A call whose turn was saved is never made again; one whose answer died unsaved may be.
    repeats = len(saved) - len(set(saved))
    assert repeats <= (1 if crashed and point == "run.before_checkpoint" else 0)
