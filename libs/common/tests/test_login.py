"""The store's login tokens against its real key set: what is taken, what is not, and what a key id may cause."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from common.login import LoginVerifier
from common.statements import BadStatement

NOW = datetime.now(UTC)
ISSUER, AUDIENCE = "https://login.store.example", "support"
KEY = Ed25519PrivateKey.generate()
PUBLIC = json.loads(OKPAlgorithm.to_jwk(KEY.public_key())) | {"kid": "k1", "alg": "EdDSA", "use": "sig"}


@asynccontextmanager
async def verifier() -> AsyncIterator[tuple[LoginVerifier, list[str]]]:
    """A verifier of a login that counts who asked for its keys."""
    asked: list[str] = []

    async def jwks(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({"keys": [PUBLIC]})

    app = web.Application()
    app.router.add_get("/{path:.*}", jwks)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made = LoginVerifier(f"http://127.0.0.1:{runner.addresses[0][1]}/jwks.json", ISSUER, AUDIENCE)
    try:
        yield made, asked
    finally:
        await made.close()
        await runner.cleanup()


def token(*, header: dict[str, Any] | None = None, **over: Any) -> str:
    claims = {"sub": "C-1", "iss": ISSUER, "aud": AUDIENCE, "iat": NOW, "exp": NOW + timedelta(minutes=5)} | over
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, KEY, algorithm="EdDSA", headers={"kid": "k1"} | (header or {}))


def by_hand(header: dict[str, Any], signature: str = "") -> str:
    claims = {"sub": "C-1", "iss": ISSUER, "aud": AUDIENCE, "iat": NOW.timestamp(), "exp": NOW.timestamp() + 300}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims)]
    return ".".join([*parts, signature])


@pytest.mark.parametrize(
    ("over", "taken"),
    [
        ({}, True),
        ({"nbf": NOW + timedelta(hours=1)}, False),
        ({"nbf": NOW - timedelta(hours=1)}, True),
        ({"iat": NOW + timedelta(hours=1)}, False),
        ({"aud": "other-service"}, False),
        ({"aud": None}, False),
        ({"exp": None}, False),
        ({"exp": NOW - timedelta(seconds=61)}, False),
        ({"exp": NOW - timedelta(seconds=5)}, True),
        ({"iss": "https://other.example"}, False),
        ({"iss": None}, False),
        ({"sub": None}, False),
        ({"sub": ""}, False),
    ],
)
async def test_bb_auth_04_every_claim_that_limits_a_token_is_checked(over: dict[str, Any], taken: bool) -> None:
    async with verifier() as (login, _):
        with not_taken_unless(taken):
            assert (await login.claims(token(**over), NOW))["sub"] == "C-1"


@contextmanager
def not_taken_unless(taken: bool) -> Iterator[None]:
    if taken:
        yield
        return
    with pytest.raises(BadStatement):
        yield


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "NONE", "HS256", "hs512", None, 7])
async def test_bb_auth_01_the_token_does_not_choose_how_it_is_checked(algorithm: Any) -> None:
    async with verifier() as (login, _):
        with pytest.raises(BadStatement):
            await login.claims(by_hand({"alg": algorithm, "kid": "k1", "typ": "JWT"}), NOW)
        # The public key as an HMAC secret.
        forged = jwt.encode({"sub": "C-1"}, PUBLIC["x"] * 2, algorithm="HS256", headers={"kid": "k1"})
        with pytest.raises(BadStatement):
            await login.claims(forged, NOW)


async def test_bb_auth_03_a_key_id_is_only_looked_up_and_unknown_ones_ask_the_login_once() -> None:
    async with verifier() as (login, asked):
        assert (await login.claims(token(), NOW))["sub"] == "C-1"
        for kid in ("../../../../dev/null", "x' UNION SELECT 'a", "https://evil.example/jwks", "unknown-kid") * 5:
            with pytest.raises(BadStatement):
                await login.claims(token(header={"kid": kid}), NOW)
        evil = {"jku": "https://evil.example/jwks", "x5u": "https://evil.example", "jwk": PUBLIC}
        claims = {"sub": "C-2", "iss": ISSUER, "aud": AUDIENCE, "iat": NOW, "exp": NOW + timedelta(minutes=5)}
        another = Ed25519PrivateKey.generate()
        stranger = jwt.encode(claims, another, algorithm="EdDSA", headers={"kid": "k1"} | evil)
        with pytest.raises(BadStatement):
            await login.claims(stranger, NOW)
        assert asked == ["/jwks.json"]
