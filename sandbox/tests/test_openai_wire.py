"""Chat completions over a real socket, spoken to by the official SDK; scripts carry over from the other wire."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

GET_ORDER: Any = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up an order.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    },
}


@pytest.fixture
def gpt(sandbox: Any) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{sandbox.url}/openai/v1", api_key="any", max_retries=0) as client:
        yield client


def test_a_tool_loop_runs_streamed_and_plain(gpt: openai.OpenAI) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Answer in German."},
        {"role": "user", "content": "Wo ist 4417028?"},
    ]
    arguments, finish, usage = "", None, None
    stream = gpt.chat.completions.create(
        model="gpt-large", messages=messages, tools=[GET_ORDER], stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or []:
                arguments += (piece.function.arguments if piece.function else None) or ""
    assert (json.loads(arguments), finish) == ({"order_id": "4417028"}, "tool_calls")
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0
    plain = gpt.chat.completions.create(model="gpt-large", messages=messages, tools=[GET_ORDER])
    calls = plain.choices[0].message.tool_calls
    assert calls
    assert calls[0].type == "function"
    result = json.dumps({"status": "ok", "result": {"order_id": "4417028", "status": "shipped", "lines": []}})
    messages += [
        plain.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": calls[0].id, "content": result},
    ]
    last = gpt.chat.completions.create(model="gpt-large", messages=messages, tools=[GET_ORDER])
    assert last.choices[0].message.content == "Die Bestellung 4417028 ist verschickt und unterwegs."


def test_a_run_that_changes_provider_goes_on_with_its_script(sandbox: Any, gpt: openai.OpenAI) -> None:
    turns = [{"error": 529}, {"text": "from the second"}]
    sandbox.call("POST", "/_sandbox/model/scripts", {"match": {"text_contains": "failover"}, "turns": turns})
    message: Any = {"role": "user", "content": "failover"}
    claude = anthropic.Anthropic(base_url=f"{sandbox.url}/anthropic", api_key="k", max_retries=0)
    with claude, pytest.raises(anthropic.OverloadedError):
        claude.messages.create(model="m", max_tokens=9, messages=[message], metadata={"user_id": "conv_1"})
    said = gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": "failover"}])
    assert said.choices[0].message.content == "from the second"


def test_scripted_errors_cuts_and_raw_answers_break_this_wire_too(sandbox: Any, gpt: openai.OpenAI) -> None:
    turns = [{"error": 429}, {"text": "x" * 100, "cut_after": 2}, {"raw": "data: {oops\n\n"}]
    sandbox.call("POST", "/_sandbox/model/scripts", {"match": {"text_contains": "break"}, "turns": turns})
    messages: list[Any] = [{"role": "user", "content": "break"}]
    with pytest.raises(openai.RateLimitError):
        gpt.chat.completions.create(model="m", messages=messages)
    chunks = list(gpt.chat.completions.create(model="m", messages=messages, stream=True))
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices] == [None, None]
    with pytest.raises(json.JSONDecodeError):
        list(gpt.chat.completions.create(model="m", messages=messages, stream=True))


def test_planned_faults_of_the_second_provider_arrive_here(sandbox: Any, gpt: openai.OpenAI) -> None:
    sandbox.fault("error_500", "model2")
    with pytest.raises(openai.InternalServerError):
        gpt.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "wizard", "content": "x"}],
        [{"role": "tool", "tool_call_id": "t1", "content": "x"}],
    ],
)
def test_malformed_requests_are_refused(gpt: openai.OpenAI, messages: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        gpt.chat.completions.create(model="m", messages=messages)


def test_models_are_listed_and_a_key_is_needed(sandbox: Any, gpt: openai.OpenAI) -> None:
    assert [model.id for model in gpt.models.list()] == ["gpt-large", "gpt-small"]
    assert sandbox.client.post("/openai/v1/chat/completions", json={"model": "m"}).status_code == 401
