"""Tokens of the store's own logins (customers, staff), verified by the issuer's published keys: no shared secret."""

import asyncio
import json
import time
from datetime import datetime
from typing import Any

import jwt
from jwt import PyJWK, PyJWKError

from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient
from common.statements import BadStatement

# Asymmetric signatures only: a public key must never pass for an HMAC secret, and "none" is no signature.
ALGORITHMS = ("RS256", "ES256", "EdDSA")
# Keys rotate with an overlap of hours; an unknown kid is looked up at once, but not more often than the pause.
_CACHE_S = 600.0
_UNKNOWN_KID_PAUSE_S = 10.0
_LEEWAY_S = 10


class LoginVerifier:
    """Checks one issuer's tokens for one audience against its JWKS."""

    def __init__(self, jwks_url: str, issuer: str, audience: str) -> None:
        base, _, path = jwks_url.partition("://")[2].partition("/")
        self._path = f"/{path}"
        self._http = ServiceClient(f"{jwks_url.partition('://')[0]}://{base}", timeout_s=3.0)
        self._issuer, self._audience = issuer, audience
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def close(self) -> None:
        """Close the pooled connections."""
        await self._http.close()

    async def claims(self, token: str, now: datetime) -> dict[str, Any]:
        """Return the token's claims (``sub`` is a non-empty string, ``exp`` and ``iat`` are numbers).

        Raises BadStatement when it does not hold, Transient when the issuer's keys can't be had.
        """
        try:
            header = jwt.get_unverified_header(token) if token.isascii() else {}
        except jwt.PyJWTError as e:
            raise BadStatement("the token is not a JWT") from e
        if header.get("alg") not in ALGORITHMS or not isinstance(header.get("kid"), str):
            raise BadStatement("the token is not signed in a way we accept")
        key = await self._key(header["kid"])
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=[header["alg"]],
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iat", "sub", "iss", "aud"], "verify_exp": False, "verify_nbf": False},
            )
        except (jwt.PyJWTError, TypeError, ValueError) as e:
            raise BadStatement(f"the token does not hold: {type(e).__name__}") from e
        _check_times(claims, now.timestamp())
        if not isinstance(claims["sub"], str) or not claims["sub"] or "\x00" in claims["sub"]:
            raise BadStatement("the token names nobody")
        return claims

    async def _key(self, kid: str) -> PyJWK:
        age = time.monotonic() - self._fetched_at
        if age > _CACHE_S or (kid not in self._keys and age > _UNKNOWN_KID_PAUSE_S):
            await self._fetch(age)
        if kid not in self._keys:
            raise BadStatement("the token is signed with a key its issuer doesn't publish")
        return self._keys[kid]

    async def _fetch(self, age_before: float) -> None:
        async with self._fetching:
            if time.monotonic() - self._fetched_at < age_before:
                return  # somebody else has just fetched them
            try:
                reply = await self._http.call("GET", self._path)
                body = reply.body if isinstance(reply.body, dict) else json.loads(reply.body)
                self._keys = {key["kid"]: PyJWK(key) for key in body["keys"]}
            except (Transient, OutcomeUnknown, PyJWKError, KeyError, TypeError, ValueError) as e:
                if self._keys:
                    return  # yesterday's keys are better than turning everybody away
                raise Transient("the login's keys can't be fetched") from e
            self._fetched_at = time.monotonic()


def _check_times(claims: dict[str, Any], now: float) -> None:
    # Compared with the caller's clock, which tests and replays can hold still.
    times = [claims["exp"], claims["iat"], claims.get("nbf", 0)]
    if any(isinstance(t, bool) or not isinstance(t, int | float) for t in times):
        raise BadStatement("the token's times are not numbers")
    if claims["exp"] + _LEEWAY_S <= now:
        raise BadStatement("the token has expired")
    if max(claims["iat"], claims.get("nbf", 0)) - _LEEWAY_S > now:
        raise BadStatement("the token is not valid yet")
