"""Reads a request's messages (in Anthropic's shape) the way a model would: who said what, and what tools answered."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from sandbox.core.turn import Conversation, Json, Said, Tool, ToolResult

# Fences programs put around text that isn't the customer's; the customer's own tags (<b>, <script>) aren't in here.
_FENCE = re.compile(
    r"<(passages?|tool_results?|tool_data|documents?|articles?|system[a-z_-]*|notes?|context|facts|instructions?|reminders?|"
    r"check[a-z_-]*|correction[a-z_-]*|transcript|limits?|policy|ledger)\b[^>]*>.*?</\1>",
    re.DOTALL | re.IGNORECASE,
)
_WRAPPED = re.compile(r"<(customer[a-z_-]*|question)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_PROGRAM = re.compile(r"\s*\[?(system|note to the model|correction|reply check|reminder)\b[^a-z]", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(question|customer|customer'?s (question|message))\s*:\s*", re.IGNORECASE)


@dataclass
class _Reading:
    said: list[Said] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    earlier: list[ToolResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    depth: int = 0
    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)


def read_conversation(system: str, tools: tuple[Tool, ...], messages: list[Json], user: str) -> Conversation:
    """Return the conversation; ``messages`` are well-formed (see the wires), texts may be anything."""
    reading = _Reading()
    for message in messages:
        blocks = _blocks(message["content"])
        if message["role"] == "assistant":
            _read_assistant(reading, blocks)
        else:
            _read_user(reading, blocks)
    return Conversation(
        system=system,
        tools=tools,
        said=tuple(reading.said),
        results=tuple(reading.results),
        earlier=tuple(reading.earlier),
        notes=tuple(reading.notes),
        depth=reading.depth,
        user=user,
    )


def text_of(content: object) -> str:
    """Return the text of a string or of a list of blocks."""
    return "\n".join(str(block["text"]) for block in _blocks(content) if block.get("type") == "text")


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _read_assistant(reading: _Reading, blocks: list[Json]) -> None:
    reading.depth += 1
    text = text_of(blocks)
    if text:
        reading.said.append(Said("assistant", text))
    for block in blocks:
        if block.get("type") == "tool_use":
            reading.calls[block["id"]] = (block["name"], block.get("input"))


def _read_user(reading: _Reading, blocks: list[Json]) -> None:
    answers = [block for block in blocks if block.get("type") == "tool_result"]
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
    for block in answers:
        reading.results.append(_result(reading, block))
    for text in texts:
        spoken, program = split_customer(text)
        reading.notes.extend(program)
        # Text that comes along with tool results is the program's, whatever it looks like: customers send no results.
        if spoken and answers:
            reading.notes.append(spoken)
        elif spoken:
            reading.said.append(Said("customer", spoken))
            reading.earlier += reading.results
            reading.results = []
            reading.depth = 0


def split_customer(text: str) -> tuple[str, list[str]]:
    """Return what the customer said in a user text, "" when it is all the program's, and the program's fenced parts."""
    fenced = [match.group(0) for match in _FENCE.finditer(text)]
    wrapped = _WRAPPED.findall(text)
    if wrapped:
        return "\n".join(inner.strip() for _, inner in wrapped), fenced
    left = _LABEL.sub("", _FENCE.sub("", text).strip()).strip()
    if _PROGRAM.match(left):
        return "", [*fenced, left]
    return left, fenced


def _result(reading: _Reading, block: Json) -> ToolResult:
    text = text_of(block.get("content", ""))
    name, arguments = reading.calls.get(str(block.get("tool_use_id")), ("", None))
    return ToolResult(name, arguments, text, _json_in(text))


def _json_in(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
