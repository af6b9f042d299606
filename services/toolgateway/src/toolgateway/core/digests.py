"""What an approval is bound to: SHA-256 over canonical JSON (SPEC §6)."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Return the one spelling of a JSON value: sorted keys, no spaces, no NaN; Decimals must be strings already."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def approval_digest(
    *,
    key: str,
    generation: int,
    version: int,
    kind: str,
    customer_id: str,
    currency: str | None,
    minor_units: int | None,
    args: dict[str, Any],
    policy_version: str,
    facts: dict[str, Any],
) -> str:
    """Return the hex digest of the row exactly as it will run, and of the facts the policy read."""
    bound = {
        "key": key,
        "generation": generation,
        "version": version,
        "kind": kind,
        "customer": customer_id,
        "currency": currency,
        "minor_units": minor_units,
        "args": args,
        "policy_version": policy_version,
        "facts": facts,
    }
    return hashlib.sha256(canonical_json(bound).encode()).hexdigest()
