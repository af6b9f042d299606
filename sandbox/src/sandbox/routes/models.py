"""The model server: Anthropic's Messages API and OpenAI's chat completions in front of the same simulated models."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from common.clock import Clock
from common.ids import new_id
from sandbox.adapters.calls import Calls
from sandbox.adapters.choices import Choices
from sandbox.adapters.database import stamp
from sandbox.adapters.faults import FaultPlan
from sandbox.adapters.scripts import Scripts
from sandbox.core import anthropic_request, anthropic_wire, openai_wire
from sandbox.core.anthropic_request import BadRequest
from sandbox.core.faults import ON_MODEL, FaultKind, Target
from sandbox.core.personas.speak import speak
from sandbox.core.personas.tasks import is_task
from sandbox.core.turn import Conversation, Turn
from sandbox.core.usage import PromptCache, tokens

_SLOW_MS = 2_000
# Several events a write: the client parses them one by one all the same, and a turn costs us far fewer system calls.
_EVENTS_PER_WRITE = 6
_MODELS = ("claude-sonnet-5-5", "claude-haiku-5-5")
_STATUS: dict[FaultKind, int] = {
    "down": 503,
    "error_429": 429,
    "error_500": 500,
    "refuse": 400,
    "timeout_before_effect": 504,
    "timeout_after_effect": 504,
}

ErrorBody = Callable[[int, str], dict[str, Any]]


class Models:
    """Both wires; a call is logged, meets the fault plan, then a script or the persona answers."""

    def __init__(
        self, *, calls: Calls, faults: FaultPlan, scripts: Scripts, choices: Choices, clock: Clock, hold_ms: int
    ) -> None:
        self._calls = calls
        self._faults = faults
        self._scripts = scripts
        self._choices = choices
        self._clock = clock
        self._hold_ms = hold_ms
        self._cache = PromptCache()

    async def messages(self, request: Request) -> Response:
        """``POST /anthropic/v1/messages``."""
        request_id = new_id("req")

        def error(status: int, text: str) -> dict[str, Any]:
            return anthropic_wire.error_body(status, text, request_id)

        body, failed = await self._open(request, "anthropic", error)
        if failed is None:
            try:
                conversation = anthropic_request.parse_request(body)
            except BadRequest as refused:
                failed = _json(error(400, str(refused)), 400)
            else:
                failed = await self._trouble("model", conversation, error)
                if failed is None:
                    failed = self._message(body, conversation, error)
        failed.headers["request-id"] = request_id
        return failed

    async def count_tokens(self, request: Request) -> Response:
        """``POST /anthropic/v1/messages/count_tokens``."""
        request_id = new_id("req")

        def error(status: int, text: str) -> dict[str, Any]:
            return anthropic_wire.error_body(status, text, request_id)

        body, failed = await self._read(request, error)
        if failed is None:
            try:
                anthropic_request.parse_request(body, counting=True)
                counted = tokens([body.get("tools"), body.get("system"), body.get("messages")])
                failed = _json({"input_tokens": counted}, 200)
            except BadRequest as refused:
                failed = _json(error(400, str(refused)), 400)
        failed.headers["request-id"] = request_id
        return failed

    async def list_models(self) -> Response:
        """``GET /anthropic/v1/models``."""
        made = "2026-01-01T00:00:00Z"
        found = [
            {"type": "model", "id": name, "display_name": name, "created_at": made, "lifecycle": "active"}
            for name in _MODELS
        ]
        return _json({"data": found, "has_more": False, "first_id": _MODELS[0], "last_id": _MODELS[-1]}, 200)

    async def completions(self, request: Request) -> Response:
        """``POST /openai/v1/chat/completions``."""
        error = openai_wire.error_body
        body, failed = await self._open(request, "openai", error)
        if failed is not None:
            return failed
        try:
            conversation = openai_wire.parse_request(body)
        except BadRequest as refused:
            return _json(error(400, str(refused)), 400)
        failed = await self._trouble("model2", conversation, error)
        return failed or self._completion(body, conversation, error)

    async def list_openai_models(self) -> Response:
        """``GET /openai/v1/models``."""
        found = [
            {"id": name, "object": "model", "created": 0, "owned_by": "sandbox"} for name in ("gpt-large", "gpt-small")
        ]
        return _json({"object": "list", "data": found}, 200)

    async def _open(self, request: Request, provider: str, error: ErrorBody) -> tuple[Any, Response | None]:
        body, failed = await self._read(request, error)
        if failed is None:
            self._calls.add(body, provider, stamp(self._clock.now()))
        return body, failed

    async def _read(self, request: Request, error: ErrorBody) -> tuple[Any, Response | None]:
        if not (request.headers.get("x-api-key") or request.headers.get("authorization")):
            return None, _json(error(401, "x-api-key header is required"), 401)
        try:
            return json.loads(await request.body()), None
        except (ValueError, RecursionError):
            return None, _json(error(400, "the body is not valid JSON"), 400)

    async def _trouble(self, target: Target, conversation: Conversation, error: ErrorBody) -> Response | None:
        words = frozenset(re.findall(r"[\w#-]+", " ".join(conversation.customer)))
        fault = self._faults.take(target, ON_MODEL, words)
        if fault is None:
            return None
        if fault.kind == "slow":
            await _pause(fault.delay_ms, _SLOW_MS)
            return None
        if fault.kind in ("timeout_before_effect", "timeout_after_effect"):
            await _pause(fault.delay_ms, self._hold_ms)
        status = _STATUS[fault.kind]
        return _json(error(status, f"planned fault: {fault.kind}"), status)

    def _turn(self, conversation: Conversation) -> Turn:
        # Summaries and other tasks about a conversation aren't its turns, so scripts don't apply to them.
        scripted = None if is_task(conversation) else self._scripts.next_turn(conversation)
        return scripted or speak(self._choices.persona(), conversation)

    def _message(self, body: dict[str, Any], conversation: Conversation, error: ErrorBody) -> Response:
        turn = self._turn(conversation)
        said = bool(turn.text or turn.tools)
        if turn.error is not None and not (said and body.get("stream")):
            return _json(error(turn.error, "scripted error"), turn.error)
        if turn.raw is not None:
            return _raw(turn.raw, streams=bool(body.get("stream")))
        usage = self._cache.account(body, self._clock.now().timestamp())
        shape = {"message_id": new_id("msg"), "model": body["model"], "usage": usage}
        if not body.get("stream"):
            whole = anthropic_wire.message(turn, **shape)
            return _json(whole, 200) if turn.cut_after is None else _half(whole)
        frames = [anthropic_wire.sse(name, data) for name, data in anthropic_wire.events(turn, **shape)]
        broken = anthropic_wire.sse("error", error(turn.error, "overloaded")) if turn.error is not None else b""
        return _stream(_cut(frames, turn), broken, turn.pace_ms)

    def _completion(self, body: dict[str, Any], conversation: Conversation, error: ErrorBody) -> Response:
        turn = self._turn(conversation)
        if turn.error is not None:
            return _json(error(turn.error, "scripted error"), turn.error)
        if turn.raw is not None:
            return _raw(turn.raw, streams=bool(body.get("stream")))
        usage = openai_wire.usage_of(body, turn)
        created = int(self._clock.now().timestamp())
        ident = new_id("chatcmpl")
        if not body.get("stream"):
            whole = openai_wire.completion(turn, ident=ident, model=body["model"], created=created, usage=usage)
            return _json(whole, 200) if turn.cut_after is None else _half(whole)
        options = body.get("stream_options")
        counted = usage if isinstance(options, dict) and options.get("include_usage") else None
        chunks = openai_wire.chunks(turn, ident=ident, model=body["model"], created=created, usage=counted)
        frames = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        return _stream(_cut([*frames, b"data: [DONE]\n\n"], turn), b"", turn.pace_ms)


def _cut(frames: list[bytes], turn: Turn) -> list[bytes]:
    """Leave out what a cut stream never sends: at least the closing event."""
    if turn.cut_after is not None:
        return frames[: min(turn.cut_after, len(frames) - 1)]
    return frames if turn.error is None else frames[: len(frames) // 2]


def _stream(frames: list[bytes], ending: bytes, pace_ms: int) -> Response:
    at_once = 1 if pace_ms else _EVENTS_PER_WRITE

    async def write() -> AsyncIterator[bytes]:
        for at in range(0, len(frames), at_once):
            if pace_ms:
                await _pause(pace_ms, 0)
            yield b"".join(frames[at : at + at_once])
        if ending:
            yield ending

    return StreamingResponse(write(), media_type="text/event-stream", headers={"cache-control": "no-cache"})


def _json(body: object, status: int) -> Response:
    # ASCII, so that a script's lone surrogates go over the wire as the escapes they were.
    headers = {"retry-after": "1"} if status == 429 else None
    return Response(json.dumps(body), status_code=status, media_type="application/json", headers=headers)


def _half(body: object) -> Response:
    text = json.dumps(body)
    return Response(text[: len(text) // 2], media_type="application/json")


def _raw(text: str, *, streams: bool) -> Response:
    media_type = "text/event-stream" if streams else "application/json"
    return Response(text.encode("utf-8", "surrogatepass"), media_type=media_type)


async def _pause(delay_ms: int | None, default_ms: int) -> None:
    await asyncio.sleep((default_ms if delay_ms is None else delay_ms) / 1000)


def router(models: Models) -> APIRouter:
    """Return the routes of both wires."""
    routes = APIRouter(tags=["models"])
    routes.post("/anthropic/v1/messages")(models.messages)
    routes.post("/anthropic/v1/messages/count_tokens")(models.count_tokens)
    routes.get("/anthropic/v1/models")(models.list_models)
    routes.post("/openai/v1/chat/completions")(models.completions)
    routes.get("/openai/v1/models")(models.list_openai_models)
    return routes
