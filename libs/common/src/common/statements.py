"""The signed statements services make about people and jobs, and the one verifier of them all (SPEC §2).

Ed25519 JWTs with kid, aud, jti and exp. The private key stays with the signer; a verifier holds public keys only, so
keys rotate by trusting the new one before the old one goes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar, cast

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt import PyJWK

from common.errors import Refused
from common.ids import new_id

SESSION_AUDIENCE = "toolgateway.session"
STAFF_AUDIENCE = "toolgateway.staff"
JOB_AUDIENCE = "toolgateway.job"
# Clocks of two machines differ; ten seconds covers a well-kept pair without giving an expired statement a second life.
_LEEWAY_S = 10
# One event's statement is checked by every tool call of its run: remembering the last few thousand spares the curve
# arithmetic, and each hit still compares the expiry with the caller's clock.
_REMEMBERED = 4_096
_T = TypeVar("_T")


class BadStatement(Refused):
    """The statement is forged, expired, re-signed, meant for somebody else, or absent."""


@dataclass(frozen=True)
class Session:
    """Who the gateway verified: the customer, in which conversation, and how."""

    customer_id: str
    conversation_id: str
    channel: str
    verified_by: str
    verified_fields: tuple[str, ...]
    jti: str
    expires_at: datetime


@dataclass(frozen=True)
class StaffStatement:
    """Who approvals signed in; ``ceiling`` is in the order's currency scale of SPEC §6, None for a lead."""

    staff: str
    role: str
    ceiling: Decimal | None
    customer_id: str | None
    handoff_id: str | None
    conversation_id: str | None
    jti: str
    expires_at: datetime


@dataclass(frozen=True)
class JobStatement:
    """Which order a scheduled job acts on, and as what kind of job."""

    order_id: str
    kind: str
    jti: str
    expires_at: datetime


class Signer:
    """Signs statements as one issuer with one private key (PEM, Ed25519)."""

    def __init__(self, issuer: str, private_key_pem: str, kid: str | None = None) -> None:
        self.issuer = issuer
        self.kid = kid or f"{issuer}-1"
        # Parsed once: reading PEM anew for each statement costs five times the signature.
        self._key = load_pem_private_key(private_key_pem.encode(), None)

    @classmethod
    def from_file(cls, issuer: str, path: Path, kid: str | None = None) -> "Signer":
        """Read the key from a PEM file."""
        return cls(issuer, path.read_text(), kid)

    def sign(self, audience: str | list[str], claims: dict[str, Any], ttl_s: float, now: datetime) -> str:
        """Return a compact JWT of ``claims`` that ends ``ttl_s`` seconds after ``now`` (negative: already over)."""
        body = {
            **claims,
            "iss": self.issuer,
            "aud": audience,
            "jti": new_id("st"),
            "iat": int(now.timestamp()) + min(0, int(ttl_s)),
            "exp": int((now + timedelta(seconds=ttl_s)).timestamp()),
        }
        return jwt.encode(body, cast("Ed25519PrivateKey", self._key), algorithm="EdDSA", headers={"kid": self.kid})


class ServiceCredentials:
    """A service's own bearer token, renewed before it ends."""

    _LIFE_S = 300

    def __init__(self, signer: Signer, audience: str) -> None:
        self._signer, self._audience = signer, audience
        self._token, self._until = "", 0.0

    def bearer(self, now: datetime) -> str:
        """Return an ``Authorization`` value that stays good for at least a minute."""
        if now.timestamp() > self._until - 60:
            self._token = self._signer.sign(self._audience, {"sub": self._signer.issuer}, self._LIFE_S, now)
            self._until = now.timestamp() + self._LIFE_S
        return f"Bearer {self._token}"


class Verifier:
    """Checks statements against the public keys of a JWKS whose keys each name their issuer (member ``iss``)."""

    def __init__(self, jwks: dict[str, Any]) -> None:
        self._keys = {key["kid"]: (PyJWK(key), key["iss"]) for key in jwks["keys"]}
        self._seen: dict[tuple[str, str, str], dict[str, Any]] = {}

    @classmethod
    def from_file(cls, path: Path) -> "Verifier":
        """Read the JWKS from a JSON file."""
        return cls(json.loads(path.read_text()))

    def session(self, token: str | None, now: datetime) -> Session:
        """Return the session or raise BadStatement; only the gateway's word counts."""
        claims = self._claims(token, SESSION_AUDIENCE, "gateway", now)
        return _read(
            claims,
            lambda c: Session(
                customer_id=_filled(c["customer_id"]),
                conversation_id=_filled(c["conversation_id"]),
                channel=_filled(c["channel"]),
                verified_by=_filled(c["verified_by"]),
                verified_fields=tuple(str(field) for field in c["verified_fields"]),
                jti=c["jti"],
                expires_at=_when(c["exp"], now),
            ),
        )

    def staff(self, token: str | None, now: datetime) -> StaffStatement:
        """Return the staff statement or raise BadStatement; only approvals' word counts."""
        claims = self._claims(token, STAFF_AUDIENCE, "approvals", now)
        return _read(
            claims,
            lambda c: StaffStatement(
                staff=_filled(c["staff"]),
                role=_filled(c["role"]),
                ceiling=None if c.get("ceiling") is None else Decimal(_filled(c["ceiling"])),
                customer_id=c.get("customer_id"),
                handoff_id=c.get("handoff_id"),
                conversation_id=c.get("conversation_id"),
                jti=c["jti"],
                expires_at=_when(c["exp"], now),
            ),
        )

    def job(self, token: str | None, now: datetime) -> JobStatement:
        """Return the job statement or raise BadStatement; only the reconciler's word counts."""
        claims = self._claims(token, JOB_AUDIENCE, "reconciler", now)
        return _read(
            claims,
            lambda c: JobStatement(_filled(c["order_id"]), _filled(c["kind"]), c["jti"], _when(c["exp"], now)),
        )

    def service(self, authorization: str | None, now: datetime, audience: str) -> str:
        """Return the name of the service whose ``Bearer`` token this is, or raise BadStatement."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            raise BadStatement("a service credential is required")
        claims = self._claims(token.strip(), audience, None, now)
        return _read(claims, lambda c: _filled(c["iss"]))

    def _claims(self, token: str | None, audience: str, issuer: str | None, now: datetime) -> dict[str, Any]:
        if not token or not token.isascii():
            raise BadStatement("no statement")
        remembered = self._seen.get((token, audience, issuer or ""))
        claims = remembered or self._verify(token, audience, issuer)
        if claims["exp"] + _LEEWAY_S <= now.timestamp():
            raise BadStatement("the statement has expired")
        if remembered is None:
            self._remember((token, audience, issuer or ""), claims)
        return claims

    def _verify(self, token: str, audience: str, issuer: str | None) -> dict[str, Any]:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key, owner = self._keys.get(kid if isinstance(kid, str) else "", (None, None))
            if key is None or (issuer is not None and owner != issuer):
                raise BadStatement("the statement is signed by nobody we trust for it")
            # Expiry is checked by the caller against its own clock, so that tests and replays can hold time still.
            claims: dict[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=["EdDSA"],
                audience=audience,
                issuer=owner,
                options={"require": ["exp", "iat", "jti", "aud", "iss"], "verify_exp": False, "verify_iat": False},
            )
        except jwt.PyJWTError as e:
            raise BadStatement(f"the statement does not hold: {type(e).__name__}") from e
        return claims

    def _remember(self, key: tuple[str, str, str], claims: dict[str, Any]) -> None:
        if len(self._seen) >= _REMEMBERED:
            self._seen.pop(next(iter(self._seen)))
        self._seen[key] = claims


def session_claims(
    *, customer_id: str, conversation_id: str, channel: str, verified_by: str, verified_fields: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the claims of a session statement, for the gateway to sign."""
    return {
        "customer_id": customer_id,
        "conversation_id": conversation_id,
        "channel": channel,
        "verified_by": verified_by,
        "verified_fields": list(verified_fields),
    }


def _filled(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a statement's names are non-empty strings")
    return value


def _when(seconds: float, now: datetime) -> datetime:
    return datetime.fromtimestamp(seconds, tz=now.tzinfo)


def _read(claims: dict[str, Any], build: Callable[[dict[str, Any]], _T]) -> _T:
    try:
        return build(claims)
    except (KeyError, TypeError, ValueError, InvalidOperation) as e:
        raise BadStatement("the statement lacks what it has to say") from e
