"""A turn in Anthropic's shape: one JSON message, or the events of a stream."""

import json
from collections.abc import Iterator
from typing import Any

from sandbox.core.turn import Json, ToolUse, Turn
from sandbox.core.usage import tokens

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_TEXT_CHUNK = 24
_JSON_CHUNK = 16


def error_body(status: int, message: str, request_id: str) -> Json:
    """Return the body of an error answer."""
    kind = _ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def message(turn: Turn, *, message_id: str, model: str, usage: Json) -> Json:
    """Return a whole message; ``usage`` is the input side."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks(turn, message_id),
        "stop_reason": stop_reason(turn),
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": output_tokens(turn), **turn.usage},
    }


def stop_reason(turn: Turn) -> str:
    """Return why the turn ended."""
    return "tool_use" if turn.tools else "end_turn"


def output_tokens(turn: Turn) -> int:
    """Return the size of what the model wrote."""
    return tokens(turn.text) + sum(tokens(tool.name) + tokens(argument_text(tool)) for tool in turn.tools)


def blocks(turn: Turn, message_id: str) -> list[Json]:
    """Return the content blocks: text first, then tools; a turn of nothing is one empty text."""
    found: list[Json] = [{"type": "text", "text": turn.text}] if turn.text or not turn.tools else []
    for index, tool in enumerate(turn.tools):
        arguments = tool.input if tool.raw_input is None else tool.raw_input
        found.append(
            {"type": "tool_use", "id": call_id(tool, message_id, index), "name": tool.name, "input": arguments}
        )
    return found


def call_id(tool: ToolUse, message_id: str, index: int) -> str:
    """Return the id of a tool call: the scripted one, else one made from the message's."""
    return tool.id if tool.id is not None else f"toolu_{message_id[-20:]}{index:02d}"


def argument_text(tool: ToolUse) -> str:
    """Return a call's arguments as the JSON text a stream carries; malformed ones just as they are."""
    return tool.raw_input if tool.raw_input is not None else json.dumps(tool.input, ensure_ascii=False)


def events(turn: Turn, *, message_id: str, model: str, usage: Json) -> Iterator[tuple[str, Json]]:
    """Yield (event name, data) of a stream, ``message_start`` to ``message_stop``."""
    empty: Json = {**message(turn, message_id=message_id, model=model, usage=usage), "content": [], "stop_reason": None}
    empty["usage"] = {**usage, "output_tokens": 1, **turn.usage}
    yield "message_start", {"type": "message_start", "message": empty}
    yield "ping", {"type": "ping"}
    index = 0
    if turn.text or not turn.tools:
        yield from _text_events(index, turn.text)
        index += 1
    for place, tool in enumerate(turn.tools):
        yield from _tool_events(index, tool, call_id(tool, message_id, place))
        index += 1
    delta = {"stop_reason": stop_reason(turn), "stop_sequence": None}
    counted = {**usage, "output_tokens": output_tokens(turn), **turn.usage}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": counted}
    yield "message_stop", {"type": "message_stop"}


def _text_events(index: int, text: str) -> Iterator[tuple[str, Json]]:
    yield _start(index, {"type": "text", "text": ""})
    for at in range(0, len(text), _TEXT_CHUNK):
        yield _delta(index, {"type": "text_delta", "text": text[at : at + _TEXT_CHUNK]})
    yield _stop(index)


def _tool_events(index: int, tool: ToolUse, ident: str) -> Iterator[tuple[str, Json]]:
    arguments = argument_text(tool)
    yield _start(index, {"type": "tool_use", "id": ident, "name": tool.name, "input": {}})
    yield _delta(index, {"type": "input_json_delta", "partial_json": ""})
    for at in range(0, len(arguments), _JSON_CHUNK):
        yield _delta(index, {"type": "input_json_delta", "partial_json": arguments[at : at + _JSON_CHUNK]})
    yield _stop(index)


def _start(index: int, block: Json) -> tuple[str, Json]:
    return "content_block_start", {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: Json) -> tuple[str, Json]:
    return "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}


def _stop(index: int) -> tuple[str, Json]:
    return "content_block_stop", {"type": "content_block_stop", "index": index}


def sse(name: str, data: Any) -> bytes:
    """Return one server-sent event; lone surrogates stay escaped."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
