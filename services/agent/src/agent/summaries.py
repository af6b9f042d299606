"""Writes the labelled model summary of a handoff, after the fact; the handoff never waits for it."""

from dataclasses import dataclass

from agent.adapters.handoff_store import claim_summary, save_summary
from agent.adapters.store import load_transcript
from agent.core.prompt import SUMMARY_SYSTEM, summary_request
from common import db
from common.clock import Clock
from common.models import ModelGateway, ModelRequest, ModelsDown
from common.telemetry import get_logger

_log = get_logger()
_BUDGET_S = 15.0


@dataclass(frozen=True)
class Summaries:
    """``write_one`` takes the next wanted summary, if any."""

    pool: db.Database
    models: ModelGateway
    clock: Clock

    async def write_one(self) -> bool:
        """Return whether there was one to write."""
        wanted = await claim_summary(self.pool)
        if wanted is None:
            return False
        handoff_id, conversation_id = wanted
        transcript = await load_transcript(self.pool, conversation_id, 40)
        request = ModelRequest(
            system=SUMMARY_SYSTEM,
            messages=({"role": "user", "content": [{"type": "text", "text": summary_request(transcript)}]},),
            size="small",
            max_tokens=200,
            subject=conversation_id,
        )
        try:
            turn = await self.models.ask(request, _BUDGET_S, "email")
        except ModelsDown as error:
            _log.info("no summary this time", handoff=handoff_id, error=error.reason)
            return True
        lines = [line.strip() for line in turn.text.splitlines() if line.strip()][:3]
        if lines:
            await save_summary(self.pool, handoff_id, "\n".join(lines), turn.model, self.clock.now())
        return True
