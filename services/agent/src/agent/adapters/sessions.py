"""The customer's signed session during a run: read, checked against the event, renewed while the login holds."""

from dataclasses import dataclass, field
from datetime import timedelta

from agent.adapters.gateway import ChannelGateway
from common.clock import Clock
from common.events import CustomerMessage
from common.statements import BadStatement, Session, Verifier

# A statement that ends sooner than this could end between our look and the tool gateway's.
_MARGIN = timedelta(seconds=20)
_REMEMBERED = 2_000


@dataclass
class Sessions:
    """Hands out a statement that is good for the next tool call, or None when there is none."""

    verifier: Verifier
    gateway: ChannelGateway
    clock: Clock
    _renewed: dict[str, str] = field(default_factory=dict, init=False)

    def read(self, message: CustomerMessage) -> Session | None:
        """Return the verified session of this very conversation and customer, None for a visitor or a foreign one."""
        token = self._renewed.get(message.message_id, message.assertion)
        if token is None:
            return None
        try:
            session = self.verifier.session(token, self.clock.now())
        except BadStatement:
            return None
        same = session.conversation_id == message.conversation_id and session.customer_id == message.customer_id
        return session if same else None

    async def statement(self, message: CustomerMessage, *, refused: bool = False) -> str | None:
        """Return a statement for the next call; ``refused`` says that the last one was not accepted."""
        token = self._renewed.get(message.message_id, message.assertion)
        if token is None:
            return None
        session = self.read(message)
        if session is not None and not refused and session.expires_at - self.clock.now() > _MARGIN:
            return token
        fresh = await self.gateway.renew(token)
        if fresh is None:
            # The old one may still do for a moment when only the gateway is away.
            return token if session is not None and not refused else None
        if len(self._renewed) >= _REMEMBERED:
            self._renewed.pop(next(iter(self._renewed)))
        self._renewed[message.message_id] = fresh
        return fresh if self.read(message) is not None else None
