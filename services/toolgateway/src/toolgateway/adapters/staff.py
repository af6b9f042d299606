"""People: the approvals service's staff table, and the tokens of staff programs that write decisions to the topic."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from urllib.parse import quote

from common.clock import Clock
from common.errors import Refused, Verdict
from common.login import LoginVerifier
from common.statements import BadStatement, ServiceCredentials
from toolgateway.adapters.calls import Caller, Missing
from toolgateway.core.ceilings import Person

# A decision's token is written for one decision: ten minutes is a person's long thought (SPEC §9).
_MAX_AGE_S = 600
_LEEWAY_S = 10


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
    """Says who signed in at the staff login; its keys and signatures are the shared verifier's business."""

    def __init__(self, login: LoginVerifier) -> None:
        self._login = login

    async def person(self, token: str, now: datetime) -> Person:
        """Return who signed in; raises BadStatement, or Transient while the login's keys can't be read."""
        claims = await self._login.claims(token, now)
        if now.timestamp() - claims["iat"] > _MAX_AGE_S + _LEEWAY_S:
            raise BadStatement("the staff token is too old")
        try:
            return Person(claims["sub"], _role(claims["role"]), _ceiling(claims.get("ceiling")))
        except (KeyError, ValueError, InvalidOperation) as e:
            raise BadStatement("the staff token lacks what it has to say") from e

    async def close(self) -> None:
        """Close the connections to the login."""
        await self._login.close()


def _ceiling(value: object) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _role(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a role is a non-empty string")
    return value
