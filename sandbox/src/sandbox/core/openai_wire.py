"""The chat-completions wire: requests translated to the shared shape, turns to a completion or its chunks."""

import json
from collections.abc import Iterator
from typing import Any

from sandbox.core.anthropic_request import BadRequest
from sandbox.core.anthropic_wire import argument_text, call_id, output_tokens
from sandbox.core.conversation import read_conversation, text_of
from sandbox.core.turn import Conversation, Json, Tool, Turn
from sandbox.core.usage import tokens

_CHUNK = 24
_ERRORS = {401: "invalid_api_key", 429: "rate_limit_exceeded", 400: "invalid_request_error"}


def parse_request(body: Any) -> Conversation:
    """Return the conversation of a request body; raises BadRequest."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise BadRequest("you must provide a model parameter")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise BadRequest("messages: must be a non-empty array of objects")
    system = "\n".join(text_of(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    tools = () if body.get("tool_choice") == "none" else _tools(body.get("tools"))
    user = body.get("user") or body.get("safety_identifier")
    return read_conversation(system, tools, _translate(messages), user if isinstance(user, str) else "")


def _tools(tools: object) -> tuple[Tool, ...]:
    if tools is None:
        return ()
    if not isinstance(tools, list):
        raise BadRequest("tools: must be an array")
    found = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadRequest("tools: each needs a function with a name")
        schema = function.get("parameters")
        found.append(Tool(function["name"], schema if isinstance(schema, dict) else {}))
    return tuple(found)


def _translate(messages: list[Json]) -> list[Json]:
    """Return user and assistant messages in Anthropic's shape; each run of tool messages becomes one user message."""
    shared: list[Json] = []
    open_calls: set[str] = set()
    for message in messages:
        role = message.get("role")
        if role == "tool":
            ident = message.get("tool_call_id")
            if ident not in open_calls:
                raise BadRequest(
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                )
            open_calls.discard(ident)
            result = {"type": "tool_result", "tool_use_id": ident, "content": text_of(message.get("content"))}
            if shared and shared[-1].get("results"):
                shared[-1]["content"].append(result)
            else:
                shared.append({"role": "user", "content": [result], "results": True})
            continue
        if open_calls:
            raise BadRequest(
                "an assistant message with 'tool_calls' must be followed by tool messages for each tool_call_id"
            )
        if role == "assistant":
            blocks = _assistant_blocks(message)
            open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
            shared.append({"role": "assistant", "content": blocks})
        elif role == "user":
            shared.append({"role": "user", "content": text_of(message.get("content"))})
        elif role not in ("system", "developer"):
            raise BadRequest(f"messages: unknown role {role!r:.40}")
    if open_calls:
        raise BadRequest(
            "an assistant message with 'tool_calls' must be followed by tool messages for each tool_call_id"
        )
    return shared


def _assistant_blocks(message: Json) -> list[Json]:
    text = text_of(message.get("content"))
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(call.get("id"), str):
            raise BadRequest("tool_calls: each needs an id and a function")
        name, arguments = function.get("name"), _loads(function.get("arguments"))
        blocks.append({"type": "tool_use", "id": call["id"], "name": str(name), "input": arguments})
    return blocks


def _loads(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def error_body(status: int, text: str) -> Json:
    """Return the body of an error answer."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": _ERRORS.get(status)}}


def usage_of(body: Json, turn: Turn) -> Json:
    """Return the usage of a call."""
    prompt, completion = tokens([body.get("messages"), body.get("tools")]), output_tokens(turn)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **turn.usage,
    }


def completion(turn: Turn, *, ident: str, model: str, created: int, usage: Json) -> Json:
    """Return a whole completion."""
    message: Json = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.tools:
        message["tool_calls"] = _calls(turn, ident)
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn), "logprobs": None}
    return {
        "id": ident,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def chunks(turn: Turn, *, ident: str, model: str, created: int, usage: Json | None) -> Iterator[Json]:
    """Yield the chunks of a stream; the last carries usage when it was asked for. ``[DONE]`` is the wire's."""

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {"id": ident, "object": "chat.completion.chunk", "created": created, "model": model, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for at in range(0, len(turn.text), _CHUNK):
        yield chunk({"content": turn.text[at : at + _CHUNK]})
    for index, call in enumerate(_calls(turn, ident)):
        arguments = call["function"]["arguments"]
        yield chunk({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
        for at in range(0, len(arguments), _CHUNK):
            piece = {"index": index, "function": {"arguments": arguments[at : at + _CHUNK]}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, _finish(turn))
    if usage is not None:
        yield {**chunk({}), "choices": [], "usage": usage}


def _calls(turn: Turn, ident: str) -> list[Json]:
    return [
        {
            "id": call_id(tool, ident, index),
            "type": "function",
            "function": {"name": tool.name, "arguments": argument_text(tool)},
        }
        for index, tool in enumerate(turn.tools)
    ]


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.tools else "stop"
