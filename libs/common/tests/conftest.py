"""What the kernel's tests share: a time line that moves only when it is told to, and wakes whoever waits on it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest


class TimeLine:
    """A Clock, and the ``pause`` that goes with it."""

    def __init__(self) -> None:
        self.seconds, self.pauses = 0.0, 0
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def pause(self, event: asyncio.Event, seconds: float) -> None:
        self.pauses += 1
        slept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleeping.append((self.seconds + seconds, slept))
        happened = asyncio.create_task(event.wait())
        try:
            await asyncio.wait({slept, happened}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            slept.cancel()
            happened.cancel()
            with suppress(asyncio.CancelledError):
                await happened

    async def go_to(self, seconds: float) -> None:
        """Move there and let everybody who can go on do so."""
        self.seconds = seconds
        due = [slept for at, slept in self._sleeping if at <= seconds and not slept.done()]
        self._sleeping = [(at, slept) for at, slept in self._sleeping if at > seconds and not slept.done()]
        for slept in due:
            slept.set_result(None)
        await self.settle()

    @staticmethod
    async def settle() -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
def make_time_line() -> Callable[[], TimeLine]:
    return TimeLine
