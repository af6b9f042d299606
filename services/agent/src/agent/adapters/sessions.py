"""The customer's signed session during a run: held against the event, renewed while the login holds."""

from dataclasses import dataclass, field

from agent.adapters.gateway import ChannelGateway
from agent.core.session_claims import SessionClaims, claims_in
from common.clock import Clock
from common.events import CustomerMessage

# A statement that ends sooner than this could end between our look and the tool gateway's.
_MARGIN_S = 20.0
_REMEMBERED = 2_000


@dataclass
class Sessions:
    """Hands out a statement that is good for the next tool call, or None when there is none."""

    gateway: ChannelGateway
    clock: Clock
    _renewed: dict[str, str] = field(default_factory=dict, init=False)

    def read(self, message: CustomerMessage) -> SessionClaims | None:
        """Return the live session of this very conversation and customer; None for a visitor's, foreign or over."""
        token = self._renewed.get(message.message_id, message.assertion)
        claims = claims_in(token, message.conversation_id, message.customer_id)
        if claims is None or claims.expires_at_s <= self.clock.now().timestamp():
            return None
        return claims

    async def statement(self, message: CustomerMessage, *, refused: bool = False) -> str | None:
        """Return a statement for the next call; ``refused`` says that the last one was not accepted."""
        token = self._renewed.get(message.message_id, message.assertion)
        if token is None:
            return None
        claims = self.read(message)
        if claims is not None and not refused and claims.expires_at_s - self.clock.now().timestamp() > _MARGIN_S:
            return token
        fresh = await self.gateway.renew(token)
        if fresh is None:
            # The old one may still do for a moment when only the gateway is away.
            return token if claims is not None and not refused else None
        if len(self._renewed) >= _REMEMBERED:
            self._renewed.pop(next(iter(self._renewed)))
        self._renewed[message.message_id] = fresh
        return fresh if self.read(message) is not None else None
