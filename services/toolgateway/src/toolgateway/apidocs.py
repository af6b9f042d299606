"""What the OpenAPI document says of bodies and answers that the routes read by hand, for speed."""

from typing import Any

from common.http import PROBLEM_JSON

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
}
_MEANINGS = {
    400: "The signature does not hold",
    401: "No valid credential or statement",
    403: "The credential or the person may not do this",
    404: "There is no such thing",
    409: "Decided already, or the version was replaced",
    410: "The conversation was erased",
    413: "The body is too large",
    422: "The body or a parameter has the wrong shape",
    503: "A system this needs is away; nothing was done",
}
ROW: Schema = {
    "type": "object",
    "required": ["key", "kind", "customer_id", "status", "verdict", "policy_version", "policy_reason", "version"],
    "properties": {
        "key": _TEXT,
        "kind": {"enum": ["refund", "cancel", "address_change", "return_label", "account_change"]},
        "customer_id": _TEXT,
        "message_id": {"type": ["string", "null"], "description": "The customer's message that asked for it"},
        "status": {"enum": ["pending", "awaiting_approval", "succeeded", "rejected", "failed"]},
        "amount": {"type": ["string", "null"]},
        "currency": {"type": ["string", "null"]},
        "verdict": {"enum": ["auto", "approval", "staff"]},
        "policy_version": _TEXT,
        "policy_reason": _TEXT,
        "version": {"type": "integer", "minimum": 1},
        "digest": _TEXT,
        "args": {"type": "object"},
        "order": {"type": "object"},
    },
}
TOOL_CALL: Schema = {
    "type": "object",
    "required": ["args"],
    "properties": {
        "args": {"description": "The tool's arguments as the model wrote them; anything unfit is answered `invalid`."},
        "context": {
            "type": "object",
            "description": "What the caller says of its own input; it can only tighten.",
            "properties": {
                "guard": {"enum": ["clean", "flagged", "down"]},
                "intent_confidence": {"type": "number", "minimum": 0, "maximum": 1},
                "language": _TEXT,
                "message_id": _TEXT,
                "run_id": _TEXT,
            },
        },
    },
}
TOOL_ANSWER: Schema = {
    "type": "object",
    "required": ["status", "result"],
    "properties": {
        "status": {
            "enum": [
                "ok", "not_found", "invalid", "denied", "handoff", "blocked",
                "pending", "awaiting_approval", "succeeded", "rejected", "failed",
            ]
        },
        "result": {"type": "object"},
    },
}  # fmt: skip
TOOL_LIST: Schema = {
    "type": "object",
    "required": ["tools"],
    "properties": {
        "tools": {"type": "array", "items": {"type": "object", "required": ["name", "description", "input_schema"]}}
    },
}
DECISION: Schema = {
    "type": "object",
    "required": ["decision", "version"],
    "properties": {
        "decision": {"enum": ["approve", "reject"]},
        "note": {"type": ["string", "null"], "maxLength": 2000},
        "version": {"type": "integer", "minimum": 1},
        "digest": {"type": ["string", "null"]},
    },
}
TASK: Schema = {
    "type": "object",
    "required": ["id", "opened_at", "about", "reason", "details", "closed_at", "closed_by", "closed_why"],
    "properties": {
        "id": {"type": "integer"},
        "opened_at": _TEXT,
        "about": {"type": "string", "description": "A ledger key, a refund's id or an order."},
        "reason": _TEXT,
        "details": {"type": "object"},
        "closed_at": {"type": ["string", "null"]},
        "closed_by": {"type": ["string", "null"]},
        "closed_why": {"type": ["string", "null"]},
    },
}
TASK_CLOSE: Schema = {
    "type": "object",
    "required": ["why"],
    "properties": {"why": {"type": "string", "minLength": 1, "maxLength": 2000}},
}
COMPARE: Schema = {"type": "object", "properties": {"not_within_s": {"type": "number", "minimum": 0}}}
COMPARED: Schema = {
    "type": "object",
    "required": ["begun", "last", "open_tasks"],
    "properties": {
        "begun": {"type": "boolean"},
        "last": {"type": ["object", "null"]},
        "open_tasks": {"type": "integer", "minimum": 0},
    },
}
WEBHOOK: Schema = {"type": "object", "required": ["id", "type", "data"]}


def rows(item: Schema) -> Schema:
    """Return the schema of a list answer."""
    return {"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": item}}}


def body(schema: Schema) -> Schema:
    """Return the OpenAPI part that declares a JSON body."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def answers(*statuses: int, ok: Schema = _OBJECT) -> dict[int | str, Schema]:
    """Return the OpenAPI part that declares the good answer and the problems a route may answer with."""
    problems: dict[int | str, Schema] = {
        status: {"description": _MEANINGS[status], "content": {PROBLEM_JSON: {"schema": _PROBLEM}}}
        for status in statuses
    }
    return {200: {"description": "Done", "content": {"application/json": {"schema": ok}}}} | problems
