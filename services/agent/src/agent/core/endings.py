"""What a conversation carries over when a message has been answered."""

from agent.core.state import ConversationState, Memory, RunProgress
from common.events import WorkItem

# Wishes that need a deed: a turn about one of them that got nothing done is a turn without progress.
_NEEDS_DEED = frozenset(
    {"refund", "return_request", "change_address", "account_update", "cancel_order", "billing_dispute", "complaint"}
)


def made_progress(intent: str, run: RunProgress) -> bool:
    """Say whether a turn got the customer any further; three in a row that didn't mean that the agent is stuck.

    Reading an order is no progress when the deed it was read for came to nothing, whatever the wish was taken for.
    """
    if run.moved_rows:
        return True
    if run.vain_writes:
        return False
    return run.tool_successes > 0 or intent not in _NEEDS_DEED


def close_turn(work: WorkItem, memory: Memory, run: RunProgress, *, elapsed_s: float) -> None:
    """Book one finished message: turns and seconds without a resolution, progress, failures in a row."""
    # Only failures in a row count: a call that succeeded has set both numbers back when it did.
    memory.failed_calls += run.failed_calls
    memory.idle_turns = 0 if made_progress(work.intent, run) else memory.idle_turns + 1
    if run.moved_rows:
        memory.turns, memory.agent_seconds = 0, 0.0
    else:
        memory.turns += 1
        memory.agent_seconds += elapsed_s
    memory.sentiment = work.sentiment
    memory.flagged = memory.flagged or run.guard == "flagged"


def begin_anew(memory: Memory) -> None:
    """Set back what counts towards a handoff: a person gave the conversation back or closed it.

    Without this the ninth message would go straight back to the people who have just answered it.
    """
    memory.failed_calls = memory.idle_turns = memory.attempts = memory.turns = 0
    memory.agent_seconds = 0.0


def keep_deeds(saved: Memory, cut_short: ConversationState, message_id: str) -> bool:
    """Add what a run did before a person cut it short to what the conversation remembers; False if it did nothing."""
    moved = cut_short.run_for(message_id).moved_keys
    rows = {key: cut_short.memory.actions[key] for key in moved if key in cut_short.memory.actions}
    saved.actions.update(rows)
    return bool(rows)


def waits_for_approval(memory: Memory) -> bool:
    """Say whether some row of this conversation still waits for a person's decision."""
    return any(row.get("status") == "awaiting_approval" for row in memory.actions.values())
