"""Follows the event store for one client: subscribe, then replay, then drop repeats (R12). The store is the truth."""

from collections.abc import AsyncIterator

from gateway.adapters.events import Events
from gateway.adapters.hub import Hub
from gateway.core.frames import StoredEvent


async def follow_message(
    events: Events, hub: Hub, conversation_id: str, message_id: str, after: int
) -> AsyncIterator[bytes]:
    """Yield a message's frames, those at hand in one piece, after number ``after``, to its `done`."""
    with hub.listen(message_id) as inbox:
        last, news = after, None
        while not inbox.closed:
            # An overflow, a neighbour's notification, a gap: what is missing stands in the store.
            reading = news is None or _has_gap(last, [e.seq for e in news])
            if news is None or reading:
                news = await events.of_message(conversation_id, message_id, last)
            fresh = [event for event in news if event.seq > last]
            if fresh:
                last = fresh[-1].seq
                # What is there together leaves together: one write, not one an event.
                yield b"".join(event.message_frame() for event in fresh)
            if any(event.event == "done" for event in news):
                return
            if reading and news:
                news = None
                continue
            if reading and last > 0 and await _has_ended(events, conversation_id, message_id, last):
                return
            news = await inbox.next()


async def follow_conversation(events: Events, hub: Hub, conversation_id: str, after: int) -> AsyncIterator[bytes]:
    """Yield a conversation's frames after position ``after`` in the same way, for as long as the client stays."""
    with hub.listen(conversation_id) as inbox:
        last, news = after, None
        while not inbox.closed:
            reading = news is None or _has_gap(last, [e.position for e in news])
            if news is None or reading:
                news = await events.of_conversation(conversation_id, last)
            fresh = [event for event in news if event.position > last]
            if fresh:
                last = fresh[-1].position
                yield b"".join(event.conversation_frame() for event in fresh)
            # A page read from the store may have another behind it.
            news = None if reading and news else await inbox.next()


async def _has_ended(events: Events, conversation_id: str, message_id: str, last: int) -> bool:
    """A client that has seen the end and resumes gets an empty stream, not one that never ends.

    An end that was stored since the replay is news still to be read.
    """
    newest: StoredEvent | None = await events.newest_of_message(conversation_id, message_id)
    return newest is not None and newest.event == "done" and newest.seq <= last


def _has_gap(last: int, numbers: list[int]) -> bool:
    return bool(numbers) and numbers[0] > last + 1
