"""Problem documents for what is refused, and the parts of OpenAPI that the routes share."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from common.http import handle_database_away, problem
from gateway.core.rejections import Rejected
from gateway.core.requests import MAX_TEXT_CHARS

_PROBLEM = {
    "application/problem+json": {
        "schema": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
            },
        }
    }
}
_WORDS = {
    400: "The request can't be read.",
    401: "No valid bearer token.",
    404: "No such thing, or somebody else's.",
    410: "It can't be renewed any more.",
    413: "Too large.",
    415: "Another media type is needed.",
    422: "A field is missing or wrong, or the key belongs to another body.",
    429: "Too fast; see Retry-After.",
    503: "A part we need is away; try again.",
}
EVENT_STREAM: dict[str, Any] = {
    "description": "Server-sent events `status`, `action`, `token`, `done`.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}
MESSAGE_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
                    "locale": {"type": "string", "nullable": True, "example": "es-MX"},
                },
            }
        }
    },
}
BEARER: dict[str, Any] = {"security": [{"bearer": []}]}
BEARER_SCHEME: dict[str, Any] = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "JWT",
    "description": "The store's login token, or a visitor's.",
}
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]+$"},
    "description": "A fresh one for each new message; the same one for every repetition.",
}
LAST_EVENT_ID: dict[str, Any] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Replays what came after this event.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a route for these statuses."""
    return {status: {"description": _WORDS[status], "content": _PROBLEM} for status in statuses}


def install_rejections(app: FastAPI) -> None:
    """Answer ``Rejected`` with a problem document, and a database that is away with "try again"."""

    handle_database_away(
        app,
        "We can't say whether it was stored: send it again with the same Idempotency-Key, that is harmless.",
        title="Try again",
    )

    @app.exception_handler(Rejected)
    async def on_rejected(_: Request, e: Rejected) -> JSONResponse:
        headers = {}
        if e.retry_after_s is not None:
            headers["Retry-After"] = str(e.retry_after_s)
        if e.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return problem(e.status, e.detail or e.title, title=e.title, headers=headers or None)


async def read_body(request: Request, limit: int) -> bytes:
    """Return the request's body; Rejected 413 as soon as it is longer than ``limit`` bytes."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and len(declared) < 20 and int(declared) > limit:
        raise Rejected(413, "Body too large", f"At most {limit} bytes.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise Rejected(413, "Body too large", f"At most {limit} bytes.")
    return bytes(body)
