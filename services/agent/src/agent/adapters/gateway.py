"""The channel gateway's internal API: a session renewed in mid-run, and one-time codes."""

from dataclasses import dataclass

from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient
from common.statements import ServiceCredentials


@dataclass
class ChannelGateway:
    """``renew`` and ``send_code`` answer what happened; neither raises for a gateway that is away."""

    client: ServiceClient
    credentials: ServiceCredentials
    clock: Clock

    async def renew(self, assertion: str) -> str | None:
        """Return a fresh statement for the same session, or None when the login is over or the gateway away."""
        try:
            reply = await self.client.call(
                "POST", "/v1/internal/assertions/renew", json={"assertion": assertion}, headers=self._headers()
            )
        except (Transient, OutcomeUnknown):
            return None
        return str(reply.body["assertion"]) if reply.status == 200 else None

    async def send_code(self, conversation_id: str, customer_id: str, purpose: str) -> bool:
        """Have a one-time code sent to the address on file; False when it could not be."""
        body = {"conversation_id": conversation_id, "customer_id": customer_id, "purpose": purpose}
        try:
            reply = await self.client.call("POST", "/v1/internal/codes", json=body, headers=self._headers())
        except (Transient, OutcomeUnknown):
            return False
        return reply.status in (200, 202)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": self.credentials.bearer(self.clock.now())}
