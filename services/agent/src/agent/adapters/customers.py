"""What a handoff packet says of the customer, asked of the store's systems in a short, bounded time."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from agent.adapters.sessions import Sessions
from agent.adapters.toolgateway import Toolgateway
from common.events import ActionChanged, CustomerMessage
from common.telemetry import get_logger

Json = dict[str, Any]
# A person is promised at once (SPEC, promise 3): a store system that takes longer is left out of the packet, which says
# so. Healthy ones answer in milliseconds.
_PATIENCE_S = 1.5
_log = get_logger()


@dataclass(frozen=True)
class Customers:
    """Each look-up returns ``{"name","tier","lifetime_value","open_tickets"}``, or None when it can't be had in time
    or can't be read.

    Nothing is asked when the conversation already knows its customer.
    """

    tools: Toolgateway
    sessions: Sessions
    patience_s: float = _PATIENCE_S

    async def of_message(self, message: CustomerMessage, known: Json | None = None) -> Json | None:
        """Return the record of the customer whom the message's own session names; a visitor has none."""
        if known is not None or message.customer_id is None or message.assertion is None:
            return known
        return await self._in_time(self._of_session(message))

    async def of_change(self, change: ActionChanged, known: Json | None = None) -> Json | None:
        """Return the record of a ledger row's customer: nobody is signed in when the row changes by itself."""
        return known if known is not None else await self._in_time(self.tools.load_customer_of(change.key))

    async def _of_session(self, message: CustomerMessage) -> Json | None:
        statement = await self.sessions.statement(message)
        # Whose statement it is, is looked at before anything is asked with it.
        if statement is None or self.sessions.read(message) is None:
            return None
        return await self.tools.load_customer(statement)

    async def _in_time(self, asking: Awaitable[Json | None]) -> Json | None:
        try:
            async with asyncio.timeout(self.patience_s):
                return await asking
        except TimeoutError:
            _log.warning("the customer's record did not come in time", waited_s=self.patience_s)
        except Exception as error:  # noqa: BLE001 - a person takes over without it, whatever a store's system answered
            _log.warning("the customer's record could not be read", error=type(error).__name__)
        return None
