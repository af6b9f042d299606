"""The hub hands over what was stored, never more than a client can hold, and forgets who left."""

import asyncio

from gateway.adapters.hub import Hub
from gateway.core.frames import StoredEvent


def event(seq: int, message: str = "m") -> StoredEvent:
    return StoredEvent("c", message, seq, seq, "token", {"text": "x"}, "agent")


async def test_news_reach_the_message_and_its_conversation_and_nobody_else() -> None:
    hub = Hub()
    with hub.listen("m") as mine, hub.listen("c") as whole, hub.listen("other") as other:
        hub.publish([event(1), event(2)])
        assert [e.seq for e in await mine.next() or ()] == [1, 2]
        assert [e.seq for e in await whole.next() or ()] == [1, 2]
        waiting = asyncio.create_task(other.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
    assert len(hub) == 0


async def test_a_client_that_falls_behind_is_sent_to_the_store() -> None:
    hub = Hub()
    with hub.listen("m") as slow:
        hub.publish([event(n) for n in range(1, 1_000)])
        assert await slow.next() is None
        hub.publish([event(1_000)])
        assert [e.seq for e in await slow.next() or ()] == [1_000]


async def test_five_thousand_streams_leave_nothing_behind() -> None:
    """BB-SSE-08."""
    hub = Hub()
    for n in range(5_000):
        with hub.listen(f"m{n}"):
            pass
    assert len(hub) == 0
    assert hub.streams() == []


async def test_a_closed_hub_ends_open_streams_and_those_that_come_later() -> None:
    hub = Hub()
    with hub.listen("m") as early:
        hub.close()
        assert await early.next() is None
        assert early.closed
    with hub.listen("m") as late:
        assert late.closed
