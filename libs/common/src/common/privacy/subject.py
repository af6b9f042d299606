"""Whose data it is: a customer, and every name under which something of theirs is kept."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

# What lets its holder act as somebody is no part of what is kept about them, and never leaves in an export.
_SECRETS = frozenset({"assertion", "credential", "code_hash", "body_hash"})
_HIDDEN = "[secret]"


class Subject(BaseModel):
    """A customer id and what services found under it.

    ``addresses`` are e-mail addresses and numbers as they were written, ``keys`` ledger keys. A conversation that was
    never proved to be anybody's is the customer's when it stands here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    customer_id: str = Field(min_length=1, max_length=120)
    addresses: frozenset[str] = frozenset()
    conversations: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()

    def with_more(self, other: "Subject") -> "Subject":
        """Return both together; raises ValueError when they are about two customers."""
        if other.customer_id != self.customer_id:
            raise ValueError("these are two customers")
        return Subject(
            customer_id=self.customer_id,
            addresses=self.addresses | other.addresses,
            conversations=self.conversations | other.conversations,
            keys=self.keys | other.keys,
            orders=self.orders | other.orders,
        )

    def line(self) -> str:
        """Return one line of JSON, in a fixed order."""
        lists = {name: sorted(value) for name, value in self if name != "customer_id"}
        return json.dumps({"customer_id": self.customer_id, **lists}, ensure_ascii=False)


def without_secrets(value: Any) -> Any:
    """Return a JSON value with tokens and hashes hidden, at any depth."""
    if isinstance(value, dict):
        return {k: _HIDDEN if k in _SECRETS and v is not None else without_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value
