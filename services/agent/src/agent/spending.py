"""What a run spends on models, whatever of it asks: counted against the conversation's limit and kept with the run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.adapters.run_store import ClaimedRun
from agent.adapters.tokens import TokenCounter
from agent.core.limits import Limits, tokens_left, tokens_used_up
from common.models import Meter, metered
from common.telemetry import get_logger

_log = get_logger()


@dataclass(frozen=True)
class Spending:
    """``book`` before saving or ending the run: what models used since then is remembered with it."""

    counter: TokenCounter
    run: ClaimedRun
    limits: Limits
    meter: Meter

    async def book(self) -> None:
        """Move what the meter has counted into the checkpoint and the shared counter, and ask the limit again."""
        tokens, cost_usd = self.meter.read()
        if not tokens:
            return
        memory, progress = self.run.state.memory, self.run.state.run_for(self.run.message_id)
        progress.tokens += tokens
        progress.cost_usd += cost_usd
        memory.tokens += tokens
        memory.cost_usd += cost_usd
        # A worker that died before it could save has told the counter, so that knows more than the checkpoint.
        memory.tokens = await self.counter.add(self.run.conversation_id, tokens, memory.tokens)
        progress.limit_hit = tokens_used_up(memory, self.limits)


@asynccontextmanager
async def spending(counter: TokenCounter, run: ClaimedRun, limits: Limits) -> AsyncIterator[Spending]:
    """Count what models use inside for ``run``, and let no call begin beyond the conversation's tokens."""
    memory, progress = run.state.memory, run.state.run_for(run.message_id)
    memory.tokens = await counter.add(run.conversation_id, 0, memory.tokens)
    progress.limit_hit = tokens_used_up(memory, limits)
    with metered(Meter(tokens_left(memory, limits))) as meter:
        spent = Spending(counter, run, limits, meter)
        try:
            yield spent
        finally:
            # Also of a run that a person cut short: whoever ends it finds it in the checkpoint.
            await spent.book()
    if progress.tokens:
        _log.info(
            "models used",
            conversation=run.conversation_id,
            run=run.message_id,
            tokens=progress.tokens,
            cost_usd=f"{progress.cost_usd:.6f}",
        )
