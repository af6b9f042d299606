"""What the agent reads of a session statement: whose it is and how long it lasts, to tighten and to renew in time.

The signature isn't checked here: nothing is opened by this reading. The tool gateway verifies every statement itself
and takes identity from it alone (SPEC §2), so a forged one gets no further than a refused call.
"""

import base64
import binascii
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionClaims:
    """Customer, conversation, verified fields and expiry (Unix seconds) as the statement gives them."""

    customer_id: str
    conversation_id: str
    verified_fields: tuple[str, ...]
    expires_at_s: float


def claims_in(token: str | None, conversation_id: str, customer_id: str | None) -> SessionClaims | None:
    """Return the claims of a statement about this very conversation and customer, expired or not; else None."""
    claims = read_claims(token)
    if claims is None or (claims.conversation_id, claims.customer_id) != (conversation_id, customer_id):
        return None
    return claims


def read_claims(token: str | None) -> SessionClaims | None:
    """Return the claims of a compact JWT, or None when it isn't one or lacks what a session says."""
    parts = (token or "").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return SessionClaims(
            customer_id=str(claims["customer_id"]),
            conversation_id=str(claims["conversation_id"]),
            verified_fields=tuple(str(field) for field in claims["verified_fields"]),
            expires_at_s=float(claims["exp"]),
        )
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
