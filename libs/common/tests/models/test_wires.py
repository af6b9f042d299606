"""Both providers' adapters against the model server's real wire, in a process of its own, with its faults."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from aiohttp import web

from common.models import Meter, ModelFault, ModelRefused, ModelRequest, Provider, metered
from common.models.anthropic_wire import AnthropicProvider
from common.models.openai_wire import OpenAIProvider

TOOL = {
    "name": "get_order",
    "description": "Read one order",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
}
MODELS: Any = {"large": "claude-sonnet-5-5", "small": "claude-haiku-5-5"}


@pytest.fixture(params=["anthropic", "openai"])
async def provider(request: pytest.FixtureRequest, sandbox_url: str) -> AsyncIterator[Provider]:
    made: Provider
    if request.param == "anthropic":
        made = AnthropicProvider("key", MODELS, f"{sandbox_url}/anthropic", timeout_s=5)
    else:
        made = OpenAIProvider("key", MODELS, f"{sandbox_url}/openai/v1", timeout_s=5)
    yield made
    await made.close()


def script(url: str, tag: str, *turns: dict[str, Any]) -> None:
    # ASCII, so that half of a surrogate pair goes over as the escape it is.
    body = json.dumps({"match": {"text_contains": tag}, "turns": list(turns), "repeat": False})
    headers = {"Content-Type": "application/json"}
    assert httpx2.post(f"{url}/_sandbox/model/scripts", content=body, headers=headers).status_code < 300


def asks(text: str, **over: Any) -> ModelRequest:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return ModelRequest("You are helpful.", (message,), (TOOL,), context="Answer in English.", **over)


async def test_a_text_turn_arrives_whole_with_its_usage(provider: Provider, sandbox_url: str) -> None:
    tag = f"text-{provider.name}"
    script(sandbox_url, tag, {"text": "Hello there."})
    turn = await provider.ask(asks(tag))
    assert (turn.text, turn.stop_reason, turn.calls) == ("Hello there.", "end_turn", ())
    assert turn.usage.output_tokens > 0
    assert turn.usage.total > turn.usage.output_tokens


async def test_tool_calls_keep_their_ids_and_raw_arguments(provider: Provider, sandbox_url: str) -> None:
    tag = f"tool-{provider.name}"
    script(
        sandbox_url, tag, {"text": "Looking.", "tool_use": [{"name": "get_order", "input": {"order_id": "1234567"}}]}
    )
    turn = await provider.ask(asks(tag))
    assert turn.wants_tools
    assert turn.calls[0].id
    assert turn.calls[0].strict_input() == {"order_id": "1234567"}


async def test_a_tool_round_is_understood_when_it_is_sent_back(provider: Provider, sandbox_url: str) -> None:
    tag = f"round-{provider.name}"
    script(sandbox_url, tag, {"tool_use": [{"name": "get_order", "input": {"order_id": "1234567"}}]}, {"text": "Done."})
    first = await provider.ask(asks(tag))
    call = first.calls[0]
    messages = (
        {"role": "user", "content": [{"type": "text", "text": tag}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": {"order_id": "1234567"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "{}", "is_error": False}],
        },
    )
    second = await provider.ask(ModelRequest("You are helpful.", messages, (TOOL,)))
    assert second.text == "Done."


@pytest.mark.parametrize("fault", [{"error": 529}, {"error": 500}, {"raw": "}{ not json"}])
async def test_what_may_pass_is_a_fault(provider: Provider, sandbox_url: str, fault: dict[str, Any]) -> None:
    tag = f"fault-{provider.name}-{next(iter(fault.values()))}"
    script(sandbox_url, tag, fault)
    with pytest.raises(ModelFault):
        await provider.ask(asks(tag))


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_a_stream_cut_off_anywhere_is_never_a_turn(provider: Provider, sandbox_url: str, after: int) -> None:
    tag = f"cut-{provider.name}-{after}"
    turn = {"tool_use": [{"name": "get_order", "input": {"order_id": "1234567"}}], "cut_after": after}
    script(sandbox_url, tag, turn)
    with pytest.raises(ModelFault):
        await provider.ask(asks(tag))


async def test_a_request_that_is_wrong_in_itself_is_refused(provider: Provider) -> None:
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "{}"}]}
    with pytest.raises(ModelRefused):
        await provider.ask(ModelRequest("s", (orphan,), (TOOL,)))


async def test_the_fixed_part_is_read_from_the_cache_the_second_time(sandbox_url: str) -> None:
    made = AnthropicProvider("key", MODELS, f"{sandbox_url}/anthropic", timeout_s=5)
    long = ModelRequest("Rules. " * 2_000, ({"role": "user", "content": [{"type": "text", "text": "hello"}]},), (TOOL,))
    await made.ask(long)
    again = await made.ask(long)
    await made.close()
    assert again.usage.cache_read_tokens > 0


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.begun = 0

    async def begin(self, request: ModelRequest) -> ModelRequest:
        self.begun += 1
        return request

    def hear(self, text: str) -> None:
        self.heard.append(text)

    def hear_tool(self) -> None:
        self.heard.append("<tool>")


async def test_a_listener_hears_the_text_piece_by_piece_and_the_tool_that_ends_it(
    provider: Provider, sandbox_url: str
) -> None:
    tag, text = f"heard-{provider.name}", "Looking at it. This takes me a moment, please wait."
    script(sandbox_url, tag, {"text": text, "tool_use": [{"name": "get_order", "input": {"order_id": "1234567"}}] * 2})
    listener = Listener()
    turn = await provider.ask(asks(tag), listener)
    assert turn.text == text
    assert "".join(listener.heard) == f"{text}<tool>"
    assert len(listener.heard) > 2


async def test_a_listener_hears_what_came_before_a_cut(provider: Provider, sandbox_url: str) -> None:
    tag, listener = f"half-{provider.name}", Listener()
    script(sandbox_url, tag, {"text": "Hello there, this is a longer sentence. " * 5, "cut_after": 6})
    with pytest.raises(ModelFault):
        await provider.ask(asks(tag), listener)
    assert "".join(listener.heard).startswith("Hello there, this is")


async def test_a_server_that_is_not_there_is_a_fault() -> None:
    made = AnthropicProvider("key", MODELS, "http://127.0.0.1:9", timeout_s=1)
    with pytest.raises(ModelFault):
        await made.ask(asks("hello"))
    await made.close()


@asynccontextmanager
async def recording(*events: Any) -> AsyncIterator[tuple[AnthropicProvider, list[Any]]]:
    """A provider at a server that answers every request with these events and keeps what it was asked."""
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.headers["anthropic-version"], "as the SDK's own method sends it"
        asked.append(json.loads(await request.read()))
        lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
        return web.Response(text="".join(lines), content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    made = AnthropicProvider("key", MODELS, f"http://{host}:{port}", timeout_s=5)
    yield made, asked
    await made.close()
    await runner.cleanup()


START = {"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 7, "output_tokens": 1}}}
TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Bonjour. "}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}


async def test_the_request_holds_what_was_asked_and_marks_prompt_and_tools_for_the_cache() -> None:
    other = {**TOOL, "name": "list_orders"}
    cached = {"cache_control": {"type": "ephemeral"}}
    request = ModelRequest('Règles "fixes".', ({"role": "user", "content": "Où ?"},), (TOOL, other), context="Heute.")
    async with recording(START, TEXT, END) as (made, asked):
        await made.ask(request)
        await made.ask(ModelRequest(request.system, request.messages, subject="conv_1", size="small", max_tokens=9))
        await made.ask(ModelRequest("Other", request.messages, request.tools, tools_allowed=False))
    assert asked[0] == {
        "model": MODELS["large"],
        "max_tokens": 1024,
        "stream": True,
        "messages": [{"role": "user", "content": "Où ?"}],
        "system": [{"type": "text", "text": request.system} | cached, {"type": "text", "text": "Heute."}],
        "tools": [TOOL, other | cached],
    }
    assert asked[1] == {
        "model": MODELS["small"],
        "max_tokens": 9,
        "stream": True,
        "messages": [{"role": "user", "content": "Où ?"}],
        "metadata": {"user_id": "conv_1"},
        "system": [{"type": "text", "text": request.system} | cached],
    }
    assert asked[2]["system"] == [{"type": "text", "text": "Other"} | cached]
    assert (asked[2]["tools"], asked[2]["tool_choice"]) == ([TOOL, other | cached], {"type": "none"})


async def test_kinds_of_events_that_nobody_knows_yet_are_passed_over() -> None:
    new = {"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": ""}}
    thought = {"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "Hm."}}
    async with recording(START, {"type": "weather"}, new, thought, TEXT, END) as (made, _):
        turn = await made.ask(asks("x"))
    assert (turn.text, turn.model, turn.usage.input_tokens, turn.usage.output_tokens) == ("Bonjour. ", "claude-x", 7, 3)


@pytest.mark.parametrize(
    "garbled",
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "index": 0, "delta": "Bonjour"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "no index"}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": 7, "name": "get_order"},
        },
        {"type": "message_delta", "delta": {"stop_reason": ["end_turn"]}, "usage": {"output_tokens": 3}},
        {"type": "message_start", "message": None},
    ],
)
async def test_a_known_event_of_another_shape_is_a_fault_and_not_half_a_turn(garbled: Any) -> None:
    async with recording(START, garbled, END) as (made, _):
        with pytest.raises(ModelFault):
            await made.ask(asks("x"))


async def test_an_error_inside_the_stream_is_a_fault() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    async with recording(START, TEXT, error) as (made, _):
        with pytest.raises(ModelFault, match="overloaded_error"):
            await made.ask(asks("x"))


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
GARBLED = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}}


@pytest.mark.parametrize("broken_by", [(), (OVERLOADED,), (GARBLED,)], ids=["cut off", "overloaded", "garbled"])
async def test_a_stream_that_breaks_off_is_counted_with_what_it_told_of_usage(broken_by: Any) -> None:
    async with recording(START, TEXT, *broken_by) as (made, _):
        with metered(Meter()) as meter, pytest.raises(ModelFault):
            await made.ask(asks("x"))
    assert meter.tokens == 8
    assert meter.cost_usd > 0


async def test_a_whole_stream_is_left_to_the_gateway_to_count() -> None:
    async with recording(START, TEXT, END) as (made, _):
        with metered(Meter()) as meter:
            await made.ask(asks("x"))
    assert meter.tokens == 0


async def test_what_no_database_can_store_does_not_get_past_the_wire(provider: Provider, sandbox_url: str) -> None:
    tag = f"unfit-{provider.name}"
    script(sandbox_url, tag, {"text": "Hel\x00lo \ud800there."})
    assert (await provider.ask(asks(tag))).text == "Hello there."
    tag = f"unfit-call-{provider.name}"
    used = [{"name": "get_order", "input": {"order_id": "4417028\x00"}}, {"name": "get\x00_order", "input": {}}]
    script(sandbox_url, tag, {"tool_use": used})
    first, second = (await provider.ask(asks(tag))).calls
    assert (first.name, first.strict_input()) == ("get_order", None)
    assert second.name == "get\ufffd_order"
