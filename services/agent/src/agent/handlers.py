"""What each deployment reads, and with which handler: the agent's table of contents."""

from collections.abc import Sequence
from typing import Any

from agent.fixed import GROUP as FIXED_GROUP
from agent.fixed import FixedFlow
from agent.intake import Intake
from agent.outcomes import LEDGER_GROUP, TRANSCRIPT_GROUP, Outcomes
from common.consumer import Subscription
from common.events import ActionChanged, ReplyEvent, WorkItem
from common.topics import LEDGER_ACTIONS, REPLIES, WORK_AGENT, WORK_FIXED, WORK_HUMAN, WORK_RAG

# Nearly all replies are our own; only staff words are kept, and nobody waits for that.
_GATHER_MS = 500
RAG_GROUP = "agent-rag"
LOOP_GROUP = "agent-loop"


def fixed_handlers(flow: FixedFlow, outcomes: Outcomes) -> Sequence[Subscription[Any]]:
    """The fixed deployment: tracking questions, the way to people, ledger outcomes and the staff's words."""
    return (
        Subscription(WORK_FIXED, FIXED_GROUP, WorkItem, flow.on_work),
        Subscription(WORK_HUMAN, f"{FIXED_GROUP}-human", WorkItem, flow.on_work),
        Subscription(LEDGER_ACTIONS, LEDGER_GROUP, ActionChanged, outcomes.on_action_changed),
        Subscription(
            REPLIES,
            TRANSCRIPT_GROUP,
            ReplyEvent,
            outcomes.on_reply,
            lanes=False,
            gather_ms=_GATHER_MS,
            concerns=_by_staff,
        ),
    )


def rag_handlers(intake: Intake) -> Sequence[Subscription[Any]]:
    """The RAG deployment: policy and product questions."""
    return (Subscription(WORK_RAG, RAG_GROUP, WorkItem, intake.on_work),)


def loop_handlers(intake: Intake) -> Sequence[Subscription[Any]]:
    """The tool loop's deployment."""
    return (Subscription(WORK_AGENT, LOOP_GROUP, WorkItem, intake.on_work),)


def _by_staff(record: bytes) -> bool:
    """Three replies of every answer are surely the agent's own; everything else is read, also what is malformed."""
    return b'"writer":"agent"' not in record


HANDLERS = {"fixed": fixed_handlers, "rag": rag_handlers, "loop": loop_handlers}
