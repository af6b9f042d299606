"""What other services of ours call, with their own credential: renew a session, send a one-time code."""

from dataclasses import dataclass
from typing import Any

import jwt
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from common import db
from common.statements import SESSION_AUDIENCE, BadStatement, Verifier
from gateway.adapters import store
from gateway.adapters.code_store import Asked, bucket_of
from gateway.adapters.postman import Postman
from gateway.api.documents import problems, read_body
from gateway.core import requests
from gateway.core.rejections import Rejected, not_found, unauthenticated
from gateway.intake import Intake

SERVICE_AUDIENCE = "gateway.service"
_PROOFS = ("login", "otp", "whatsapp_hook")


@dataclass(frozen=True)
class Internal:
    """What these routes need; ``own_public`` checks assertions this gateway signed itself."""

    intake: Intake
    verifier: Verifier
    postman: Postman
    own_public: Any

    async def renew(self, request: Request) -> Response:
        """Return a fresh assertion for one of ours, expired or not, while the login behind it holds; else 410."""
        body = await self._body(request)
        claims = self._our_claims(body.get("assertion"))
        conversation_id, customer_id = claims["conversation_id"], claims["customer_id"]
        until = await store.session_until(self.intake.pool, conversation_id, customer_id)
        conversation = await store.load_conversation(self.intake.pool, conversation_id, customer_id)
        if conversation is None or until is None or until <= self.intake.clock.now():
            raise Rejected(410, "Session over", "The login behind this session has ended.")
        fresh = self.intake.assertion(conversation, claims["channel"], claims["verified_by"])
        return JSONResponse({"assertion": fresh})

    async def send_code(self, request: Request) -> Response:
        """Have a one-time code sent to the address on file of the conversation's own customer."""
        body = await self._body(request)
        conversation_id, customer_id = body.get("conversation_id"), body.get("customer_id")
        purpose = body.get("purpose", "step_up")
        if not isinstance(conversation_id, str) or not isinstance(customer_id, str) or not isinstance(purpose, str):
            raise Rejected(422, "Wrong fields", "conversation_id, customer_id and purpose are strings.")
        conversation_id = requests.read_id(conversation_id)
        if not requests.is_storable(customer_id + purpose):
            raise not_found()

        async def work(conn: db.Connection) -> Asked:
            conversation = await store.lock_conversation(conn, conversation_id, customer_id)
            if conversation is None or conversation.customer_id is None:
                raise not_found()
            return await self.intake.codes.request(
                conn,
                customer_id=customer_id,
                bucket=bucket_of(customer_id, proved=True),
                conversation_id=conversation_id,
                purpose=purpose[:100],
                again=True,
            )

        asked = await db.in_transaction(self.intake.pool, work)
        if asked == "used_up":
            raise Rejected(429, "Codes used up", "This hour's codes are used up.", retry_after_s=3_600)
        self.postman.wake()
        return JSONResponse({"status": asked}, status_code=202)

    async def _body(self, request: Request) -> dict[str, Any]:
        try:
            self.verifier.service(request.headers.get("authorization"), self.intake.clock.now(), SERVICE_AUDIENCE)
        except (BadStatement, RecursionError) as e:
            raise unauthenticated("A service credential is required.") from e
        requests.require_json(request.headers.get("content-type"))
        return requests.read_json_object(await read_body(request, requests.MAX_BODY_BYTES))

    def _our_claims(self, token: object) -> dict[str, Any]:
        """Return the claims of a session statement of ours; its age doesn't matter, its signature does."""
        if not isinstance(token, str):
            raise Rejected(422, "assertion is missing", "assertion is a string.")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key=self.own_public,
                algorithms=["EdDSA"],
                audience=SESSION_AUDIENCE,
                issuer="gateway",
                options={"require": ["exp", "jti", "aud", "iss"], "verify_exp": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError, RecursionError) as e:
            raise Rejected(410, "Session over", "This is no session of ours.") from e
        if claims.get("verified_by") not in _PROOFS:
            raise Rejected(410, "Session over", "This is no session of ours.")
        return claims


def router(internal: Internal) -> APIRouter:
    """The table of contents of this module."""
    api = APIRouter(prefix="/v1/internal", tags=["internal"])

    def body(**fields: str) -> dict[str, Any]:
        properties = {name: {"type": kind} for name, kind in fields.items()}
        schema = {"type": "object", "required": list(fields), "properties": properties}
        return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    answers = problems(400, 401, 413, 415, 422)

    @api.post("/assertions/renew", responses={**answers, **problems(410)}, openapi_extra=body(assertion="string"))
    async def renew(request: Request) -> Response:
        """Renew a session assertion."""
        return await internal.renew(request)

    @api.post(
        "/codes",
        status_code=202,
        responses={**answers, **problems(404, 429)},
        openapi_extra=body(conversation_id="string", customer_id="string", purpose="string"),
    )
    async def send_code(request: Request) -> Response:
        """Send a one-time code."""
        return await internal.send_code(request)

    return api
