"""People: the approvals service's staff table, and the tokens of staff programs that write decisions to the topic."""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote

import jwt

from common.clock import Clock
from common.errors import Refused, Verdict
from common.statements import BadStatement, ServiceCredentials
from toolgateway.adapters.calls import Caller, Missing
from toolgateway.core.ceilings import Person

# A decision's token is written for one decision: ten minutes is a person's long thought (SPEC §9).
_MAX_AGE_S = 600
_LEEWAY_S = 10
_REFETCH_S = 10.0
_ALGORITHMS = ["EdDSA", "RS256", "ES256"]


@dataclass(frozen=True)
class KnownPerson:
    """A member of staff as the table has them now."""

    person: Person
    active: bool


class StaffDirectory:
    """The staff table, read over HTTP right before an approved row runs."""

    def __init__(self, caller: Caller, credentials: ServiceCredentials, clock: Clock) -> None:
        self._caller, self._credentials, self._clock = caller, credentials, clock

    async def load(self, person: Person, credential: str | None = None) -> KnownPerson | None:
        """Return the person as the table has them now; None when they aren't there or it can't be read: nothing runs.

        ``credential``, the staff login's token, signs a person in at approvals who has never been there.
        """
        try:
            try:
                return await self._read(person.staff)
            except Missing:
                if credential is None:
                    return None
            return await self._read_after_sign_in(person, credential)
        except (Verdict, KeyError, TypeError, InvalidOperation):
            return None

    async def _read_after_sign_in(self, person: Person, credential: str) -> KnownPerson | None:
        # A row is approved only by somebody the table holds, so that an audit can tell who was allowed to.
        try:
            await self._caller.read("staff_sign_in", "/v1/me", headers={"Authorization": f"Bearer {credential}"})
        except Refused:
            return KnownPerson(person, active=False)
        return await self._read(person.staff)

    async def _read(self, staff: str) -> KnownPerson | None:
        body = await self._caller.read(
            "staff",
            f"/v1/internal/staff/{quote(staff, safe='')}",
            headers={"Authorization": self._credentials.bearer(self._clock.now())},
        )
        if body["staff"] != staff:
            return None
        return KnownPerson(Person(staff, str(body["role"]), _ceiling(body.get("ceiling"))), body["active"] is True)


class StaffTokens:
    """Verifies staff tokens by the staff login's keys; an unknown kid is looked up again, but not by every token."""

    def __init__(self, caller: Caller, path: str, issuer: str) -> None:
        self._caller, self._path, self._issuer = caller, path, issuer
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._lock = asyncio.Lock()

    async def person(self, token: str, now: datetime) -> Person:
        """Return who signed in; raises BadStatement, or Transient while the login's keys can't be read."""
        claims = self._claims(token, await self._key(token))
        if now.timestamp() > claims["exp"] + _LEEWAY_S or now.timestamp() - claims["iat"] > _MAX_AGE_S + _LEEWAY_S:
            raise BadStatement("the staff token is too old")
        try:
            return Person(_name(claims["sub"]), _name(claims["role"]), _ceiling(claims.get("ceiling")))
        except (KeyError, ValueError, InvalidOperation) as e:
            raise BadStatement("the staff token lacks what it has to say") from e

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=_ALGORITHMS,
                audience="approvals.decided",
                issuer=self._issuer,
                options={"require": ["exp", "iat", "aud", "iss", "sub"], "verify_exp": False, "verify_iat": False},
            )
        except jwt.PyJWTError as e:
            raise BadStatement(f"the staff token does not hold: {type(e).__name__}") from e
        return claims

    async def _key(self, token: str) -> jwt.PyJWK:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
        except jwt.PyJWTError as e:
            raise BadStatement("that is no staff token") from e
        if kid not in self._keys:
            await self._fetch()
        found = self._keys.get(kid) if isinstance(kid, str) else None
        if found is None:
            raise BadStatement("the staff token is signed by nobody we know")
        return found

    async def _fetch(self) -> None:
        async with self._lock:
            if time.monotonic() - self._fetched_at < _REFETCH_S:
                return
            body = await self._caller.read("staff_keys", self._path)
            self._keys = {jwk["kid"]: jwt.PyJWK(jwk) for jwk in body.get("keys", []) if jwk.get("kid")}
            self._fetched_at = time.monotonic()


def _ceiling(value: object) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a name is a non-empty string")
    return value
