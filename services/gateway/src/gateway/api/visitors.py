"""A visitor who isn't signed in gets a short-lived token of ours: policy answers and a person, never an order."""

import math
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from common.ids import new_id
from gateway.adapters.limits import Limiter
from gateway.adapters.login import Login
from gateway.api.documents import problems
from gateway.core.rejections import Rejected


@dataclass(frozen=True)
class Visitors:
    """What this route needs."""

    login: Login
    limiter: Limiter
    token_s: int

    async def welcome(self, request: Request) -> Response:
        """Return a new visitor's token, so many an address and no more."""
        address = request.client.host if request.client else "unknown"
        wait_s = await self.limiter.take(address, new_id("v"))
        if wait_s:
            raise Rejected(429, "Too fast", "Too many visitors from here.", retry_after_s=max(1, math.ceil(wait_s)))
        token, expires_at = self.login.visitor_token(self.token_s)
        body = {"token": token, "expires_at": expires_at.isoformat()}
        return JSONResponse(body, status_code=201, headers={"Cache-Control": "no-store"})


def router(visitors: Visitors) -> APIRouter:
    """The table of contents of this module."""
    api = APIRouter(prefix="/v1/visitors", tags=["visitors"])
    schema = {
        "type": "object",
        "required": ["token", "expires_at"],
        "properties": {"token": {"type": "string"}, "expires_at": {"type": "string", "format": "date-time"}},
    }
    created: dict[int | str, dict[str, Any]] = {
        201: {"description": "Welcome.", "content": {"application/json": {"schema": schema}}}
    }

    @api.post("", status_code=201, responses={**problems(429), **created})
    async def welcome(request: Request) -> Response:
        """Get a visitor's token."""
        return await visitors.welcome(request)

    return api
