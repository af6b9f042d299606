"""Writes the labelled model summary of a handoff, after the fact; the handoff never waits for it."""

from dataclasses import dataclass, field

from agent.adapters.handoff_store import book_summary, claim_summary, give_up_summary, save_summary
from agent.adapters.store import Conversation, load_conversation, load_transcript
from agent.adapters.tokens import TokenCounter
from agent.core.limits import Limits, tokens_left
from agent.core.prompt import SUMMARY_SYSTEM, summary_request
from agent.core.state import ConversationState
from common import db
from common.clock import Clock
from common.models import Meter, ModelGateway, ModelRequest, ModelsDown, ModelTurn, TokensSpent, metered
from common.telemetry import get_logger

_log = get_logger()
_BUDGET_S = 15.0


@dataclass(frozen=True)
class Summaries:
    """``write_one`` takes the next wanted summary, if any."""

    pool: db.Database
    models: ModelGateway
    tokens: TokenCounter
    clock: Clock
    limits: Limits = field(default_factory=Limits)

    async def write_one(self) -> bool:
        """Return whether there was one to write."""
        wanted = await claim_summary(self.pool)
        if wanted is None:
            return False
        handoff_id, conversation_id = wanted
        conversation = await load_conversation(self.pool, conversation_id)
        if conversation is None:
            # Erased since, with its handoffs.
            return True
        try:
            turn = await self._ask(handoff_id, conversation)
        except TokensSpent as error:
            # It would have to go beyond what the conversation may use; the packet's facts have to do.
            await give_up_summary(self.pool, handoff_id)
            _log.info("no summary", handoff=handoff_id, error=error.reason)
            return True
        except ModelsDown as error:
            _log.info("no summary this time", handoff=handoff_id, error=error.reason)
            return True
        lines = [line.strip() for line in turn.text.splitlines() if line.strip()][:3]
        if lines:
            await save_summary(self.pool, handoff_id, "\n".join(lines), turn.model, self.clock.now())
        return True

    async def _ask(self, handoff_id: str, conversation: Conversation) -> ModelTurn:
        """Ask within what the conversation may still use; what it took is booked, also when nothing came of it."""
        memory = ConversationState.model_validate(conversation.run_state).memory
        memory.tokens = await self.tokens.add(conversation.id, 0, memory.tokens)
        transcript = await load_transcript(self.pool, conversation.id, 40)
        request = ModelRequest(
            system=SUMMARY_SYSTEM,
            messages=({"role": "user", "content": [{"type": "text", "text": summary_request(transcript)}]},),
            size="small",
            max_tokens=200,
            subject=conversation.id,
        )
        with metered(Meter(tokens_left(memory, self.limits))) as meter:
            try:
                return await self.models.ask(request, _BUDGET_S, "email")
            finally:
                tokens, cost_usd = meter.read()
                if tokens:
                    await self.tokens.add(conversation.id, tokens, memory.tokens + tokens)
                    await book_summary(self.pool, handoff_id, conversation.id, tokens, cost_usd)
