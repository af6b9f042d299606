"""Runs claimed runs side by side: claims, renews, drops what it lost, hands back what it holds when it has to stop."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import asyncpg
from prometheus_client import Counter, Gauge

from agent.adapters.run_store import ClaimedRun, LostClaim, RunStore, TakenOver
from common import db
from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.telemetry import continue_trace, get_logger

_log = get_logger()
_RUNS = Counter("agent_runs_total", "Runs by how they ended here", ["outcome"])
_HELD = Gauge("agent_runs_held", "Runs this worker holds")
# What this process takes in or ends wakes its own worker. Work that another one leaves (a full or stopped replica, the
# deployment that answered the message before) is found by looking, this often: telling each other would wake every
# listener of the database at every message. The jitter keeps replicas from asking in step.
_POLL_S = 0.5
_SIDE_S = 1.0
# Claimed with one statement.
_HELPING = 50
# A run that failed this often in different ways is not going to work: a person gets it (never an error).
MAX_ATTEMPTS = 5
# Before the second attempt twice this, doubled from one to the next, at most fifteen times this.
PAUSE_S = 0.2
_DATABASE_TROUBLE: tuple[type[BaseException], ...] = (*db.UNAVAILABLE, asyncpg.PostgresError)
_AWAY: tuple[type[Exception], ...] = (Transient, OutcomeUnknown)

PlayRun = Callable[[ClaimedRun], Awaitable[None]]
GiveUpRun = Callable[[ClaimedRun, str], Awaitable[None]]


@dataclass
class Worker:
    """``play`` answers one run; ``give_up`` passes one that keeps failing to a person.

    ``look_up`` books what a run's dead worker may have moved and couldn't book; it may raise what a remote call does.
    ``on_the_side`` does a piece of work that no customer waits for, one at a time, and says whether there was any.
    """

    name: str
    routes: tuple[str, ...]
    runs: RunStore
    clock: Clock
    play: PlayRun
    give_up: GiveUpRun
    claim_ttl_s: float = 6.0
    most_at_once: int = 300
    look_up: Callable[[ClaimedRun], Awaitable[None]] | None = None
    on_the_side: Callable[[], Awaitable[bool]] | None = None
    _held: dict[str, tuple[ClaimedRun, "asyncio.Task[None]"]] = field(default_factory=dict, init=False)
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _renewed_at: float = field(default=0.0, init=False)

    async def run(self) -> None:
        """Claim and play until cancelled; then give back every claim so that others go on at once."""
        self._renewed_at = self.clock.monotonic()
        helpers = [asyncio.create_task(self._renew())]
        if self.on_the_side is not None:
            helpers.append(asyncio.create_task(self._work_on_the_side(self.on_the_side)))
        try:
            while True:
                await self._claim_some()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_S * random.uniform(0.8, 1.2)):  # noqa: S311 - jitter
                        await self._wake.wait()
                self._wake.clear()
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            await self._drain()

    def wake(self) -> None:
        """Look for work now."""
        self._wake.set()

    async def _claim_some(self) -> None:
        room = self.most_at_once - len(self._held)
        if room <= 0:
            return
        try:
            claimed = await self.runs.claim(self.routes, self.name, self.claim_ttl_s, min(room, _HELPING))
        except _DATABASE_TROUBLE as error:
            _log.warning("cannot claim", error=type(error).__name__)
            return
        for run in claimed:
            self._held[run.message_id] = (run, asyncio.create_task(self._play(run)))
        _HELD.set(len(self._held))
        if len(claimed) == _HELPING:
            # There may be more than one helping's worth waiting.
            self._wake.set()

    async def _play(self, run: ClaimedRun) -> None:
        try:
            # This task began in no trace: a claim takes up many messages' runs, from a process that may be gone.
            with continue_trace("run play", run.trace):
                await self._settle(run)
        except asyncio.CancelledError:
            raise
        except _DATABASE_TROUBLE as error:
            # The claim runs out by itself; whoever reaches the database first goes on.
            _log.warning("run left to its claim", run=run.message_id, error=type(error).__name__)
        finally:
            was_full = len(self._held) >= self.most_at_once
            self._held.pop(run.message_id, None)
            _HELD.set(len(self._held))
            if was_full or run.followed_by in self.routes:
                self._wake.set()

    async def _settle(self, run: ClaimedRun) -> None:
        try:
            try:
                await self._end(run)
            except TakenOver:
                await self._leave(run)
        except LostClaim:
            _RUNS.labels("lost").inc()
        except _DATABASE_TROUBLE:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the customer gets an answer or a person
            trace = None if isinstance(error, _AWAY) else error
            kind = type(error).__name__
            _log.error("run failed", run=run.message_id, attempt=run.attempts, error=kind, exc_info=trace)
            _RUNS.labels("failed").inc()
            await asyncio.sleep(min(PAUSE_S * 2**run.attempts, 15 * PAUSE_S))
            await self.runs.hand_back([run])
            self._wake.set()

    async def _end(self, run: ClaimedRun) -> None:
        if not run.is_ours:
            raise TakenOver
        if run.attempts > MAX_ATTEMPTS:
            await self._look_once_more(run)
            await self.give_up(run, f"{run.attempts - 1} attempts failed")
        else:
            await self.play(run)
        _RUNS.labels("ended").inc()

    async def _look_once_more(self, run: ClaimedRun) -> None:
        """Nothing that the ledger answers, or doesn't, keeps a run that is given up from its person."""
        try:
            if self.look_up is not None:
                await self.look_up(run)
        except (LostClaim, TakenOver):
            raise
        except _DATABASE_TROUBLE:
            raise
        except Exception as error:  # noqa: BLE001 - the handoff tells whether the ledger could be read
            _log.warning("last look failed", run=run.message_id, error=type(error).__name__)

    async def _leave(self, run: ClaimedRun) -> None:
        # A ledger that stays away keeps nobody from the end of their message.
        if self.look_up is not None and run.attempts <= MAX_ATTEMPTS:
            await self.look_up(run)
        if await self.runs.leave(run, self.clock.now()):
            _RUNS.labels("begun_over").inc()
            self._wake.set()
        else:
            _RUNS.labels("with_person").inc()

    async def _work_on_the_side(self, act: Callable[[], Awaitable[bool]]) -> None:
        """Beside the runs and never before them: a summary takes as long as a model does."""
        while True:
            try:
                was_any = await act()
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the worker
                expected = isinstance(error, _DATABASE_TROUBLE)
                _log.warning("side work failed", error=type(error).__name__, exc_info=None if expected else error)
                was_any = False
            if not was_any:
                await asyncio.sleep(_SIDE_S)

    async def _renew(self) -> None:
        """Keep the claims; stop work whose claim is lost or can't be kept, by our own monotonic clock (BB-LEASE-02)."""
        while True:
            await asyncio.sleep(self.claim_ttl_s / 4)
            held = [run for run, _ in self._held.values()]
            now = self.clock.monotonic()
            try:
                kept = (
                    await asyncio.wait_for(self.runs.renew(held, self.claim_ttl_s), self.claim_ttl_s / 4)
                    if held
                    else set()
                )
                self._renewed_at = now
            except _DATABASE_TROUBLE as error:
                _log.warning("cannot renew", error=type(error).__name__)
                if now - self._renewed_at < self.claim_ttl_s * 0.6:
                    continue
                kept = set()
            for run in held:
                if run.message_id not in kept and run.message_id in self._held:
                    self._held[run.message_id][1].cancel()

    async def _drain(self) -> None:
        held = list(self._held.values())
        for _, task in held:
            task.cancel()
        await asyncio.gather(*(task for _, task in held), return_exceptions=True)
        with contextlib.suppress(*_DATABASE_TROUBLE):
            await self.runs.hand_back([run for run, _ in held])
