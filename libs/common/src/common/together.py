"""One statement for many callers: what is asked for while a statement is on its way shares the next one.

A lone caller waits for nobody, so the price of a quiet service stays as it was; a busy one pays for a round trip, a
commit and a plan once for all that came meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import asyncpg

from common import db

T = TypeVar("T")
R = TypeVar("R")
# Larger batches save little more, and whoever is in one waits for all of it.
_MOST = 32


class Together(Generic[T, R]):
    """Gathers calls into batches for ``work``, one batch at a time, in the order they came.

    ``work`` gets the items and returns one result each, in order; it must be one statement or one transaction, so that
    its failure leaves nothing behind. A batch that the database refuses is taken apart and each item tried alone, so
    an item that can't be stored fails for its own caller only. Any other error reaches every caller of the batch.
    """

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, most: int = _MOST) -> None:
        self._work, self._most = work, most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, item: T) -> R:
        """Return the item's result, or raise what its work raised."""
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                # A caller that has gone away asks for nothing any more.
                if batch := [(item, answer) for item, answer in batch if not answer.done()]:
                    await self._do(batch)
        finally:
            self._running = None

    async def _do(self, batch: list[tuple[T, "asyncio.Future[R]"]]) -> None:
        try:
            results = await self._work([item for item, _ in batch])
        except asyncpg.PostgresError as error:
            if len(batch) == 1 or isinstance(error, db.UNAVAILABLE):
                _fail(batch, error)
                return
            for one in batch:
                await self._do([one])
        except Exception as error:  # noqa: BLE001 - it belongs to those who asked
            _fail(batch, error)
        else:
            for (_, answer), result in zip(batch, results, strict=True):
                if not answer.done():
                    answer.set_result(result)


def _fail(batch: Sequence[tuple[T, "asyncio.Future[R]"]], error: Exception) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)
