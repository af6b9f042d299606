"""What a chat client calls: open a conversation, write, listen, read back (SPEC §3)."""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from common.ids import new_id
from gateway.adapters import store
from gateway.adapters.agents import Agents
from gateway.adapters.contexts import Contexts
from gateway.adapters.events import Events
from gateway.adapters.hub import Hub, Inbox
from gateway.adapters.limits import Limiter
from gateway.adapters.login import Login
from gateway.api.documents import (
    BEARER,
    EVENT_STREAM,
    IDEMPOTENCY_KEY,
    LAST_EVENT_ID,
    MESSAGE_BODY,
    problems,
    read_body,
)
from gateway.api.event_stream import EventStream
from gateway.core import requests
from gateway.core.callers import Caller
from gateway.core.conversations import Conversation, new_conversation
from gateway.core.rejections import Rejected, not_found
from gateway.intake import Intake
from gateway.streams import follow_conversation, follow_message

_JSON = "application/json"


@dataclass(frozen=True)
class Desk:
    """What these routes need."""

    login: Login
    intake: Intake
    events: Events
    hub: Hub
    limiter: Limiter
    contexts: Contexts
    agents: Agents
    heartbeat_s: float

    async def open(self, request: Request) -> Response:
        """Open a conversation; a body with a ``locale`` is welcome, none is needed."""
        caller = await self.login.caller(request.headers.get("authorization"))
        body = await read_body(request, requests.MAX_BODY_BYTES)
        value: dict[str, Any] = {}
        if body.strip():
            requests.require_json(request.headers.get("content-type"))
            value = requests.read_json_object(body)
        locale = requests.read_locale(value.get("locale"))
        conversation = new_conversation(new_id("conv"), caller.owner, caller.customer_id, "chat", locale)
        await store.open_conversation(self.intake.pool, conversation, None if caller.visitor else caller.until)
        await self._remember(caller, conversation.id)
        location = {"Location": f"/v1/conversations/{conversation.id}"}
        return JSONResponse({"conversation_id": conversation.id}, status_code=201, headers=location)

    async def post(self, request: Request, conversation_id: str) -> Response:
        """Take one message, then stream its events or answer 202."""
        caller = await self.login.caller(request.headers.get("authorization"))
        conversation_id = requests.read_id(conversation_id)
        requests.require_json(request.headers.get("content-type"))
        key = requests.read_idempotency_key(request.headers.get("idempotency-key"))
        new = requests.read_new_message(await read_body(request, requests.MAX_BODY_BYTES))
        await self._slow_down(caller, conversation_id, key)
        # Whoever listens before the message is stored misses nothing of its answer, and need not look for any.
        inbox = self.hub.subscribe(new_id("msg"))
        streams = False
        try:
            taken = await self.intake.take_chat(caller, conversation_id, key, new, inbox.name)
            self.hub.publish(taken.answered)
            await self._remember(caller, conversation_id)
            if _wants_json(request.headers.get("accept")):
                body = {"conversation_id": conversation_id, "message_id": taken.message_id}
                return JSONResponse(body, status_code=202)
            streams = taken.fresh
        finally:
            if not streams:
                self.hub.leave(inbox)
        return self._follow(conversation_id, taken.message_id, 0, inbox if streams else None)

    async def message_events(self, request: Request, conversation_id: str, message_id: str) -> Response:
        """Stream one message's events after ``Last-Event-ID``, to its end. Starts nothing."""
        conversation = await self._own(request, conversation_id)
        after = requests.read_last_event_id(request.headers.get("last-event-id"))
        message_id = requests.read_id(message_id)
        if not await store.message_exists(self.intake.pool, conversation.id, message_id):
            raise not_found()
        return self._follow(conversation.id, message_id, after)

    async def conversation_events(self, request: Request, conversation_id: str) -> Response:
        """Stream everything of the conversation after ``Last-Event-ID``; stays open."""
        conversation = await self._own(request, conversation_id)
        after = requests.read_last_event_id(request.headers.get("last-event-id"))
        inbox = self.hub.subscribe(conversation.id)
        frames = follow_conversation(self.events, inbox, after=after, beat_s=self.heartbeat_s)
        return EventStream(self.hub, inbox, frames, None)

    async def transcript(self, request: Request, conversation_id: str) -> Response:
        """Return the conversation as it stands; its status by the agent service, else as last heard."""
        conversation = await self._own(request, conversation_id)
        status = await self.agents.status_of(conversation.id)
        if status is not None and status != conversation.status:
            await store.learn_status(self.intake.pool, conversation.id, status)
        lines = await store.load_transcript(self.intake.pool, conversation.id)
        body = {"conversation_id": conversation.id, "status": status or conversation.status, "messages": lines}
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    async def _own(self, request: Request, conversation_id: str) -> Conversation:
        caller = await self.login.caller(request.headers.get("authorization"))
        found = await store.load_conversation(self.intake.pool, requests.read_id(conversation_id), caller.owner)
        if found is None:
            raise not_found()
        return found

    async def _slow_down(self, caller: Caller, conversation_id: str, key: str) -> None:
        """Count the message by its key, so that a repetition counts once and passes even when the limit is reached."""
        member = hashlib.blake2b(f"{conversation_id}\n{key}".encode(), digest_size=16).hexdigest()
        wait_s = await self.limiter.take(caller.owner, member)
        if wait_s and await store.find_replay(self.intake.pool, caller.owner, conversation_id, key) is None:
            raise Rejected(
                429, "Too fast", "Too many messages; wait a moment.", retry_after_s=max(1, math.ceil(wait_s))
            )

    async def _remember(self, caller: Caller, conversation_id: str) -> None:
        if caller.customer_id is not None:
            await self.contexts.remember(caller.customer_id, conversation_id)

    def _follow(self, conversation_id: str, message_id: str, after: int, opened: Inbox | None = None) -> EventStream:
        """Stream a message's events; ``opened`` listened before the message was stored."""
        inbox = opened or self.hub.subscribe(message_id)
        fresh = opened is not None
        frames = follow_message(self.events, inbox, conversation_id, after=after, beat_s=self.heartbeat_s, fresh=fresh)
        return EventStream(self.hub, inbox, frames, message_id)


def _wants_json(accept: str | None) -> bool:
    media = {part.partition(";")[0].strip().lower() for part in (accept or "").split(",")}
    return _JSON in media and "text/event-stream" not in media


def router(desk: Desk) -> APIRouter:
    """The table of contents of this module."""
    api = APIRouter(prefix="/v1/conversations", tags=["conversations"])
    common = problems(401, 503)
    accept_json: dict[int | str, dict[str, Any]] = {
        200: EVENT_STREAM,
        202: {"description": "Taken; with `Accept: application/json`.", "content": {_JSON: {"schema": _IDS}}},
    }

    @api.post(
        "", status_code=201, responses={**common, **problems(400, 413, 415, 422), 201: _OPENED}, openapi_extra=_OPEN
    )
    async def open_conversation(request: Request) -> Response:
        """Open a conversation."""
        return await desk.open(request)

    @api.post(
        "/{conversation_id}/messages",
        responses={**common, **problems(400, 404, 413, 415, 422, 429), **accept_json},
        openapi_extra={**BEARER, "parameters": [IDEMPOTENCY_KEY], "requestBody": MESSAGE_BODY},
    )
    async def post_message(request: Request, conversation_id: str) -> Response:
        """Write a message and stream what becomes of it; the same key streams the same events again."""
        return await desk.post(request, conversation_id)

    @api.get(
        "/{conversation_id}/messages/{message_id}/events",
        responses={**common, **problems(400, 404), 200: EVENT_STREAM},
        openapi_extra={**BEARER, "parameters": [LAST_EVENT_ID]},
    )
    async def follow_one(request: Request, conversation_id: str, message_id: str) -> Response:
        """Follow one message."""
        return await desk.message_events(request, conversation_id, message_id)

    @api.get(
        "/{conversation_id}/events",
        responses={**common, **problems(400, 404), 200: EVENT_STREAM},
        openapi_extra={**BEARER, "parameters": [LAST_EVENT_ID]},
    )
    async def follow_all(request: Request, conversation_id: str) -> Response:
        """Follow everything of a conversation."""
        return await desk.conversation_events(request, conversation_id)

    @api.get("/{conversation_id}", responses={**common, **problems(404), 200: _TRANSCRIPT}, openapi_extra=BEARER)
    async def transcript(request: Request, conversation_id: str) -> Response:
        """Read a conversation back."""
        return await desk.transcript(request, conversation_id)

    return api


_STRING = {"type": "string"}
_IDS = {
    "type": "object",
    "required": ["conversation_id", "message_id"],
    "properties": {"conversation_id": _STRING, "message_id": _STRING},
}
_OPENED = {
    "description": "Opened.",
    "content": {
        _JSON: {
            "schema": {
                "type": "object",
                "required": ["conversation_id"],
                "properties": {"conversation_id": _STRING},
            }
        }
    },
}
_OPEN = {
    **BEARER,
    "requestBody": {
        "required": False,
        "content": {_JSON: {"schema": {"type": "object", "properties": {"locale": {"type": "string"}}}}},
    },
}
_LINE = {
    "type": "object",
    "required": ["message_id", "from", "text", "at"],
    "properties": {
        "message_id": _STRING,
        "from": {"enum": ["customer", "agent", "staff", "system"]},
        "text": _STRING,
        "at": {"type": "string", "format": "date-time"},
        "channel": {"enum": ["chat", "email", "whatsapp", "voice"]},
        "reply_to": _STRING,
    },
}
_TRANSCRIPT = {
    "description": "The conversation.",
    "content": {
        _JSON: {
            "schema": {
                "type": "object",
                "required": ["conversation_id", "status", "messages"],
                "properties": {
                    "conversation_id": _STRING,
                    "status": {"enum": ["active", "waiting_approval", "with_person", "closed"]},
                    "messages": {"type": "array", "items": _LINE},
                },
            }
        }
    },
}
