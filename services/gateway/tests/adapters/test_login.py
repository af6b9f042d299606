"""Whose token it is: a visitor's is only one we signed ourselves, everything else is the login's to judge."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from common.clock import FixedClock
from common.statements import BadStatement, Signer
from gateway.adapters.login import VISITOR_AUDIENCE, Login
from gateway.core.rejections import Rejected

NOW = datetime.now(UTC)
# The library checks by the real clock, and a whole suite may run between this import and the test.
HOLDS_S = 86_400


class Judge:
    """Plays the login's verifier and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def claims(self, token: str, now: datetime) -> dict[str, Any]:
        self.asked.append(token)
        if not token.startswith("good"):
            raise BadStatement("no")
        return {"sub": "C-1", "exp": (now + timedelta(minutes=5)).timestamp()}


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def login(judge: Judge, keys: Path) -> Login:
    pem = (keys / "gateway.pem").read_text()
    return Login(judge, Signer("gateway", pem), pem, FixedClock(NOW))


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims)]
    return ".".join([*parts, ""])


async def test_a_visitor_token_names_its_visitor_and_no_customer(login: Login, judge: Judge) -> None:
    token, expires_at = login.visitor_token(HOLDS_S)
    caller = await login.caller(f"Bearer {token}")
    assert caller.visitor
    assert caller.owner.startswith("visitor:v_")
    assert expires_at == NOW + timedelta(seconds=HOLDS_S)
    assert judge.asked == []


async def test_no_forged_visitor_token_is_taken(login: Login, keys: Path) -> None:
    claims = {"sub": "v_1", "iss": "gateway", "aud": VISITOR_AUDIENCE, "exp": int(NOW.timestamp()) + HOLDS_S}
    other = (keys / "agent.pem").read_text()
    own = Signer("gateway", (keys / "gateway.pem").read_text())
    forged = [
        *(unsigned({"alg": alg, "kid": "gateway-1"}, claims) for alg in ("none", "None", "nOnE", "HS256")),
        jwt.encode(claims, other, algorithm="EdDSA", headers={"kid": "gateway-1"}),
        jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": "gateway-1"}),
        own.sign(VISITOR_AUDIENCE, {"sub": "v_1"}, -60, NOW),
        own.sign("toolgateway.session", {"sub": "v_1"}, HOLDS_S, NOW),
        own.sign(VISITOR_AUDIENCE, {}, HOLDS_S, NOW),
    ]
    for token in forged:
        with pytest.raises(Rejected) as e:
            await login.caller(f"Bearer {token}")
        assert e.value.status == 401


async def test_a_key_id_is_only_ever_compared(login: Login, judge: Judge) -> None:
    """BB-AUTH-03."""
    for kid in ("../../dev/null", "x' UNION SELECT 'a", "https://evil.example/jwks", ["gateway-1"], None, 7):
        with pytest.raises(Rejected):
            await login.caller(f"Bearer {unsigned({'alg': 'EdDSA', 'kid': kid, 'jku': 'https://evil.example'}, {})}")
    assert len(judge.asked) == 6


async def test_a_remembered_token_is_asked_for_again_after_a_minute_and_ends_when_it_ends(
    login: Login, judge: Judge, keys: Path
) -> None:
    clock = FixedClock(NOW)
    pem = (keys / "gateway.pem").read_text()
    login = Login(judge, Signer("gateway", pem), pem, clock)
    for _ in range(3):
        assert (await login.caller("Bearer good")).customer_id == "C-1"
    assert len(judge.asked) == 1
    clock.at += timedelta(seconds=61)
    await login.caller("Bearer good")
    assert len(judge.asked) == 2


async def test_a_header_nested_a_thousand_levels_deep_is_401(login: Login) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 6_000).rstrip(b"=").decode()
    with pytest.raises(Rejected) as e:
        await login.caller(f"Bearer {deep[:8_000]}.x.y")
    assert e.value.status == 401
