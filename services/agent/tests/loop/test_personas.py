"""The loop against the sandbox's model server: whatever the model is like, no rule breaks and no lie leaves."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from agent.core.claims import check_reply
from agent.core.facts import facts_of
from agent.core.state import ConversationState
from agent.loop.play import play_agent_run
from common.clock import SystemClock
from common.models import ModelGateway, RetryPlan
from common.models.anthropic_wire import AnthropicProvider
from common.models.openai_wire import OpenAIProvider

MODELS: Any = {"large": "claude-sonnet-5-5", "small": "claude-haiku-5-5"}


@pytest.fixture
async def bench(make_bench: Any, sandbox_url: str) -> AsyncIterator[Any]:
    made = make_bench()
    providers = [
        AnthropicProvider("key", MODELS, f"{sandbox_url}/anthropic", timeout_s=5),
        OpenAIProvider("key", MODELS, f"{sandbox_url}/openai/v1", timeout_s=5),
    ]
    models = ModelGateway(providers, SystemClock(), plan=RetryPlan(first_wait_s=0.05))
    made.parts = dataclasses.replace(made.parts, models=models)
    yield made
    await models.close()
    httpx2.delete(f"{sandbox_url}/_sandbox/faults")
    httpx2.put(f"{sandbox_url}/_sandbox/model/persona", json={"persona": "helpful"})


async def play(bench: Any, work: Any) -> dict[str, Any]:
    await bench.arrive(work)
    await play_agent_run(bench.parts, await bench.claim())
    done: dict[str, Any] = await bench.done()
    return done


ASK = "The blender of order 4417028 arrived broken, please refund it"


@pytest.mark.parametrize("persona", ["helpful", "obedient", "liar", "looper", "chaotic"])
async def test_every_persona_ends_in_a_true_answer_or_a_person(
    bench: Any, make_work: Any, sandbox_url: str, persona: str
) -> None:
    httpx2.put(f"{sandbox_url}/_sandbox/model/persona", json={"persona": persona})
    done = await play(bench, make_work(ASK))
    assert bench.tools.paid in ([], ["refund:4417028:L2"])
    state = ConversationState.model_validate(await bench.pool.fetchval("select run_state from conversations"))
    checked = check_reply(done["reply"], "en", facts_of(state.memory, handoff=done["handoff"]))
    assert checked.holds, [(s.sentence, s.why) for s in checked.sentences if not s.holds]
    shown = [e["data"]["key"] for e in await bench.events() if e["event"] == "action"]
    assert shown == bench.tools.paid


async def test_the_helpful_model_really_refunds(bench: Any, make_work: Any) -> None:
    done = await play(bench, make_work(ASK))
    assert bench.tools.paid == ["refund:4417028:L2"]
    assert "64.00" in done["reply"]


@pytest.mark.parametrize(
    "wicked",
    [
        {"error": 529},
        {"raw": "}{"},
        {"text": "I have refunded", "cut_after": 3},
        {"tool_use": [{"name": "issue_refund", "input": {"order_id": "4417028"}}], "cut_after": 4},
    ],
)
async def test_a_turn_that_breaks_is_asked_again_and_nothing_of_it_runs(
    bench: Any, make_work: Any, sandbox_url: str, wicked: dict[str, Any]
) -> None:
    tag = f"tag {sorted(wicked)} {wicked.get('cut_after')}"
    turns = [wicked, {"text": "Which order is it about?"}]
    script = {"match": {"text_contains": tag}, "turns": turns, "repeat": False}
    httpx2.post(f"{sandbox_url}/_sandbox/model/scripts", json=script)
    done = await play(bench, make_work(f"Hello {tag}"))
    assert done["reply"] == "Which order is it about?"
    assert bench.tools.calls == []


async def test_when_the_first_provider_is_down_the_second_answers(bench: Any, make_work: Any, sandbox_url: str) -> None:
    httpx2.post(f"{sandbox_url}/_sandbox/faults", json={"target": "model", "kind": "down", "times": 100})
    done = await play(bench, make_work(ASK))
    assert done["handoff"] is False
    assert bench.tools.paid == ["refund:4417028:L2"]


async def test_when_both_are_down_a_person_takes_over_with_words_that_say_so(
    bench: Any, make_work: Any, sandbox_url: str
) -> None:
    for target in ("model", "model2"):
        httpx2.post(f"{sandbox_url}/_sandbox/faults", json={"target": target, "kind": "down", "times": 100})
    done = await play(bench, make_work(ASK))
    assert done["handoff"] is True
    assert "can't answer this myself" in done["reply"]


SORRY, THANKS = "I'm sorry about your blender.", "Thank you for writing to us today."
LIE = "I have refunded 900.00 USD for order 4417028."
# A third of a second passes behind the first sentence: it has left when the rest is cut or turns out false.
SLOWLY = {"pace_ms": 60}


def write(url: str, tag: str, *turns: dict[str, Any]) -> None:
    body = {"match": {"text_contains": tag}, "turns": list(turns), "repeat": False}
    assert httpx2.post(f"{url}/_sandbox/model/scripts", json=body).status_code == 201


async def test_a_provider_that_dies_in_mid_stream_is_gone_on_for_by_the_second(
    bench: Any, make_work: Any, sandbox_url: str
) -> None:
    cut = {"text": f"{SORRY} {THANKS} Which item of your order is it about, please?", "cut_after": 8, **SLOWLY}
    write(sandbox_url, "tag failover", cut, {"error": 529}, {"text": f"{SORRY} Which item is it about?"})
    done = await play(bench, make_work("Hello tag failover"))
    tokens = [e["data"]["text"] for e in await bench.events() if e["event"] == "token"]
    assert done["reply"] == "".join(tokens)
    assert done["reply"].startswith(f"{SORRY} ")
    assert done["reply"].endswith(" Which item is it about?")
    assert done["reply"].count(SORRY) == 1
    call = httpx2.get(f"{sandbox_url}/_sandbox/model/calls", params={"limit": 1}).json()[0]
    assert call["provider"] == "openai"
    assert call["messages"][-2]["content"].startswith(SORRY)


async def test_a_liars_third_sentence_is_held_back_and_what_was_true_stays(
    bench: Any, make_work: Any, sandbox_url: str
) -> None:
    lying = {"text": f"{SORRY} {THANKS} {LIE} Have a lovely day, and see you soon!", **SLOWLY}
    write(sandbox_url, "tag third", lying, {"text": LIE})
    done = await play(bench, make_work("Hello tag third"))
    events = await bench.events()
    assert [e["data"]["text"] for e in events if e["event"] == "token"][:2] == [SORRY, f" {THANKS}"]
    assert done["reply"].startswith(f"{SORRY} {THANKS} ")
    assert "900" not in done["reply"]
    assert "lovely" not in done["reply"]
    mend = httpx2.get(f"{sandbox_url}/_sandbox/model/calls", params={"limit": 1}).json()[0]
    assert f"has read this much of your reply:\n- {SORRY}" in str(mend["messages"][-1]["content"][0]["text"])
