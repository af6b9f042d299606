"""Asks the agent service, the owner of a conversation's status, how it stands."""

from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient
from common.statements import ServiceCredentials, Signer

_STATUSES = frozenset({"active", "waiting_approval", "with_person", "closed"})
# A transcript is worth more than its status: longer than this it isn't waited for.
_PATIENCE_S = 0.5


class Agents:
    """The agent service's HTTP API; without a URL nothing is ever learned."""

    def __init__(self, url: str, signer: Signer, clock: Clock) -> None:
        self._client = ServiceClient(url, timeout_s=_PATIENCE_S) if url else None
        self._credentials, self._clock = ServiceCredentials(signer, "agent.service"), clock

    async def status_of(self, conversation_id: str) -> str | None:
        """Return the conversation's status, or None when it can't be had right now."""
        if self._client is None:
            return None
        try:
            reply = await self._client.call(
                "GET",
                f"/v1/conversations/{conversation_id}",
                headers={"Authorization": self._credentials.bearer(self._clock.now())},
            )
        except (Transient, OutcomeUnknown):
            return None
        status = reply.body.get("status") if reply.status == 200 and isinstance(reply.body, dict) else None
        return status if status in _STATUSES else None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
