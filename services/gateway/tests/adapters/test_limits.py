"""The rate limit on a real Redis: calls that meet share one script, and each subject has its own window."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from redis.asyncio import Redis

from gateway.adapters.limits import Limiter


@pytest_asyncio.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


class Counting:
    """A client whose scripts note how many windows each call was about."""

    def __init__(self, client: Redis) -> None:
        self.client, self.calls = client, list[int]()

    def register_script(self, text: str) -> Any:
        script = self.client.register_script(text)

        async def run(keys: list[str], args: list[Any]) -> Any:
            self.calls.append(len(keys))
            return await script(keys=keys, args=args)

        return run


async def test_subjects_that_meet_are_counted_each_for_itself_in_one_call(redis: Redis) -> None:
    counting = Counting(redis)
    limiter = Limiter(counting, name=f"t{secrets.token_hex(4)}", limit=2)  # type: ignore[arg-type]
    asked = [("a", "1"), ("a", "2"), ("b", "1"), ("a", "1"), ("a", "3"), ("b", "1"), ("b", "2"), ("b", "3")]
    waits = await asyncio.gather(*(limiter.take(subject, member) for subject, member in asked))
    assert [wait > 0 for wait in waits] == [False, False, False, False, True, False, False, True]
    assert all(wait <= 10 for wait in waits)
    assert counting.calls == [8]
    assert await limiter.take("a", "2") == 0, "what was counted passes although the window is full"


async def test_every_window_of_a_batch_ends(redis: Redis) -> None:
    name = f"t{secrets.token_hex(4)}"
    limiter = Limiter(redis, name=name, limit=1, window_s=60)
    await asyncio.gather(*(limiter.take(subject, "m") for subject in "abc"))
    lives = [await redis.pttl(f"rate:{name}:{subject}") for subject in "abc"]
    assert all(0 < life_ms <= 60_000 for life_ms in lives)


async def test_without_redis_everybody_of_a_batch_is_limited_here() -> None:
    away = Redis.from_url("redis://127.0.0.1:9/0", socket_connect_timeout=0.2)
    limiter = Limiter(away, name="t", limit=1)
    waits = await asyncio.gather(
        *(limiter.take(subject, member) for subject, member in [("a", "1"), ("a", "2"), ("b", "1")])
    )
    assert [wait > 0 for wait in waits] == [False, True, False]
    await away.aclose()
