"""Development keys are private, and every token is one the product's own verifier accepts."""

import json
import stat
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import OKPAlgorithm

from common.statements import BadStatement, Verifier
from stack import tokens
from stack.keys import LOGINS, SERVICES, make_keys

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_keys(tmp_path / "keys")


def public_half(folder: Path, name: str) -> object:
    return load_pem_private_key((folder / f"{name}.pem").read_bytes(), password=None).public_key()


def claims_of(token: str, folder: Path, login: str, audience: str) -> dict[str, object]:
    options = {"verify_exp": False, "verify_iat": False}
    found: dict[str, object] = jwt.decode(
        token,
        public_half(folder, login),  # type: ignore[arg-type]
        ["EdDSA"],
        audience=audience,
        options=options,  # type: ignore[arg-type]
    )
    return found


def test_private_keys_are_readable_by_their_owner_only(folder: Path) -> None:
    for name in (*SERVICES, *LOGINS):
        assert stat.S_IMODE((folder / f"{name}.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_keys_are_made_once(folder: Path) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    make_keys(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_the_trusted_set_holds_no_private_half_and_no_login(folder: Path) -> None:
    keys = json.loads((folder / "trusted.jwks.json").read_text())["keys"]
    assert {key["kid"] for key in keys} == {f"{name}-1" for name in SERVICES}
    assert not any("d" in key for key in keys)


def test_a_customer_token_names_the_customer_for_support(folder: Path) -> None:
    claims = claims_of(tokens.customer_token(folder, "C-1001", NOW), folder, "login", "support")
    assert (claims["sub"], claims["iss"]) == ("C-1001", tokens.LOGIN_ISSUER)
    assert claims["exp"] == int((NOW + timedelta(hours=8)).timestamp())


@pytest.mark.parametrize("audience", ["approvals", "approvals.decided"])
def test_one_staff_token_opens_the_console_and_signs_decisions(folder: Path, audience: str) -> None:
    claims = claims_of(tokens.staff_token(folder, "dana", "approver", NOW), folder, "stafflogin", audience)
    assert (claims["sub"], claims["role"], claims["ceiling"]) == ("dana", "approver", "500.00")


def test_only_an_approver_has_a_ceiling(folder: Path) -> None:
    lead = claims_of(tokens.staff_token(folder, "lee", "lead", NOW), folder, "stafflogin", "approvals")
    low = tokens.staff_token(folder, "dana", "approver", NOW, ceiling="50.00")
    assert "ceiling" not in lead
    assert claims_of(low, folder, "stafflogin", "approvals")["ceiling"] == str(Decimal("50.00"))


def test_the_session_and_the_service_token_pass_the_products_verifier(folder: Path) -> None:
    verifier = Verifier.from_file(folder / "trusted.jwks.json")
    session = verifier.session(tokens.session_assertion(folder, "C-1001", NOW), NOW)
    assert session.customer_id == "C-1001"
    bearer = f"Bearer {tokens.service_token(folder, 'agent', NOW)}"
    assert verifier.service(bearer, NOW, tokens.SERVICE_AUDIENCE) == "agent"


def test_a_negative_life_gives_an_expired_token_by_the_right_key(folder: Path) -> None:
    verifier = Verifier.from_file(folder / "trusted.jwks.json")
    expired = tokens.session_assertion(folder, "C-1001", NOW, ttl_s=-60)
    with pytest.raises(BadStatement, match="expired"):
        verifier.session(expired, NOW)


def test_a_jwk_of_the_set_is_the_public_half_of_the_file(folder: Path) -> None:
    keys = json.loads((folder / "trusted.jwks.json").read_text())["keys"]
    gateway = next(key for key in keys if key["iss"] == "gateway")
    assert json.loads(OKPAlgorithm.to_jwk(public_half(folder, "gateway")))["x"] == gateway["x"]  # type: ignore[arg-type]
