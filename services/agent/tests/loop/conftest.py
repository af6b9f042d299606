"""What happens to a conversation beside the loop: messages answered on the spot, and people who take and return it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.fixed import FixedFlow
from agent.owner_api import OwnerChange, _set_owner
from common.clock import SystemClock
from common.consumer import Received
from common.ids import OrderIds


class QuietProducer:
    async def start_event(self, *_: Any, **__: Any) -> "asyncio.Future[None]":
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


class Beside:
    """Both work on ``conv_1`` of the given bench."""

    async def on_the_spot(self, bench: Any, work: Any) -> None:
        """Have the fixed deployment handle a message."""
        producer: Any = QuietProducer()
        parts = bench.parts
        flow = FixedFlow(
            pool=parts.pool,
            runs=parts.runs,
            tools=parts.tools,
            ledger=parts.ledger,
            sessions=parts.sessions,
            customers=parts.customers,
            producer=producer,
            order_ids=OrderIds(),
            clock=SystemClock(),
        )
        await flow.on_work([Received(work, f"ev_{work.message.message_id}", "conv_1", datetime.now(UTC), {})])

    async def move(self, bench: Any, *actions: Any) -> None:
        """Have Dana claim, take over, return or close it, one after the other."""
        for action in actions:
            await _set_owner(bench.pool, "conv_1", OwnerChange(action=action, staff="dana"), SystemClock())


@pytest.fixture
def beside() -> Beside:
    return Beside()
