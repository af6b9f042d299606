"""Who gets a place in the model quota: one suite for the shared counter in Redis and for the one in a process."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from redis.asyncio import Redis

from common.clock import FixedClock, SystemClock
from common.models import LocalQuotas, ModelGateway, ModelRequest, ModelsDown, ModelTurn, Quotas, RedisQuotas, Usage
from common.models.turns import Priority

START = datetime(2026, 11, 30, tzinfo=UTC)
# As shipped; the time a test takes drains the counter by so many calls a second.
PER_MINUTE = 3_000
MakeQuotas = Callable[[int], Quotas]


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
async def shared(redis: Redis) -> AsyncIterator[Callable[[int], RedisQuotas]]:
    key = f"t{secrets.token_hex(4)}:models:calls"
    # A machine that is slow at the moment is no Redis that is away: then each worker would count by itself.
    yield lambda per_minute: RedisQuotas(redis, per_minute, key=key, timeout_s=10.0)
    await redis.delete(key)


@pytest.fixture(params=["redis", "local"])
def make_quotas(request: pytest.FixtureRequest, shared: MakeQuotas) -> MakeQuotas:
    return shared if request.param == "redis" else LocalQuotas


async def take(quotas: Quotas, priority: Priority, times: int) -> int:
    """Ask so often and say how often there was a place."""
    return sum([await quotas.take(priority) for _ in range(times)])


async def test_waiting_evals_and_email_never_shut_live_chat_out(make_quotas: MakeQuotas) -> None:
    quotas, began = make_quotas(PER_MINUTE), SystemClock().monotonic()
    live = waiting = 0
    # A minute of 5 live calls a second beside 200 evals that ask again every second.
    for _ in range(60):
        waiting += await take(quotas, "evals", 200)
        live += await take(quotas, "live", 5)
    drained = (SystemClock().monotonic() - began) * PER_MINUTE / 60
    assert live == 300
    assert 600 <= waiting <= 900 + drained + 1


async def test_each_priority_may_bring_the_counter_up_to_its_share_and_no_further(make_quotas: MakeQuotas) -> None:
    quotas = make_quotas(10)
    assert [await take(quotas, priority, 20) for priority in ("evals", "email", "live")] == [3, 4, 3]
    assert [await take(quotas, priority, 20) for priority in ("evals", "email", "live")] == [0, 0, 0]


async def test_calls_of_a_stronger_priority_use_up_the_room_of_the_weaker(make_quotas: MakeQuotas) -> None:
    quotas = make_quotas(10)
    assert await take(quotas, "live", 7) == 7
    assert [await take(quotas, priority, 5) for priority in ("evals", "email", "live")] == [0, 0, 3]


async def test_callers_at_the_same_moment_get_no_more_places_than_there_are(make_quotas: MakeQuotas) -> None:
    quotas = make_quotas(20)
    taken = await asyncio.gather(*(quotas.take("live") for _ in range(60)))
    assert sum(taken) == 20


async def test_places_come_back_all_through_the_minute_and_not_at_its_turn(make_quotas: MakeQuotas) -> None:
    quotas = make_quotas(600)
    assert 180 <= await take(quotas, "evals", 400) < 400
    # Ten a second.
    await asyncio.sleep(0.5)
    assert 4 <= await take(quotas, "evals", 400) < 400


class Ticking(FixedClock):
    """A clock that a test moves on."""

    def __init__(self) -> None:
        super().__init__(START)
        self.seconds = 0.0

    def tick(self, seconds: float) -> None:
        self.seconds += seconds

    def monotonic(self) -> float:
        return self.seconds


def play(quotas: LocalQuotas, clock: Ticking, wishes: dict[Priority, int], seconds: int) -> dict[Priority, int]:
    """Let each priority wish for so many calls a second, the weakest first; returns how many it got."""
    got: dict[Priority, int] = dict.fromkeys(wishes, 0)
    for _ in range(seconds):
        for priority in ("evals", "email", "live"):
            got[priority] += sum(quotas.book(priority) for _ in range(wishes[priority]))  # type: ignore[index]
        clock.tick(1.0)
    return got


@pytest.mark.parametrize("live", [5, 28, 45])
def test_however_much_the_others_want_live_chat_gets_all_it_asks_for(live: int) -> None:
    clock = Ticking()
    quotas = LocalQuotas(PER_MINUTE, clock)
    got = play(quotas, clock, {"live": live, "email": 200, "evals": 200}, 300)
    assert got["live"] == live * 300
    # What live leaves goes to the others: nothing of the quota is lost to asking.
    assert sum(got.values()) >= PER_MINUTE * 5 - 100
    assert sum(got.values()) <= PER_MINUTE * 6


def test_email_goes_before_evals() -> None:
    clock = Ticking()
    got = play(LocalQuotas(PER_MINUTE, clock), clock, {"live": 5, "email": 60, "evals": 200}, 300)
    # Beyond the first burst everything live leaves is email's.
    assert got["evals"] <= PER_MINUTE * 0.3
    assert got["email"] >= 40 * 300


async def test_a_flushed_counter_begins_anew_and_nobody_is_refused_for_it(
    redis: Redis, shared: Callable[[int], RedisQuotas]
) -> None:
    quotas = shared(10)
    assert await take(quotas, "live", 12) == 10
    await redis.delete(quotas.key)
    assert await take(quotas, "live", 12) == 10


async def test_a_counter_from_a_clock_that_was_ahead_shuts_nobody_out_for_ever(
    redis: Any, shared: Callable[[int], RedisQuotas]
) -> None:
    quotas = shared(10)
    await redis.hset(quotas.key, mapping={"booked": "10", "at": "9999999999"})
    assert not await quotas.take("live")
    assert 0 < await redis.pttl(quotas.key) <= 60_000


class Gone:
    """No Redis."""

    async def eval(self, *_: object) -> int:
        raise OSError


class Hanging:
    """A Redis that takes the call and never answers."""

    async def eval(self, *_: object) -> int:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("redis", [Gone(), Hanging()], ids=["down", "hanging"])
async def test_without_redis_a_refused_call_is_not_counted_either(redis: Any) -> None:
    quotas = RedisQuotas(redis, per_minute=40, workers=4, timeout_s=0.001)
    assert await take(quotas, "evals", 50) == 3
    assert await take(quotas, "live", 50) == 7


class Answers:
    name = "first"

    async def ask(self, _request: ModelRequest, _hearer: Any = None) -> ModelTurn:
        return ModelTurn("hello", (), "end_turn", Usage(10, 5), self.name, "m")

    async def close(self) -> None:
        return None


class Counting:
    """Gives out places one by one, as a test says, and counts how often it is asked."""

    def __init__(self) -> None:
        self.places, self.asked = 0, list[Priority]()

    async def take(self, priority: Priority) -> bool:
        self.asked.append(priority)
        if self.places == 0:
            return False
        self.places -= 1
        return True


REQUEST = ModelRequest("system", ({"role": "user", "content": "hi"},))


async def test_of_all_who_wait_only_the_first_in_line_asks_again(make_time_line: Any) -> None:
    quotas, time = Counting(), make_time_line()
    gateway = ModelGateway([Answers()], time, quotas, pause=time.pause)
    waiting = [asyncio.create_task(gateway.ask(REQUEST, 600, "evals")) for _ in range(200)]
    await time.settle()
    quotas.asked.clear()
    for second in range(1, 11):
        await time.go_to(second * 2.0)
    assert 1 <= len(quotas.asked) <= 10
    quotas.places = 200
    await time.go_to(40.0)
    answered = await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert len(answered) == 200


async def test_who_waits_is_answered_in_the_order_of_asking_and_nobody_overtakes(make_time_line: Any) -> None:
    quotas, time = Counting(), make_time_line()
    gateway, order = ModelGateway([Answers()], time, quotas, pause=time.pause), list[int]()

    async def ask(nth: int) -> None:
        await gateway.ask(REQUEST, 600, "email")
        order.append(nth)

    first = [asyncio.create_task(ask(n)) for n in range(3)]
    await time.settle()
    quotas.places = 4
    late = asyncio.create_task(ask(3))
    await time.settle()
    assert order == []
    await time.go_to(5.0)
    await asyncio.wait_for(asyncio.gather(*first, late), 5)
    assert order == [0, 1, 2, 3]


async def test_one_who_gives_up_waiting_leaves_the_line_to_the_next(make_time_line: Any) -> None:
    quotas, time = Counting(), make_time_line()
    gateway = ModelGateway([Answers()], time, quotas, pause=time.pause)
    gone, stays = (asyncio.create_task(gateway.ask(REQUEST, 600, "email")) for _ in range(2))
    await time.settle()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    quotas.places = 1
    await time.go_to(2.0)
    assert (await asyncio.wait_for(stays, 5)).text == "hello"


async def test_live_chat_does_not_wait_for_a_place() -> None:
    with pytest.raises(ModelsDown, match="quota"):
        await ModelGateway([Answers()], SystemClock(), Counting()).ask(REQUEST, 600, "live")
