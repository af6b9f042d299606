"""BB-RED-01: no counter in Redis outlives its window, however it got there, so that nobody is shut out for ever."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from agent.adapters.tokens import RedisTokenCounter
from common.models.quotas import RedisQuotas
from gateway.adapters.limits import Limiter
from stack.paths import ROOT

Take = Callable[[], Awaitable[bool]]


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


async def limiter(redis: Any) -> tuple[str, Take, float]:
    """A customer's rate limit: two in a quarter of a second."""
    name = f"t{secrets.token_hex(4)}"
    limit = Limiter(redis, name=name, limit=2, window_s=0.25)

    async def take() -> bool:
        return await limit.take("C-1", secrets.token_hex(4)) == 0

    return f"rate:{name}:C-1", take, 0.25


async def quotas(redis: Any) -> tuple[str, Take, float]:
    """The model's calls, which drain through the minute; a refusal gives the expiry back as well."""
    quota = RedisQuotas(redis, per_minute=10**9, key=f"t{secrets.token_hex(4)}:models:calls")

    async def take() -> bool:
        return await quota.take("live")

    return quota.key, take, 0


async def tokens(redis: Any) -> tuple[str, Take, float]:
    """A conversation's tokens."""
    conversation = f"conv_t{secrets.token_hex(4)}"

    async def take() -> bool:
        return await RedisTokenCounter(redis).add(conversation, 5, 5) >= 5

    return f"tokens:{conversation}", take, 0


@pytest.mark.parametrize("counter", [limiter, quotas, tokens], ids=lambda c: c.__name__)
async def test_bb_red_01_a_counter_left_without_an_expiry_gets_one_and_lets_in_after_the_window(
    redis: Any, counter: Any
) -> None:
    key, take, window_s = await counter(redis)
    try:
        while await take() and window_s:
            pass
        # As a crash between counting and its expiry would leave it.
        await redis.persist(key)
        assert await redis.pttl(key) == -1
        await take()
        assert await redis.pttl(key) > 0
        await asyncio.sleep(window_s)
        assert await take(), "after the window everybody is let in"
        assert await redis.pttl(key) > 0
    finally:
        await redis.delete(key)


def test_bb_red_01_no_counter_and_its_expiry_are_two_calls() -> None:
    sources = [*ROOT.glob("libs/*/src/**/*.py"), *ROOT.glob("services/*/src/**/*.py")]
    two_calls = re.compile(
        r"redis\w*\.(?:incr|incrby|expire|pexpire|setnx|zadd|rpush|lpush|sadd|hincrby)\(", re.IGNORECASE
    )
    assert len(sources) > 100
    assert [str(path) for path in sources if two_calls.search(path.read_text())] == []
    assert two_calls.search("await self._redis.incr(key)"), "the search sees what it is for"
