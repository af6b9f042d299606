"""Checks a Messages API request as strictly as the real one does, and reads it as a conversation."""

import re
from typing import Any

from sandbox.core.conversation import read_conversation, text_of
from sandbox.core.turn import Conversation, Json, Tool

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class BadRequest(Exception):  # noqa: N818 - HTTP's own word
    """The request isn't one the API takes; the text is the API's message."""


def parse_request(body: Any, *, counting: bool = False) -> Conversation:
    """Return the conversation of a request body; raises BadRequest."""
    if not isinstance(body, dict):
        raise BadRequest("the body must be an object")
    _need(isinstance(body.get("model"), str) and bool(body["model"]), "model: Field required")
    limit = body.get("max_tokens")
    sane = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1
    _need(counting or sane, "max_tokens: must be an integer of at least 1")
    _need(isinstance(body.get("stream", False), bool), "stream: must be a boolean")
    tools = _tools(body.get("tools"))
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "none":
        tools = ()
    messages = _messages(body.get("messages"))
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    return read_conversation(_system(body.get("system")), tools, messages, user if isinstance(user, str) else "")


def _need(holds: bool, message: str) -> None:  # noqa: FBT001 - reads as a sentence at every call
    if not holds:
        raise BadRequest(message)


def _system(system: object) -> str:
    if system is None:
        return ""
    _need(isinstance(system, (str, list)), "system: must be a string or an array of text blocks")
    if isinstance(system, list):
        _need(all(_is_text(block) for block in system), "system: must hold text blocks")
    return text_of(system)


def _tools(tools: object) -> tuple[Tool, ...]:
    if tools is None:
        return ()
    _need(isinstance(tools, list), "tools: must be an array")
    assert isinstance(tools, list)
    found: dict[str, Tool] = {}
    for index, tool in enumerate(tools):
        _need(isinstance(tool, dict), f"tools.{index}: must be an object")
        name, schema = tool.get("name"), tool.get("input_schema")
        _need(isinstance(name, str) and _TOOL_NAME.fullmatch(name) is not None, f"tools.{index}.name: bad name")
        _need(
            isinstance(schema, dict) and schema.get("type") == "object",
            f"tools.{index}.input_schema: must be an object schema",
        )
        _need(name not in found, "tools: Tool names must be unique.")
        found[name] = Tool(name, schema)
    return tuple(found.values())


def _messages(messages: object) -> list[Json]:
    _need(isinstance(messages, list) and bool(messages), "messages: at least one message is required")
    assert isinstance(messages, list)
    open_calls: set[str] = set()
    seen: set[str] = set()
    for index, message in enumerate(messages):
        _need(
            isinstance(message, dict) and message.get("role") in ("user", "assistant"),
            f"messages.{index}.role: bad role",
        )
        _check_content(index, message.get("content"))
        blocks = message["content"] if isinstance(message["content"], list) else []
        answered = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user":
            _check_answers(index, answered, open_calls)
            open_calls = set()
        else:
            _need(
                not open_calls and not answered, f"messages.{index}: tool_use ids were found without tool_result blocks"
            )
            open_calls = _calls(index, blocks, seen)
    _need(messages[0]["role"] == "user", "messages: first message must use the user role")
    _need(not open_calls, "messages: tool_use ids were found without tool_result blocks immediately after")
    return messages


def _check_content(index: int, content: object) -> None:
    where = f"messages.{index}.content"
    _need(isinstance(content, (str, list)) and bool(content), f"{where}: must not be empty")
    for block in content if isinstance(content, list) else []:
        _need(isinstance(block, dict) and isinstance(block.get("type"), str), f"{where}: must hold blocks")
        if block["type"] == "text":
            _need(_is_text(block), f"{where}: text content blocks must be non-empty")


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str) and bool(block["text"])


def _check_answers(index: int, answered: list[Any], open_calls: set[str]) -> None:
    _need(all(isinstance(call, str) for call in answered), f"messages.{index}: tool_use_id: must be a string")
    _need(len(answered) == len(set(answered)), f"messages.{index}: each tool_use must have a single result")
    unknown = set(answered) - open_calls
    _need(not unknown, f"messages.{index}: unexpected tool_use_id found in tool_result blocks: {sorted(unknown)}")
    missing = open_calls - set(answered)
    _need(not missing, f"messages.{index}: tool_use ids were found without tool_result blocks: {sorted(missing)}")


def _calls(index: int, blocks: list[Json], seen: set[str]) -> set[str]:
    calls = [block for block in blocks if block["type"] == "tool_use"]
    for block in calls:
        ident = str(block.get("id") or "")
        _need(isinstance(block.get("id"), str) and bool(ident), f"messages.{index}: tool_use.id: Field required")
        _need(isinstance(block.get("name"), str), f"messages.{index}: tool_use.name: Field required")
        _need(
            isinstance(block.get("input"), dict),
            f"messages.{index}: tool_use.input: Input should be a valid dictionary",
        )
        _need(ident not in seen, f"messages.{index}: `tool_use` ids must be unique")
        seen.add(ident)
    return {block["id"] for block in calls}
