"""Mail, a remote guard, the two logins' public keys, and health."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse

from common.clock import Clock
from common.guard import Guard
from sandbox.adapters.answers import Answer
from sandbox.adapters.database import Database, stamp
from sandbox.adapters.shop import Shop
from sandbox.routes.bodies import GuardAsk, Mail
from sandbox.trouble import Trouble, respond

KeySets = dict[str, dict[str, Any]]


class Edges:
    """Small systems around the store."""

    def __init__(
        self, *, database: Database, shop: Shop, trouble: Trouble, clock: Clock, guard: Guard, keys: KeySets
    ) -> None:
        self._database = database
        self._shop = shop
        self._trouble = trouble
        self._clock = clock
        self._guard = guard
        self._keys = keys

    async def send_mail(self, body: Mail, idempotency_key: Annotated[str | None, Header()] = None) -> JSONResponse:
        """Take a mail or message for delivery; under a key it has seen it was taken already."""
        self._shop.send_mail({**body.model_dump(), "at": stamp(self._clock.now())}, idempotency_key)
        return JSONResponse({"status": "accepted"}, status_code=202)

    async def guard(self, body: GuardAsk) -> JSONResponse:
        """Judge a text as the shared guard does, over HTTP."""
        failed = await self._trouble.read("guard")
        if failed is not None:
            return respond(failed)
        judged = await self._guard.check(body.text, body.where)
        return respond(Answer(200, {"verdict": judged.verdict, "reasons": list(judged.reasons)}))

    async def login_keys(self) -> dict[str, Any]:
        """Return the public keys of the store's customer login."""
        return self._keys["login"]

    async def staff_login_keys(self) -> dict[str, Any]:
        """Return the public keys of the staff login."""
        return self._keys["stafflogin"]

    async def live(self) -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    async def ready(self) -> dict[str, Any]:
        """Say that the log of money can be read."""
        return {"status": "ok", "checks": {"database": self._database.row("select 1") is not None}}


def router(edges: Edges) -> APIRouter:
    """Return the routes of the small systems."""
    routes = APIRouter()
    routes.post("/mail", status_code=202, tags=["store"])(edges.send_mail)
    routes.post("/guard", tags=["store"])(edges.guard)
    routes.get("/login/jwks.json", tags=["logins"])(edges.login_keys)
    routes.get("/staff-login/jwks.json", tags=["logins"])(edges.staff_login_keys)
    routes.get("/livez", tags=["health"])(edges.live)
    routes.get("/readyz", tags=["health"])(edges.ready)
    return routes
