"""When a conversation goes to a person: SPEC §8's rules, in their order, as one pure function."""

from dataclasses import dataclass

from common.events.handoffs import HandoffReason

# Below this the router isn't sure what the customer wants, so that patience gets shorter everywhere.
LOW_CONFIDENCE = 0.70


@dataclass(frozen=True, slots=True)
class Patience:
    """How much goes wrong before a person takes over; ``sentiment`` at or below the bound counts as upset."""

    failed_calls: int
    idle_turns: int
    sentiment: float


USUAL = Patience(failed_calls=2, idle_turns=3, sentiment=-0.6)
SHORT = Patience(failed_calls=1, idle_turns=2, sentiment=-0.3)
ENTERPRISE_ATTEMPTS = 2
MAX_TURNS = 8
MAX_AGENT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts the rule looks at.

    ``attempts`` counts writes that came to nothing and ``idle_turns`` turns without progress, both since the last thing
    that was settled; ``turns`` counts this one too. Seconds are the agent's own, from a message's arrival to its
    answer. ``confidence`` is how sure the router was of the intent.
    """

    asked: bool = False
    sensitive: bool = False
    limit_hit: str | None = None
    above_ceiling: bool = False
    failed_calls: int = 0
    idle_turns: int = 0
    attempts: int = 0
    enterprise: bool = False
    sentiment: float = 0.0
    turns: int = 0
    agent_seconds: float = 0.0
    resolved: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class HandOver:
    """A person takes it, and why; ``detail`` is for the packet and the log, never for the customer."""

    reason: HandoffReason
    detail: str


def decide_handoff(now: Situation) -> HandOver | None:
    """Return the first rule that holds, or None while the agent may go on."""
    patience = SHORT if now.confidence < LOW_CONFIDENCE else USUAL
    # A turn that got nowhere is an attempt as much as a write that came to nothing.
    tried = max(now.attempts, now.idle_turns)
    rules: tuple[tuple[bool, HandoffReason, str], ...] = (
        (now.asked, "asked", "the customer asked for a person"),
        (now.sensitive, "sensitive", "legal, security or safety"),
        (now.limit_hit is not None, "budget", now.limit_hit or ""),
        (now.above_ceiling, "policy", "above what the agent may decide"),
        (now.failed_calls >= patience.failed_calls, "stuck", f"{now.failed_calls} failed tool calls"),
        (now.idle_turns >= patience.idle_turns, "stuck", f"{now.idle_turns} turns without progress"),
        (now.enterprise and tried >= ENTERPRISE_ATTEMPTS, "stuck", f"enterprise, {tried} attempts"),
        (now.sentiment <= patience.sentiment, "upset", f"sentiment {now.sentiment:.2f}"),
        (now.turns > MAX_TURNS and not now.resolved, "long", f"{now.turns} turns"),
        (now.agent_seconds > MAX_AGENT_SECONDS and not now.resolved, "long", f"{now.agent_seconds:.0f} s"),
    )
    return next((HandOver(reason, detail) for holds, reason, detail in rules if holds), None)
