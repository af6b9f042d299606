"""The customer's record at the store: tier, name and open tickets for handoffs; read for the verified customer only."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient

Json = dict[str, Any]
_KEPT = ("name", "tier", "lifetime_value", "open_tickets")


@dataclass(frozen=True)
class Profiles:
    """Reads the commerce port's customer; ``client`` is None where the store has none."""

    client: ServiceClient | None

    async def load(self, customer_id: str) -> Json | None:
        """Return ``{"name","tier","lifetime_value","open_tickets"}``, or None when it can't be had just now."""
        if self.client is None:
            return None
        try:
            reply = await self.client.call("GET", f"/customers/{quote(customer_id, safe='')}")
        except (Transient, OutcomeUnknown):
            return None
        if reply.status != 200 or not isinstance(reply.body, dict):
            return None
        return {field: reply.body.get(field) for field in _KEPT}
