"""Whose bearer token this is: the store's login, or a visitor token of our own."""

import base64
import json
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import jwt
from cryptography.hazmat.primitives import serialization

from common.clock import Clock
from common.errors import Transient
from common.ids import new_id
from common.statements import BadStatement, Signer
from gateway.core.callers import Caller, customer, visitor
from gateway.core.rejections import Rejected, unauthenticated

VISITOR_AUDIENCE = "gateway.visitor"
_MAX_TOKEN_CHARS = 8_192
# A browser sends one token with every message: remembering a few thousand spares the curve arithmetic. A remembered
# token is verified anew after this long, so that a withdrawn key ends its tokens too.
_REMEMBERED = 4_096
_REMEMBERED_S = 60.0


class TokenVerifier(Protocol):
    """Checks the store's login tokens (`common.login.LoginVerifier`)."""

    async def claims(self, token: str, now: datetime) -> dict[str, Any]:
        """Return the claims; BadStatement when the token doesn't hold, Transient when the keys can't be had."""
        ...


class Login:
    """Names the caller of a request and issues visitors' tokens."""

    def __init__(self, verifier: TokenVerifier, signer: Signer, private_pem: str, clock: Clock) -> None:
        self._verifier, self._signer, self._clock = verifier, signer, clock
        self._own_public: Any = serialization.load_pem_private_key(private_pem.encode(), None).public_key()
        self._seen: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    async def caller(self, authorization: str | None) -> Caller:
        """Return who sends this ``Authorization`` header, or raise Rejected 401 (503 while no key could be had)."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            raise unauthenticated()
        return await self.caller_of_token(token.strip())

    async def caller_of_token(self, token: str) -> Caller:
        """Return whose token this is; raises like ``caller``."""
        now = self._clock.now()
        known, verified_at = self._seen.get(token, (None, 0.0))
        if known is not None and known.until > now and self._clock.monotonic() - verified_at < _REMEMBERED_S:
            return known
        if not token or len(token) > _MAX_TOKEN_CHARS or not token.isascii():
            raise unauthenticated()
        try:
            found = self._visitor(token) or await self._customer(token, now)
        # A token nested a thousand levels deep, or one that ends in a year no calendar has.
        except (BadStatement, RecursionError, ValueError, OverflowError, OSError) as e:
            self._seen.pop(token, None)
            raise unauthenticated() from e
        except Transient as e:
            raise Rejected(503, "Login unavailable", "The login's keys can't be reached.", retry_after_s=5) from e
        if found is None:
            raise unauthenticated()
        self._seen[token] = (found, self._clock.monotonic())
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return found

    def visitor_token(self, ttl_s: int) -> tuple[str, datetime]:
        """Return a new visitor's token and when it ends."""
        now = self._clock.now()
        return self._signer.sign(VISITOR_AUDIENCE, {"sub": new_id("v")}, ttl_s, now), now + timedelta(seconds=ttl_s)

    async def _customer(self, token: str, now: datetime) -> Caller | None:
        claims = await self._verifier.claims(token, now)
        return customer(claims["sub"], datetime.fromtimestamp(claims["exp"], UTC))

    def _visitor(self, token: str) -> Caller | None:
        """Return the visitor whose token this is, None for a token we never signed."""
        if _kid(token) != self._signer.kid:
            return None
        try:
            claims = jwt.decode(
                token,
                key=self._own_public,
                algorithms=["EdDSA"],
                audience=VISITOR_AUDIENCE,
                issuer=self._signer.issuer,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as e:
            raise BadStatement("no visitor's token of ours") from e
        return visitor(str(claims["sub"]), datetime.fromtimestamp(claims["exp"], UTC))


def _kid(token: str) -> object:
    """Return the key id a token claims; only the header is read, since the rest is checked by whoever knows the key."""
    header = token.partition(".")[0]
    try:
        value = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except ValueError:
        return None
    return value.get("kid") if isinstance(value, dict) else None
