"""Who is asking: a staff member with a token of the staff login, or another service."""

from dataclasses import dataclass

from fastapi import Request

from approvals.adapters import store
from approvals.core.staff import Staff, staff_from_claims
from approvals.settings import Settings
from common import db
from common.clock import Clock
from common.errors import Refused, Transient
from common.http import Problem
from common.login import LoginVerifier
from common.statements import BadStatement, Verifier

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="approvals"'}


@dataclass(frozen=True)
class Access:
    """Checks the caller of a request."""

    login: LoginVerifier
    services: Verifier
    pool: db.Database
    clock: Clock
    settings: Settings

    async def staff(self, request: Request) -> Staff:
        """Return the signed-in staff member, or raise a 401, 403 or 503 Problem."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Problem(401, "a staff token is required", headers=_CHALLENGE)
        try:
            claims = await self.login.claims(token.strip(), self.clock.now())
            staff = staff_from_claims(claims, self.settings.default_ceiling)
        except BadStatement as e:
            raise Problem(401, e.reason, headers=_CHALLENGE) from e
        except Refused as e:
            raise Problem(403, e.reason) from e
        except Transient as e:
            raise Problem(503, e.reason, headers={"Retry-After": "2"}) from e
        async with self.pool.acquire() as conn:
            active = await store.see_staff(conn, staff)
        if not active:
            raise Problem(403, "this staff account is closed")
        return staff

    def service(self, request: Request) -> str:
        """Return the calling service's name, or raise a 401 Problem."""
        try:
            return self.services.service(
                request.headers.get("Authorization"), self.clock.now(), audience="approvals.service"
            )
        except BadStatement as e:
            raise Problem(401, e.reason, headers={"WWW-Authenticate": "Bearer"}) from e
