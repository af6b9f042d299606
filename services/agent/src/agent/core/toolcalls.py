"""Which of a model's tool blocks may run: parsed strictly, known, fitting the schema, not asked too often (R16)."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from agent.core.limits import Limits
from agent.core.state import RunProgress
from common.models.turns import ModelTurn

Json = dict[str, Any]
WRITES = frozenset({"issue_refund", "cancel_order", "change_address", "create_return_label", "update_account_field"})
OWN_TOOLS = frozenset({"hand_to_person", "search_help_center"})


@dataclass(frozen=True, slots=True)
class Run:
    """Send it to the tool gateway (or, for the agent's own tools, carry it out here)."""

    call_id: str
    name: str
    args: Json
    canonical: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Don't run it; the model is told why in the one result its block gets."""

    call_id: str
    name: str
    status: str
    reason: str
    invented: bool = False


def canonical_call(name: str, args: Json) -> str:
    """Return the name and the arguments in one form, so that key order and spacing don't make a new call."""
    body = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{name}:{hashlib.sha256(body.encode()).hexdigest()[:24]}"


def save_calls(turn: ModelTurn, run: RunProgress) -> list[Json]:
    """Return the turn's calls as they are saved: an id that is empty or already used gets a fresh one (BB-LLM-05).

    ``input`` is None for arguments that aren't one strict JSON object; they are never guessed at.
    """
    taken = {block["id"] for message in run.rounds for block in _blocks(message) if block["type"] == "tool_use"}
    saved: list[Json] = []
    for position, call in enumerate(turn.calls):
        call_id = call.id
        if not call_id or call_id in taken:
            call_id = f"toolu_{run.model_calls}_{position}_{len(taken)}"
        taken.add(call_id)
        saved.append({"id": call_id, "name": call.name, "input": call.strict_input()})
    return saved


def judge_call(call: Json, run: RunProgress, schemas: dict[str, Any], limits: Limits) -> Run | Answer:
    """Return what to do with one saved call; ``schemas`` maps a tool's name to its compiled validator."""
    call_id, name, args = call["id"], call["name"], call["input"]
    if name not in schemas:
        return Answer(call_id, name, "invalid", f"there is no tool named {name[:60]!r}", invented=True)
    if args is None:
        return Answer(call_id, name, "invalid", "the arguments are not one complete JSON object")
    problem = next(iter(schemas[name].iter_errors(args)), None)
    if problem is not None:
        # The path says what is wrong; the value itself may be anybody's text and is not echoed.
        where = ".".join(str(part) for part in problem.absolute_path) or "arguments"
        return Answer(call_id, name, "invalid", f"{where}: does not fit the tool's schema ({problem.validator})")
    canonical = canonical_call(name, args)
    if run.seen_calls.get(canonical, 0) >= limits.same_call_per_message:
        return Answer(call_id, name, "blocked", "this same call was made twice already; use its earlier result")
    return Run(call_id, name, args, canonical)


def assistant_message(text: str, calls: list[Json]) -> Json:
    """Return the assistant's turn as content blocks; a call whose arguments were broken is shown with empty ones."""
    blocks: list[Json] = [{"type": "text", "text": text}] if text.strip() else []
    blocks += [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["input"] or {}} for c in calls]
    return {"role": "assistant", "content": blocks}


def results_message(calls: list[Json], results: dict[str, Json]) -> Json:
    """Return the one user turn that answers every call exactly once, in order."""
    return {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": fenced(results[call["id"]]),
                "is_error": results[call["id"]]["status"] in ("invalid", "blocked", "error"),
            }
            for call in calls
        ],
    }


def fenced(result: Json) -> str:
    """Return a tool's result as data: JSON can't close the fence, since ``<`` is escaped in it."""
    body = json.dumps(result, ensure_ascii=False, separators=(",", ":"), default=str).replace("<", "\\u003c")
    return f"<tool_data>{body}</tool_data>"


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else []
