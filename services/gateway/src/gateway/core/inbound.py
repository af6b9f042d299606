"""What becomes of a message from a channel, by what is proved of its sender (SPEC §3)."""

from dataclasses import dataclass
from enum import Enum


class Step(Enum):
    """The one thing to do with the message."""

    PUBLISH = "publish"
    """The sender is proved: goes on with a session."""
    PUBLISH_AS_VISITOR = "visitor"
    """Nobody we know: policy answers and a person, never an order."""
    HOLD = "hold"
    """Known by name only: waits until a one-time code is confirmed."""
    TRY_CODE = "try_code"
    """Six digits while a code is outstanding."""
    REFUSE_CODE = "refuse_code"
    """Six digits where none is outstanding and nobody is known: the same words as for a wrong code."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the shell found out before it asks."""

    proved: bool
    customer_known: bool
    code_outstanding: bool
    holding: bool
    is_code: bool
    needs_code_channel: bool


def decide_step(facts: Facts) -> Step:
    """Return what to do; a code is tried only where one was asked for, so that an order number stays a message."""
    if facts.proved:
        return Step.TRY_CODE if facts.is_code and facts.code_outstanding else Step.PUBLISH
    if facts.customer_known:
        asked = facts.code_outstanding or facts.holding
        return Step.TRY_CODE if facts.is_code and asked else Step.HOLD
    if facts.is_code and facts.needs_code_channel:
        return Step.REFUSE_CODE
    return Step.PUBLISH_AS_VISITOR
