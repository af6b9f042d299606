"""Ledger keys: a business fact named by resolved records, never by a customer's or a model's words (R1)."""

import hashlib
from dataclasses import dataclass
from urllib.parse import quote

# Providers take idempotency keys of up to 255 bytes; leave room for a generation.
_MAX_BYTES = 240


@dataclass(frozen=True)
class Fact:
    """What a row is about, before it is numbered; ``counted`` facts (addresses, account fields) repeat over time."""

    name: str
    counted: bool = False

    def key(self, *, n: int = 1, generation: int = 1) -> str:
        """Return the ledger key of the fact's ``n``-th change in its ``generation``-th try."""
        numbered = f"{self.name}:{n}" if self.counted else self.name
        return numbered if generation == 1 else f"{numbered}~{generation}"


def refund(order_id: str, line_id: str) -> Fact:
    """``refund:<order>:<line>``"""
    return Fact(_join("refund", order_id, line_id))


def cancel(order_id: str) -> Fact:
    """``cancel:<order>``"""
    return Fact(_join("cancel", order_id))


def address_change(order_id: str) -> Fact:
    """``address_change:<order>:<n>``"""
    return Fact(_join("address_change", order_id), counted=True)


def account_change(customer_id: str, field: str) -> Fact:
    """``account_change:<customer>:<field>:<n>``"""
    return Fact(_join("account_change", customer_id, field), counted=True)


def return_label(order_id: str, line_ids: tuple[str, ...]) -> Fact:
    """``return_label:<order>:<sorted lines>``; a set too long for a key is named by its hash."""
    lines = ",".join(_part(line) for line in sorted(line_ids))
    name = f"return_label:{_part(order_id)}:{lines}"
    if len(name) > _MAX_BYTES:
        name = f"return_label:{_part(order_id)}:sha256-{hashlib.sha256(lines.encode()).hexdigest()}"
    return Fact(name)


def _join(*parts: str) -> str:
    return ":".join(_part(part) for part in parts)


def _part(text: str) -> str:
    # quote() leaves "~" alone, and "~2" at a key's end means the second generation.
    return quote(text, safe="").replace("~", "%7E")
