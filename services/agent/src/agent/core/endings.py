"""What a conversation carries over when a message has been answered."""

from agent.core.state import Memory, RunProgress
from agent.core.unheard import keep_open
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
    """Set back what counts towards a handoff, the tokens too: a person gave the conversation back or closed it.

    Without this the ninth message would go straight back to the people who have just answered it. A lost write that
    they looked for isn't named to the next of them again.
    """
    memory.failed_calls = memory.idle_turns = memory.attempts = memory.turns = 0
    memory.agent_seconds = 0.0
    memory.tokens_before = memory.tokens
    keep_open(memory)


def keep_spending(saved: Memory, cut_short: Memory) -> bool:
    """Carry over what models used in a run that a person cut short, since its last save; False if that was nothing."""
    if cut_short.tokens <= saved.tokens:
        return False
    saved.tokens = cut_short.tokens
    saved.cost_usd = max(saved.cost_usd, cut_short.cost_usd)
    return True


def belongs_to_people(owner: str, status: str) -> bool:
    """Say whether a message in hand is a person's to answer: theirs still, or closed by them as it stood."""
    return owner != "agent" or status == "closed"


def begin_over(run: RunProgress) -> RunProgress:
    """Return the checkpoint of a message whose conversation a person had and gave back while it was in work.

    What the customer has got of it, what was done for it and what it used stays; what the model had in mind doesn't,
    since it knew nothing of what the person said and did.
    """
    deeds = {"moved_rows", "moved_keys", "told_keys"}
    kept = {"message_id", "said", "citations", "tokens", "cost_usd", "prompt_version"} | deeds
    return RunProgress(**run.model_dump(include=kept), next_seq=run.next_seq + len(run.untold))


def waits_for_approval(memory: Memory, *, apart_from: str | None = None) -> bool:
    """Say whether some row of this conversation, ``apart_from`` one key, still waits for a person's decision."""
    return any(row.get("status") == "awaiting_approval" for key, row in memory.actions.items() if key != apart_from)
