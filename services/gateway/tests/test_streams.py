"""What a stream reads from memory, what from the store, and what it says while nothing happens."""

import asyncio

from gateway.adapters.hub import Hub, Inbox
from gateway.core.frames import StoredEvent
from gateway.streams import follow_conversation, follow_message


class Shelf:
    """Plays the event store and counts the looks at it."""

    def __init__(self, *events: StoredEvent) -> None:
        self.events, self.looks = list(events), 0

    async def of_message(self, conversation_id: str, message_id: str, after: int) -> list[StoredEvent]:
        self.looks += 1
        return [e for e in self.events if e.message_id == message_id and e.seq > after]

    async def of_conversation(self, conversation_id: str, after: int) -> list[StoredEvent]:
        self.looks += 1
        return [e for e in self.events if e.position > after]

    async def newest_of_message(self, conversation_id: str, message_id: str) -> StoredEvent | None:
        return self.events[-1] if self.events else None


def event(seq: int, name: str = "token") -> StoredEvent:
    return StoredEvent("c", "m", seq, seq, name, {}, "agent")


def follow(shelf: Shelf, inbox: Inbox, *, fresh: bool, beat_s: float = 60.0) -> "asyncio.Task[list[bytes]]":
    async def collect() -> list[bytes]:
        frames = follow_message(shelf, inbox, "c", after=0, beat_s=beat_s, fresh=fresh)  # type: ignore[arg-type]
        return [frame async for frame in frames]

    return asyncio.create_task(collect())


def ids(frames: list[bytes]) -> list[str]:
    return [line[4:] for frame in frames for line in frame.decode().splitlines() if line.startswith("id: ")]


async def test_a_fresh_message_needs_no_look_at_the_store_even_if_its_answer_came_first() -> None:
    hub, shelf = Hub(), Shelf()
    with hub.listen("m") as inbox:
        hub.publish([event(1, "status")])
        following = follow(shelf, inbox, fresh=True)
        await asyncio.sleep(0)
        hub.publish([event(2), event(3, "done")])
        frames = await following
    assert (ids(frames), shelf.looks) == (["1", "2", "3"], 0)


async def test_a_fresh_message_whose_first_event_another_replica_stored_is_read_from_the_store() -> None:
    hub, shelf = Hub(), Shelf(event(1, "status"), event(2), event(3, "done"))
    with hub.listen("m") as inbox:
        following = follow(shelf, inbox, fresh=True)
        hub.publish([event(2)])
        frames = await following
    assert ids(frames) == ["1", "2", "3"]


async def test_a_notification_makes_a_fresh_stream_look() -> None:
    hub, shelf = Hub(), Shelf(event(1, "status"), event(2, "done"))
    with hub.listen("m") as inbox:
        following = follow(shelf, inbox, fresh=True)
        await asyncio.sleep(0)
        assert shelf.looks == 0
        hub.look_again(["c", "m"])
        assert ids(await following) == ["1", "2"]


async def test_a_gap_between_two_events_at_hand_is_read_from_the_store() -> None:
    hub, shelf = Hub(), Shelf(event(1, "status"), event(2), event(3), event(4, "done"))
    with hub.listen("m") as inbox:
        hub.publish([event(1, "status"), event(4, "done")])
        assert ids(await follow(shelf, inbox, fresh=True)) == ["1", "2", "3", "4"]


async def test_a_message_that_is_not_fresh_is_replayed_first() -> None:
    hub, shelf = Hub(), Shelf(event(1, "status"), event(2, "done"))
    with hub.listen("m") as inbox:
        assert ids(await follow(shelf, inbox, fresh=False)) == ["1", "2"]


async def test_a_quiet_stream_says_that_it_is_alive_and_then_goes_on() -> None:
    hub = Hub()
    with hub.listen("m") as inbox:
        frames = follow_message(Shelf(), inbox, "c", after=0, beat_s=0.01, fresh=True)  # type: ignore[arg-type]
        beats = [await anext(frames) for _ in range(2)]
        hub.publish([event(1, "done")])
        rest = [frame async for frame in frames]
    assert beats == [b": still here\n\n"] * 2
    assert ids(rest)[-1:] == ["1"]


async def test_a_quiet_conversation_stream_beats_too_and_ends_with_its_hub() -> None:
    hub, shelf = Hub(), Shelf(event(1))
    with hub.listen("c") as inbox:
        frames = follow_conversation(shelf, inbox, after=0, beat_s=0.01)  # type: ignore[arg-type]
        first = [await anext(frames) for _ in range(2)]
        hub.close()
        rest = [frame async for frame in frames]
    assert (ids(first), first[1]) == (["1"], b": still here\n\n")
    assert ids(rest) == []
