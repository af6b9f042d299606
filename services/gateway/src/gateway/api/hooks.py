"""Inbound hooks: raw e-mail, and a WhatsApp-style webhook. The signature covers path, newline and body (SPEC §15)."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from common.errors import Transient
from common.guard.masking import mask_beginning
from gateway.api.documents import problems, read_body
from gateway.channels import Channels, FromChannel
from gateway.core import requests
from gateway.core.mail import clean, read_mail
from gateway.core.rejections import Rejected, unauthenticated

_MAX_MAIL_BYTES = 5_000_000
_MAX_SUBJECT_CHARS = 300
_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_NEEDED = ("message_id", "from", "text")


@dataclass(frozen=True)
class Hooks:
    """What these routes need."""

    channels: Channels
    secret: str

    async def email(self, request: Request) -> Response:
        """Take a raw mail: only its text that is new counts, and its sender only after a one-time code."""
        raw = await self._signed(request, _MAX_MAIL_BYTES)
        try:
            mail = read_mail(raw)
        except RecursionError as e:
            raise Rejected(400, "Unreadable mail", "Its parts are nested too deeply.") from e
        if mail.automatic:
            # Answering an out-of-office note would start a conversation between two machines.
            return JSONResponse({"ignored": "automatic"}, status_code=202)
        if not mail.text.strip():
            raise Rejected(422, "Empty mail", "There is no new text in it.")
        return await self._take(
            FromChannel(
                source="email",
                source_id=mail.source_id,
                channel="email",
                thread_ref=mail.thread_ref,
                identity=mail.sender or "",
                text=mail.text,
                subject=_reply_subject(mail.subject),
                other_refs=mail.references,
            )
        )

    async def whatsapp(self, request: Request) -> Response:
        """Take ``{"message_id","from","text","sent_at"}``; ``from`` counts as the customer with that phone."""
        raw = await self._signed(request, requests.MAX_BODY_BYTES)
        body = requests.read_json_object(raw)
        fields = [_field(body, name) for name in _NEEDED]
        message_id, sender, text = fields
        return await self._take(
            FromChannel(
                source="whatsapp",
                source_id=message_id,
                channel="whatsapp",
                thread_ref=sender[:200],
                identity=sender[:200],
                text=text,
                signed_phone=True,
            )
        )

    async def _signed(self, request: Request, limit: int) -> bytes:
        """Return the body if the whole request was signed for this very path."""
        raw = await read_body(request, limit)
        given = request.headers.get("x-hook-signature", "").strip()
        covered = request.scope["path"].encode() + b"\n" + raw
        right = hmac.new(self.secret.encode(), covered, hashlib.sha256).hexdigest()
        if _HEX.fullmatch(given) is None or not hmac.compare_digest(given.lower(), right):
            raise unauthenticated("The hook's signature does not hold.")
        return raw

    async def _take(self, message: FromChannel) -> Response:
        try:
            landed = await self.channels.take(message)
        except Transient as e:
            raise Rejected(503, "Not taken", "Send it again a little later.", retry_after_s=5) from e
        body = {"conversation_id": landed.conversation_id, "message_id": landed.message_id}
        return JSONResponse(body, status_code=200 if landed.repeated else 202)


def _field(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Rejected(422, f"{name} is missing", f"{name} is a string with something in it.")
    cleaned = clean(value)
    if not cleaned.strip() or (name == "message_id" and len(cleaned) > 400):
        raise Rejected(422, f"{name} is malformed", f"{name} can't be kept.")
    return cleaned


def _reply_subject(subject: str) -> str:
    """Return what stands above every answer; masked before it is cut, since half a card number looks like none."""
    subject = mask_beginning(subject, _MAX_SUBJECT_CHARS)
    stripped = re.sub(r"^((re|aw|sv|rv|antw|réf)\s*:\s*)+", "", subject.strip(), flags=re.IGNORECASE)
    return f"Re: {stripped or 'your message'}"


def router(hooks: Hooks) -> APIRouter:
    """The table of contents of this module."""
    api = APIRouter(prefix="/v1/inbound", tags=["hooks"])
    answers = problems(400, 401, 413, 422, 503)
    signature = {
        "name": "X-Hook-Signature",
        "in": "header",
        "required": True,
        "schema": {"type": "string"},
        "description": 'Hex HMAC-SHA256 with the hook secret over path + "\\n" + body.',
    }

    def extra(media: str) -> dict[str, Any]:
        schema = {"type": "object"} if media.endswith("json") else {"type": "string", "format": "binary"}
        body = {"required": True, "content": {media: {"schema": schema}}}
        return {"parameters": [signature], "requestBody": body}

    @api.post("/email", status_code=202, responses=answers, openapi_extra=extra("application/octet-stream"))
    async def email(request: Request) -> Response:
        """Hand in a raw MIME message."""
        return await hooks.email(request)

    @api.post("/whatsapp", status_code=202, responses=answers, openapi_extra=extra("application/json"))
    async def whatsapp(request: Request) -> Response:
        """Hand in a WhatsApp-style message."""
        return await hooks.whatsapp(request)

    return api
