"""When a worker looks for runs: at once after its own process took one in or ended the one before, else by and by."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from agent import worker as worker_module
from agent.adapters.run_store import ClaimedRun, Ending
from agent.worker import MAX_ATTEMPTS, GiveUpRun, Worker
from common.clock import SystemClock

NOW = datetime(2026, 11, 30, tzinfo=UTC)
NEVER_S, SOON_S = 3_600.0, 10.0


async def never(_run: ClaimedRun, _why: str) -> None:
    raise AssertionError


@pytest.fixture
def failing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause after a failure, and none for drawing its trace, which takes a second on a busy machine."""
    monkeypatch.setattr(worker_module, "PAUSE_S", 0.0)
    monkeypatch.setattr(worker_module, "_log", structlog.wrap_logger(structlog.ReturnLogger(), processors=[]))


@asynccontextmanager
async def working(
    bench: Any, play: Callable[[ClaimedRun], Awaitable[None]], give_up: GiveUpRun = never, **over: Any
) -> AsyncIterator[Worker]:
    worker = Worker("w1", ("agent",), bench.parts.runs, SystemClock(), play, give_up, **over)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Answering:
    """Ends each run; ``began`` and ``answered`` tell a test how far it is."""

    def __init__(self, bench: Any) -> None:
        self.bench, self.answered = bench, asyncio.Queue[str]()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.began = asyncio.Queue[str]()

    async def __call__(self, run: ClaimedRun) -> None:
        self.began.put_nowait(run.message_id)
        await self.may_end.wait()
        await self.bench.parts.runs.finish(run, Ending("answered", [], "hello"), NOW)
        self.answered.put_nowait(run.message_id)


async def next_of(queue: "asyncio.Queue[str]") -> str:
    return await asyncio.wait_for(queue.get(), SOON_S)


async def until_idle(worker: Worker, bench: Any) -> None:
    """Wait until the worker has looked in vain and sleeps."""
    looked, claim = asyncio.Event(), bench.parts.runs.claim

    async def claiming(*args: Any) -> Any:
        found = await claim(*args)
        looked.set()
        return found

    bench.parts.runs.claim = claiming
    worker.wake()
    await asyncio.wait_for(looked.wait(), SOON_S)
    await asyncio.sleep(0)


async def test_what_the_process_took_in_is_claimed_at_once(
    make_bench: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_POLL_S", NEVER_S)
    bench = make_bench()
    play = Answering(bench)
    async with working(bench, play) as worker:
        await until_idle(worker, bench)
        await bench.arrive(make_work())
        worker.wake()
        assert await next_of(play.answered) == "msg_1"


async def test_the_message_that_waited_for_the_one_before_is_claimed_when_that_has_ended(
    make_bench: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_POLL_S", NEVER_S)
    bench = make_bench()
    play = Answering(bench)
    play.may_end.clear()
    async with working(bench, play) as worker:
        await bench.arrive(make_work())
        worker.wake()
        assert await next_of(play.began) == "msg_1"
        await bench.arrive(make_work(message_id="msg_2", seq=2))
        await until_idle(worker, bench)
        assert play.began.empty()
        play.may_end.set()
        assert [await next_of(play.answered), await next_of(play.answered)] == ["msg_1", "msg_2"]


async def test_what_another_process_left_is_found_without_being_told(
    make_bench: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_POLL_S", 0.02)
    bench = make_bench()
    play = Answering(bench)
    async with working(bench, play) as worker:
        await until_idle(worker, bench)
        await bench.arrive(make_work())
        assert await next_of(play.answered) == "msg_1"


async def test_more_than_one_helping_is_claimed_without_a_pause(
    make_bench: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_POLL_S", NEVER_S)
    monkeypatch.setattr(worker_module, "_HELPING", 2)
    bench = make_bench()
    for n in range(5):
        await bench.arrive(make_work(conversation_id=f"conv_{n}", message_id=f"msg_{n}"))
    play = Answering(bench)
    async with working(bench, play):
        assert {await next_of(play.answered) for _ in range(5)} == {f"msg_{n}" for n in range(5)}


async def test_work_on_the_side_keeps_no_customer_waiting(make_bench: Any, make_work: Any) -> None:
    bench, began = make_bench(), asyncio.Event()

    async def takes_for_ever() -> bool:
        began.set()
        await asyncio.Event().wait()
        return True

    play = Answering(bench)
    async with working(bench, play, on_the_side=takes_for_ever) as worker:
        await asyncio.wait_for(began.wait(), SOON_S)
        await bench.arrive(make_work())
        worker.wake()
        assert await next_of(play.answered) == "msg_1"


async def test_work_on_the_side_is_done_while_runs_keep_coming_and_may_fail(
    make_bench: Any, make_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_SIDE_S", 0.0)
    bench, outcomes = make_bench(), iter([OSError("the database is away"), KeyError("a bug"), True])
    done = asyncio.Event()

    async def side() -> bool:
        outcome = next(outcomes, False)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome:
            done.set()
        await asyncio.sleep(0.01)
        return outcome

    play = Answering(bench)
    async with working(bench, play, on_the_side=side) as worker:
        await asyncio.wait_for(done.wait(), SOON_S)
        await bench.arrive(make_work())
        worker.wake()
        assert await next_of(play.answered) == "msg_1"


async def test_a_run_in_hand_is_given_back_when_its_worker_has_to_stop(make_bench: Any, make_work: Any) -> None:
    bench, released = make_bench(), asyncio.Event()
    await bench.arrive(make_work())
    playing = Answering(bench)
    playing.may_end.clear()

    async def play(run: ClaimedRun) -> None:
        try:
            await playing(run)
        finally:
            # Whatever a run still does on its way out is done before its claim is given back.
            assert await bench.pool.fetchval("select claimed_by from runs") == "w1"
            released.set()

    async with working(bench, play, claim_ttl_s=3_600.0):
        assert await next_of(playing.began) == "msg_1"
    assert released.is_set()
    assert playing.answered.empty()
    again = await bench.claim("w2")
    assert (again.attempts, again.message_id) == (2, "msg_1")
    await bench.parts.runs.finish(again, Ending("answered", [], "hello"), NOW)


async def test_a_worker_that_stops_while_the_database_is_away_still_stops(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    play = Answering(bench)
    play.may_end.clear()
    tries = []

    async def hand_back(held: Any) -> None:
        tries.append([run.message_id for run in held])
        raise OSError("the database is away")

    bench.parts.runs.hand_back = hand_back
    async with working(bench, play):
        assert await next_of(play.began) == "msg_1"
    assert tries == [["msg_1"]]


@pytest.mark.usefixtures("failing_at_once")
async def test_a_run_that_fails_five_times_is_given_up_to_a_person(make_bench: Any, make_work: Any) -> None:
    bench, attempts, given_up = make_bench(), [], asyncio.Queue[str]()
    await bench.arrive(make_work())

    async def play(run: ClaimedRun) -> None:
        attempts.append(run.attempts)
        raise KeyError("a bug")

    async def give_up(run: ClaimedRun, why: str) -> None:
        await bench.parts.runs.finish(run, Ending("handoff", [], ""), NOW)
        given_up.put_nowait(why)

    async with working(bench, play, give_up):
        assert await next_of(given_up) == f"{MAX_ATTEMPTS} attempts failed"
    assert attempts == [1, 2, 3, 4, 5]


async def test_a_run_is_given_up_also_where_the_last_look_at_the_ledger_cannot_be_read(
    make_bench: Any, make_work: Any
) -> None:
    bench, given_up = make_bench(), asyncio.Queue[str]()
    await bench.arrive(make_work())
    await bench.pool.execute("update runs set attempts = $1", MAX_ATTEMPTS)

    async def look_up(_: ClaimedRun) -> None:
        raise KeyError("key")

    async def give_up(run: ClaimedRun, why: str) -> None:
        await bench.parts.runs.finish(run, Ending("handoff", [], why), SystemClock().now())
        given_up.put_nowait(why)

    async with working(bench, never, give_up, look_up=look_up):
        assert await next_of(given_up) == f"{MAX_ATTEMPTS} attempts failed"
    assert await bench.pool.fetchval("select status from runs") == "done"


@pytest.mark.usefixtures("failing_at_once")
async def test_a_run_may_fail_four_times_and_still_be_answered(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work())
    answering = Answering(bench)

    async def play(run: ClaimedRun) -> None:
        if run.attempts < MAX_ATTEMPTS:
            raise KeyError("a bug")
        await answering(run)

    async with working(bench, play):
        assert await next_of(answering.answered) == "msg_1"
