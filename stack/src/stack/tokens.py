"""Prints the tokens a development stack accepts: those of the store's logins, of a service, and a session's."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from common.ids import new_id
from common.statements import SESSION_AUDIENCE, Signer, session_claims

LOGIN_ISSUER = "https://login.sandbox.local"
STAFF_ISSUER = "https://staff.sandbox.local"
SERVICE_AUDIENCE = "toolgateway.service"
CUSTOMER_TTL_S = 8 * 3600.0
STAFF_TTL_S = 3600.0
SERVICE_TTL_S = 3600.0  # an outside program holds one for its whole run; services renew their own every few minutes
SESSION_TTL_S = 3600.0
APPROVER_CEILING = Decimal("500.00")


def customer_token(keys: Path, customer_id: str, now: datetime, ttl_s: float = CUSTOMER_TTL_S) -> str:
    """As the store's login would issue it."""
    signer = Signer.from_file(LOGIN_ISSUER, keys / "login.pem", "login-1")
    return signer.sign("support", {"sub": customer_id}, ttl_s, now)


def staff_token(
    keys: Path, staff: str, role: str, now: datetime, *, ttl_s: float = STAFF_TTL_S, ceiling: str | None = None
) -> str:
    """As the staff login would issue it; an approver without a ceiling gets the usual one, a lead has none."""
    signer = Signer.from_file(STAFF_ISSUER, keys / "stafflogin.pem", "stafflogin-1")
    claims: dict[str, object] = {"sub": staff, "role": role}
    if role == "approver":
        claims["ceiling"] = str(Decimal(ceiling) if ceiling else APPROVER_CEILING)
    # One login opens the console and signs decisions sent as events, which have their own audience.
    return signer.sign(["approvals", "approvals.decided"], claims, ttl_s, now)


def service_token(keys: Path, service: str, now: datetime, ttl_s: float = SERVICE_TTL_S) -> str:
    """The bearer value with which `service` calls the tool API."""
    return Signer.from_file(service, keys / f"{service}.pem").sign(SERVICE_AUDIENCE, {"sub": service}, ttl_s, now)


def session_assertion(keys: Path, customer_id: str, now: datetime, ttl_s: float = SESSION_TTL_S) -> str:
    """A session as the gateway would vouch for it, of a conversation of its own."""
    claims = session_claims(
        customer_id=customer_id, conversation_id=new_id("conv"), channel="chat", verified_by="login"
    )
    return Signer.from_file("gateway", keys / "gateway.pem").sign(SESSION_AUDIENCE, claims, ttl_s, now)


def lines(values: Iterable[str]) -> str:
    return "".join(f"{value}\n" for value in values)
