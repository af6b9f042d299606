"""A replica that is alone tells nobody what it stored; one that has company does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gateway.adapters.hub import Hub, Neighbours
from stack.databases import TestDatabase

HELLO_S = 0.5


@asynccontextmanager
async def replica(database: TestDatabase, name: str) -> AsyncIterator[Neighbours]:
    neighbours = Neighbours(database.dsn("gateway"), Hub(), name, hello_s=HELLO_S)
    task = asyncio.create_task(neighbours.run())
    try:
        yield neighbours
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in the database
            await asyncio.sleep(0.01)


async def test_a_replica_is_alone_until_another_comes_and_again_when_it_has_gone(database: TestDatabase) -> None:
    async with replica(database, "first") as first:
        assert not first.alone(), "nobody can know so soon"
        await until(first.alone)
        async with replica(database, "second") as second:
            await until(lambda: not first.alone())
            await asyncio.sleep(4 * HELLO_S)
            assert not first.alone()
            assert not second.alone()
        await until(first.alone)
    assert not first.alone(), "who hears nothing can't know"
