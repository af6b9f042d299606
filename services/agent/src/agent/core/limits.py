"""The limits of one message and of one conversation: frozen values that the code enforces and the prompt prints."""

from dataclasses import dataclass

from agent.core.state import Memory


@dataclass(frozen=True, slots=True)
class Limits:
    """SPEC §7. Seconds count from when work on a message began to its ``done``, whichever worker it is by then."""

    model_calls_per_message: int = 8
    same_call_per_message: int = 2
    tokens_per_conversation: int = 150_000
    turn_budget_s: float = 60.0
    # Kept back from it for checking and sending what is said in the end, or for handing over, with the 1.5 s that the
    # packet waits for the customer's record.
    reserve_s: float = 3.0
    # A write begun with less left than this could end unheard: the tool gateway may take six seconds for a payment and
    # some for the facts before it, and a lost answer's row has to be asked for after it.
    write_needs_s: float = 12.0
    # The part of it that is kept for asking for that row.
    row_asks_s: float = 4.0
    # A turn that the provider cut or garbled is asked again this often before a person takes over (BB-LLM-02).
    broken_turns_per_message: int = 2
    # Two tools that don't exist in a row say that the model is lost (BB-LLM-13).
    invented_tools_in_a_row: int = 2

    def left_s(self, spent_s: float) -> float:
        """Return the seconds that models and tools may still take; below zero once the turn is over."""
        return self.turn_budget_s - self.reserve_s - spent_s


def tokens_left(memory: Memory, limits: Limits) -> int:
    """Return the tokens that models may still use for this conversation; what was used before a person gave it back
    isn't counted.
    """
    return limits.tokens_per_conversation - (memory.tokens - memory.tokens_before)


def tokens_used_up(memory: Memory, limits: Limits) -> str | None:
    """Return why no further model call may be made, or None while one may."""
    if tokens_left(memory, limits) > 0:
        return None
    return f"{memory.tokens - memory.tokens_before} tokens in this conversation"
