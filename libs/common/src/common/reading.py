"""How a group looks for records: at once while there are few, and at most so often once there are many.

A look costs the broker, the network and the reader about the same for one record as for fifty, and what is found
together is handled, stored and answered together. So a busy group lets records gather for a few hundredths of a second;
a quiet one waits for nothing.
"""

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

# Looks of a busy group begin at least this far apart; three such hops lie between a question and its answer.
APART_S = 0.04
# How long a group is watched before it counts as busy, or as quiet again.
WATCHED_S = 0.5


class Pace:
    """Says how long to hold the next look back, from how many records a second have come lately."""

    def __init__(self, busy_per_s: float, now: float) -> None:
        self._busy_per_s = busy_per_s
        self._looked_at, self._since, self._count = now, now, 0
        self.busy = False
        self._more_waits = False

    def pause_s(self, now: float) -> float:
        """Return how long to wait before the next look; 0 while the group is quiet, or behind."""
        return max(0.0, self._looked_at + APART_S - now) if self.gathers else 0.0

    @property
    def gathers(self) -> bool:
        """Say whether waiting brings more together: not while records lie there that the last look had no room for."""
        return self.busy and not self._more_waits

    def looked(self, now: float) -> None:
        """Note that a look begins."""
        self._looked_at = now

    def found(self, records: int, now: float, *, full: bool = False) -> None:
        """Note what a look found, and whether it was as much as a look may find."""
        self._count += records
        self._more_waits = full
        if (watched_s := now - self._since) >= WATCHED_S:
            self.busy = self._count > self._busy_per_s * watched_s
            self._since, self._count = now, 0


class PacedConsumer(AIOKafkaConsumer):  # type: ignore[misc]  # aiokafka has no types
    """Looks at the pace of what comes, and returns only when there is something to return.

    After a look in vain FastStream sleeps for as long as the look took, and a record that comes meanwhile lies there.
    """

    def __init__(self, *topics: str, busy_per_s: float, **options: Any) -> None:
        super().__init__(*topics, **options)
        self._pace = Pace(busy_per_s, asyncio.get_running_loop().time())

    async def getmany(self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None) -> Any:
        time = asyncio.get_running_loop().time
        if (pause_s := self._pace.pause_s(time())) > 0:
            await asyncio.sleep(pause_s)
        self.resume(*self.paused())
        self._pace.looked(time())
        while not (found := await super().getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)):
            pass
        count = sum(map(len, found.values()))
        self._pace.found(count, time(), full=count == max_records)
        if self._pace.gathers:
            # Else the client asks for the next record while these are handled, gets that one, and must ask again.
            self.pause(*self.assignment())
        return found
