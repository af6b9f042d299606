"""Turns reply events and handoffs into outbox rows of the caller's transaction."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from agent.core.replies import reply_event_id
from common import db
from common.events import HandoffOpened, ReplyEvent
from common.ids import derived_id
from common.outbox import Outgoing, enqueue_all
from common.producer import Producer
from common.topics import HANDOFFS, REPLIES


async def enqueue_replies(
    conn: db.Connection, events: Sequence[ReplyEvent], now: datetime, *, handoff: HandoffOpened | None = None
) -> None:
    """Write reply events, and the handoff that goes with them, with one statement."""
    outgoing = outgoing_replies(events, now)
    if handoff is not None:
        outgoing.append(
            Outgoing(
                HANDOFFS,
                handoff.conversation_id,
                handoff,
                occurred_at=now,
                event_id=derived_id("handoff", handoff.handoff_id, "opened"),
            )
        )
    await enqueue_all(conn, outgoing)


def outgoing_replies(events: Sequence[ReplyEvent], now: datetime) -> list[Outgoing]:
    """Return the outbox rows of reply events."""
    return [Outgoing(REPLIES, e.conversation_id, e, occurred_at=now, event_id=reply_event_id(e)) for e in events]


async def start_sending(producer: Producer, event: ReplyEvent, now: datetime) -> "asyncio.Future[Any]":
    """Send one event past the outbox; for events that may be lost or doubled without harm. Await what it returns."""
    event_id = reply_event_id(event)
    return await producer.start_event(REPLIES, event.conversation_id, event, event_id=event_id, occurred_at=now)
