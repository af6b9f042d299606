"""Lets a reply leave sentence by sentence while the model is still writing it; what has left is saved with it.

Each release is one transaction: the checkpoint that remembers the sentences and the events that carry them, under the
run's fencing version and the conversation's owner version. So a worker that takes over knows what the customer has
read, and after a takeover by a person nothing more leaves.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType

from agent.adapters.run_store import ClaimedRun, RunStore
from agent.core.claims import SentenceStream
from agent.core.live_words import unfinished, without_marker
from agent.core.prompt import continued
from agent.core.replies import Address
from agent.core.state import Json, SavedTurn
from common.clock import Clock
from common.errors import Refused
from common.models import ModelRequest, ModelTurn

# A turn that comes in one rush leaves whole, in the transaction that ends its run; a slow one loses this much.
_TOGETHER_S = 0.02
# Letters and hooks take whole messages: there, streaming would only cost transactions.
LIVE_CHANNELS = frozenset({"chat", "voice"})


@dataclass(frozen=True, slots=True)
class Passed:
    """Of the sentences that wait the first ``taken`` are settled; of these ``fresh`` may leave, the rest were repeats.

    ``stop`` says that nothing more may leave before the turn has ended.
    """

    fresh: list[str]
    taken: int
    stop: bool


# Judges the next sentences; the second argument says that their writer goes on where another broke off.
Judge = Callable[[list[str], bool], Awaitable[Passed]]


class LiveReply:
    """One model turn on its way to the customer; a Hearer. Use it as a context around the call that it hears."""

    def __init__(self, runs: RunStore, run: ClaimedRun, clock: Clock, judge: Judge) -> None:
        self._runs, self._run, self._clock, self._judge = runs, run, clock, judge
        self._progress = run.state.run_for(run.message_id)
        self._live = run.work.message.channel in LIVE_CHANNELS
        self._releasing: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._start()

    def _start(self) -> None:
        self._stream, self._waiting, self._heard = SentenceStream(), list[str](), False
        self._open = self._live
        self._before = unfinished(self._progress)

    async def __aenter__(self) -> "LiveReply":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, asyncio.CancelledError) and self._releasing is not None:
            self._releasing.cancel()
            await asyncio.gather(self._releasing, return_exceptions=True)
            return
        await self._settle()

    async def begin(self, request: ModelRequest) -> ModelRequest:
        """Start over after what an earlier try, or an earlier worker, has already said of this turn."""
        await self._settle()
        self._start()
        return continued(request, self._before)

    def hear(self, text: str) -> None:
        """Take text in. Raises LostClaim or TakenOver when a release found out that nobody waits for the rest."""
        self._heard = True
        self._waiting += [words for s in self._stream.feed(text) if (words := without_marker(s))]
        if not (self._waiting and self._open):
            return
        if self._releasing is not None:
            if not self._releasing.done():
                return
            if isinstance(error := self._releasing.exception(), Refused):
                raise error
            if error is not None:
                # The database's trouble is for whoever settles; a model's stream would take it for its own.
                self._open = False
                return
        self._releasing = asyncio.create_task(self._release())

    def hear_tool(self) -> None:
        """Keep what hasn't left: words before a result are held back (R17)."""
        self._open = False

    def saved(self, turn: ModelTurn, calls: list[Json]) -> SavedTurn:
        """Return the whole turn, what an earlier try said of it included, with what is still unsaid."""
        # A marker is no answer, asked for or not: a turn of nothing else is an empty one.
        text = " ".join([*self._before, without_marker(turn.text)]).strip()
        unsaid = None
        if self._heard:
            # One to a line: the check then sees the very sentences that were cut from the stream.
            unsaid = without_marker("\n".join([*self._waiting, *self._stream.finish()]))
        return SavedTurn(
            text=text, calls=calls, stop_reason=turn.stop_reason, unsaid=unsaid, continued=bool(self._before)
        )

    async def _release(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TOGETHER_S):
                await self._over.wait()
        while self._waiting and self._open and not self._over.is_set():
            passed = await self._judge(list(self._waiting), bool(self._before))
            if not self._open or self._over.is_set():
                return
            if passed.fresh:
                await self._send(passed.fresh)
            del self._waiting[: passed.taken]
            self._open = self._open and not passed.stop
            if not passed.taken:
                return

    async def _send(self, sentences: list[str]) -> None:
        progress = self._progress
        address = Address.of(self._run.work.message, self._run.owner_version)
        events = tuple(address.tokens(progress.next_seq, sentences, progress.said))
        before = progress.said, progress.next_seq
        progress.said, progress.next_seq = [*progress.said, *sentences], progress.next_seq + len(sentences)
        try:
            await self._runs.checkpoint(self._run, events, self._clock.now())
        except BaseException:
            # Not sent as far as we know: whoever ends this run now must not count it as said.
            progress.said, progress.next_seq = before
            raise

    async def _settle(self) -> None:
        """Wait for the release on its way; raises what it raised. What waits stays for the end of the turn."""
        if self._releasing is None:
            return
        self._over.set()
        # A turn that runs out of time must not leave it open whether its last sentence was committed.
        await asyncio.shield(self._releasing)
        self._releasing = None
        self._over.clear()
