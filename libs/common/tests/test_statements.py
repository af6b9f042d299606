"""A statement holds only as it was signed, by whom it says, for whom it says, until it says."""

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import jwt
import pytest

from common.statements import (
    JOB_AUDIENCE,
    SESSION_AUDIENCE,
    STAFF_AUDIENCE,
    BadStatement,
    ServiceCredentials,
    Signer,
    Verifier,
    session_claims,
)
from stack.keys import make_keys

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
CLAIMS = session_claims(
    customer_id="C-1001", conversation_id="conv_1", channel="chat", verified_by="login", verified_fields=("otp",)
)


@pytest.fixture
def verifier(keys: Path) -> Verifier:
    return Verifier.from_file(keys / "trusted.jwks.json")


def signer(keys: Path, name: str, *, issuer: str | None = None, kid: str | None = None) -> Signer:
    return Signer.from_file(issuer or name, keys / f"{name}.pem", kid)


def test_a_session_says_who_where_and_how_verified(keys: Path, verifier: Verifier) -> None:
    session = verifier.session(signer(keys, "gateway").sign(SESSION_AUDIENCE, CLAIMS, 600, NOW), NOW)
    assert (session.customer_id, session.conversation_id, session.channel) == ("C-1001", "conv_1", "chat")
    assert session.verified_fields == ("otp",)
    assert session.expires_at == NOW + timedelta(seconds=600)


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c", "é.é.é"])
def test_an_absent_or_broken_statement_is_refused(verifier: Verifier, token: str | None) -> None:
    with pytest.raises(BadStatement):
        verifier.session(token, NOW)


def test_an_expired_statement_is_refused_even_right_after_it_was_accepted(keys: Path, verifier: Verifier) -> None:
    token = signer(keys, "gateway").sign(SESSION_AUDIENCE, CLAIMS, 60, NOW)
    verifier.session(token, NOW)
    with pytest.raises(BadStatement, match="expired"):
        verifier.session(token, NOW + timedelta(seconds=71))
    with pytest.raises(BadStatement, match="expired"):
        verifier.session(signer(keys, "gateway").sign(SESSION_AUDIENCE, CLAIMS, -60, NOW), NOW)


@pytest.mark.parametrize("name", ["agent", "approvals", "reconciler", "login"])
def test_nobody_but_the_gateway_speaks_for_a_customer(keys: Path, verifier: Verifier, name: str) -> None:
    forgeries = [
        signer(keys, name).sign(SESSION_AUDIENCE, CLAIMS, 600, NOW),
        signer(keys, name, issuer="gateway").sign(SESSION_AUDIENCE, CLAIMS, 600, NOW),
        signer(keys, name, issuer="gateway", kid="gateway-1").sign(SESSION_AUDIENCE, CLAIMS, 600, NOW),
    ]
    for token in forgeries:
        with pytest.raises(BadStatement):
            verifier.session(token, NOW)


def test_unsigned_and_symmetric_tokens_are_refused(keys: Path, verifier: Verifier) -> None:
    """BB-AUTH-01."""
    body = {**CLAIMS, "iss": "gateway", "aud": SESSION_AUDIENCE, "jti": "x", "iat": 1, "exp": NOW.timestamp() + 600}
    for algorithm, key in (("none", ""), ("HS256", "k" * 32)):
        token = jwt.encode(body, key, algorithm=algorithm, headers={"kid": "gateway-1"})
        with pytest.raises(BadStatement):
            verifier.session(token, NOW)


def test_one_kind_of_statement_does_not_pass_for_another(keys: Path, verifier: Verifier) -> None:
    staff = signer(keys, "approvals").sign(STAFF_AUDIENCE, {"staff": "dana", "role": "lead", "ceiling": None}, 60, NOW)
    job = signer(keys, "reconciler").sign(JOB_AUDIENCE, {"order_id": "4417028", "kind": "refund"}, 60, NOW)
    assert verifier.staff(staff, NOW).ceiling is None
    assert verifier.job(job, NOW).order_id == "4417028"
    for token in (staff, job):
        with pytest.raises(BadStatement):
            verifier.session(token, NOW)
    with pytest.raises(BadStatement):
        verifier.job(staff, NOW)


@pytest.mark.parametrize("field", ["customer_id", "conversation_id", "channel", "verified_by", "verified_fields"])
def test_a_session_without_one_of_its_facts_is_refused(keys: Path, verifier: Verifier, field: str) -> None:
    token = signer(keys, "gateway").sign(SESSION_AUDIENCE, {**CLAIMS, field: None}, 600, NOW)
    with pytest.raises(BadStatement):
        verifier.session(token, NOW)


def test_a_staff_ceiling_is_read_as_a_decimal(keys: Path, verifier: Verifier) -> None:
    claims = {"staff": "dana", "role": "approver", "ceiling": "500.00"}
    assert verifier.staff(signer(keys, "approvals").sign(STAFF_AUDIENCE, claims, 60, NOW), NOW).ceiling == Decimal(
        "500.00"
    )


def test_a_service_token_names_its_service_and_only_for_its_audience(keys: Path, verifier: Verifier) -> None:
    bearer = ServiceCredentials(signer(keys, "agent"), "toolgateway.service").bearer(NOW)
    assert verifier.service(bearer, NOW, "toolgateway.service") == "agent"
    for wrong in (None, "", "Basic abc", bearer.replace("Bearer ", "")):
        with pytest.raises(BadStatement):
            verifier.service(wrong, NOW, "toolgateway.service")
    with pytest.raises(BadStatement):
        verifier.service(bearer, NOW, "gateway.service")


def test_service_credentials_renew_before_they_end(keys: Path, verifier: Verifier) -> None:
    credentials = ServiceCredentials(signer(keys, "agent"), "toolgateway.service")
    first = credentials.bearer(NOW)
    assert credentials.bearer(NOW + timedelta(seconds=200)) == first
    later = NOW + timedelta(seconds=260)
    assert verifier.service(credentials.bearer(later), later, "toolgateway.service") == "agent"


def test_remembering_a_statement_opens_nothing_that_only_looks_like_it(keys: Path, verifier: Verifier) -> None:
    token = signer(keys, "gateway").sign(SESSION_AUDIENCE, CLAIMS, 600, NOW)
    verifier.session(token, NOW)
    head, body, signature = token.split(".")
    other_customer = base64.urlsafe_b64encode(
        json.dumps({**CLAIMS, "customer_id": "C-2002", "aud": SESSION_AUDIENCE, "exp": 2e9}).encode()
    ).decode()
    flipped = signature[:10] + ("A" if signature[10] != "A" else "B") + signature[11:]
    for forged in (f"{head}.{body}.{flipped}", f"{head}.{body}.", f"{head}.{other_customer}.{signature}", token[:-8]):
        with pytest.raises(BadStatement):
            verifier.session(forged, NOW)
    for kind in (verifier.staff, verifier.job):
        with pytest.raises(BadStatement):
            kind(token, NOW)
    with pytest.raises(BadStatement):
        verifier.service(f"Bearer {token}", NOW, "toolgateway.service")
    assert verifier.session(token, NOW).customer_id == "C-1001"


def test_a_remembered_service_token_opens_no_other_audience(keys: Path, verifier: Verifier) -> None:
    bearer = ServiceCredentials(signer(keys, "agent"), "toolgateway.service").bearer(NOW)
    assert verifier.service(bearer, NOW, "toolgateway.service") == "agent"
    with pytest.raises(BadStatement):
        verifier.service(bearer, NOW, "gateway.service")
    with pytest.raises(BadStatement, match="expired"):
        verifier.service(bearer, NOW + timedelta(seconds=311), "toolgateway.service")


def test_a_statement_of_a_key_that_was_rotated_out_is_refused(
    keys: Path, verifier: Verifier, tmp_path_factory: pytest.TempPathFactory
) -> None:
    token = signer(keys, "gateway").sign(SESSION_AUDIENCE, CLAIMS, 600, NOW)
    verifier.session(token, NOW)
    rotated = Verifier.from_file(make_keys(tmp_path_factory.mktemp("rotated")) / "trusted.jwks.json")
    with pytest.raises(BadStatement):
        rotated.session(token, NOW)


def test_only_so_many_statements_are_remembered(
    keys: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.statements._REMEMBERED", 2)
    for n in range(4):
        verifier.session(signer(keys, "gateway").sign(SESSION_AUDIENCE, {**CLAIMS, "n": n}, 600, NOW), NOW)
    assert len(verifier._seen) == 2
