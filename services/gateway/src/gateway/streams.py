"""Follows the event store for one client: subscribe, then replay, then drop repeats (R12). The store is the truth."""

from collections.abc import AsyncGenerator

from gateway.adapters.events import Events
from gateway.adapters.hub import Inbox
from gateway.core.frames import StoredEvent

# A comment: no client reads it, no proxy thinks that nobody speaks any more.
_HEARTBEAT = b": still here\n\n"
# Frames, those at hand in one piece.
Frames = AsyncGenerator[bytes, None]


async def follow_message(
    events: Events, inbox: Inbox, conversation_id: str, *, after: int, beat_s: float, fresh: bool = False
) -> Frames:
    """Yield the frames of the message that ``inbox`` listens to after number ``after``, to its `done`.

    A ``fresh`` message was stored after the inbox had been opened, so there is nothing to replay.
    """
    message_id, last = inbox.name, after
    news: list[StoredEvent] | None = [] if fresh else None
    while not inbox.closed:
        # An overflow, a neighbour's notification, a gap: what is missing stands in the store.
        reading = news is None or _has_gap(last, [e.seq for e in news])
        if news is None or reading:
            news = await events.of_message(conversation_id, message_id, last)
        new = [event for event in news if event.seq > last]
        ended = any(event.event == "done" for event in news)
        if new:
            last = new[-1].seq
            # What is there together leaves together: one write, not one an event.
            yield b"".join(event.message_frame() for event in new)
        if ended:
            return
        if reading and news:
            news = None
            continue
        if reading and last > 0 and await _has_ended(events, conversation_id, message_id, last):
            return
        if (news := await inbox.next(beat_s)) == []:
            yield _HEARTBEAT


async def follow_conversation(events: Events, inbox: Inbox, *, after: int, beat_s: float) -> Frames:
    """Yield a conversation's frames after position ``after`` in the same way, for as long as the client stays."""
    last, news = after, None
    while not inbox.closed:
        reading = news is None or _has_gap(last, [e.position for e in news])
        if news is None or reading:
            news = await events.of_conversation(inbox.name, last)
        new = [event for event in news if event.position > last]
        if new:
            last = new[-1].position
            yield b"".join(event.conversation_frame() for event in new)
        # A page read from the store may have another behind it.
        if reading and news:
            news = None
        elif (news := await inbox.next(beat_s)) == []:
            yield _HEARTBEAT


async def _has_ended(events: Events, conversation_id: str, message_id: str, last: int) -> bool:
    """A client that has seen the end and resumes gets an empty stream, not one that never ends.

    An end that was stored since the replay is news still to be read.
    """
    newest: StoredEvent | None = await events.newest_of_message(conversation_id, message_id)
    return newest is not None and newest.event == "done" and newest.seq <= last


def _has_gap(last: int, numbers: list[int]) -> bool:
    new = [n for n in numbers if n > last]
    return new != list(range(last + 1, last + 1 + len(new)))
