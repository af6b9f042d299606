"""The limits of one message and of one conversation: frozen values that the code enforces and the prompt prints."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """SPEC §7. Seconds count from a message's arrival to its ``done``."""

    model_calls_per_message: int = 8
    same_call_per_message: int = 2
    tokens_per_conversation: int = 150_000
    turn_budget_s: float = 60.0
    # A turn that the provider cut or garbled is asked again this often before a person takes over (BB-LLM-02).
    broken_turns_per_message: int = 2
    # Two tools that don't exist in a row say that the model is lost (BB-LLM-13).
    invented_tools_in_a_row: int = 2
