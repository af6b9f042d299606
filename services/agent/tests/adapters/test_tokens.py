"""A conversation's shared token counter: the one in Redis and the tests' own behave alike."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from agent.adapters.tokens import RedisTokenCounter, TokenCounter

CONVERSATION = f"conv_t{secrets.token_hex(4)}"


@pytest.fixture(params=["redis", "fake"])
async def counter(
    request: pytest.FixtureRequest, redis_url: str, counting_tokens: TokenCounter
) -> AsyncIterator[TokenCounter]:
    client = Redis.from_url(redis_url)
    yield RedisTokenCounter(client) if request.param == "redis" else counting_tokens
    await client.delete(f"tokens:{CONVERSATION}")
    await client.aclose()


async def test_tokens_add_up_whoever_adds_them(counter: TokenCounter) -> None:
    assert await counter.add(CONVERSATION, 100, 100) == 100
    assert await counter.add(CONVERSATION, 20, 20) == 120, "a second worker that knows of its own only"


async def test_a_counter_that_knows_less_than_the_checkpoint_is_raised_to_it(counter: TokenCounter) -> None:
    assert await counter.add(CONVERSATION, 5, 500) == 500
    assert await counter.add(CONVERSATION, 5, 5) == 505


async def test_asking_adds_nothing(counter: TokenCounter) -> None:
    await counter.add(CONVERSATION, 100, 100)
    assert [await counter.add(CONVERSATION, 0, 0) for _ in range(3)] == [100, 100, 100]


async def test_workers_at_the_same_moment_lose_nothing(counter: TokenCounter) -> None:
    await asyncio.gather(*(counter.add(CONVERSATION, 7, 7) for _ in range(20)))
    assert await counter.add(CONVERSATION, 0, 0) == 140


class Gone:
    async def eval(self, *_: object) -> int:
        raise OSError


async def test_without_redis_the_checkpoint_counts() -> None:
    redis: Any = Gone()
    assert await RedisTokenCounter(redis).add(CONVERSATION, 20, 520) == 520
