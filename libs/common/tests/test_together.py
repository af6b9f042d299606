"""Calls that meet share one statement; what goes wrong with one is that one's own."""

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from common.together import Together


class Counted:
    """Doubles numbers, slowly enough that others can come meanwhile; remembers each batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = asyncio.Event()

    async def double(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await self.go.wait()
        if 13 in items:
            raise asyncpg.CheckViolationError("13")
        if 99 in items:
            raise OSError("away")
        return [2 * n for n in items]


async def _ask(together: Together[int, int], *items: int) -> list["asyncio.Task[int]"]:
    tasks = [asyncio.ensure_future(together(n)) for n in items]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_what_comes_while_one_is_on_its_way_shares_the_next_in_order() -> None:
    counted = Counted()
    together = Together(counted.double)
    first = await _ask(together, 1)
    later = await _ask(together, 2, 3, 4)
    counted.go.set()
    assert await asyncio.gather(*first, *later) == [2, 4, 6, 8]
    assert counted.batches == [[1], [2, 3, 4]]


async def test_no_batch_is_larger_than_it_may_be() -> None:
    counted = Counted()
    counted.go.set()
    together = Together(counted.double, most=2)
    assert await asyncio.gather(*(together(n) for n in range(5))) == [0, 2, 4, 6, 8]
    assert max(map(len, counted.batches)) == 2


async def test_one_that_the_database_refuses_fails_alone() -> None:
    counted = Counted()
    together = Together(counted.double)
    first = await _ask(together, 1)
    later = await _ask(together, 2, 13, 4)
    counted.go.set()
    assert await asyncio.gather(*first) == [2]
    answers = await asyncio.gather(*later, return_exceptions=True)
    assert (answers[0], answers[2]) == (4, 8)
    assert isinstance(answers[1], asyncpg.CheckViolationError)


async def test_a_database_that_is_away_is_everybodys_trouble_and_the_next_call_tries_again() -> None:
    counted = Counted()
    counted.go.set()
    together = Together(counted.double)
    answers = await asyncio.gather(together(1), together(99), return_exceptions=True)
    assert [type(a) for a in answers] == [OSError, OSError]
    assert await together(5) == 10


async def test_a_caller_that_went_away_before_its_turn_is_left_out() -> None:
    counted = Counted()
    together = Together(counted.double)
    first = await _ask(together, 1)
    gone, stays = await _ask(together, 2, 3)
    gone.cancel()
    counted.go.set()
    assert [await first[0], await stays] == [2, 6]
    assert counted.batches == [[1], [3]]
    with pytest.raises(asyncio.CancelledError):
        await gone
