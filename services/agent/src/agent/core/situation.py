"""Puts together, from the saved state, the facts that the handoff rule looks at."""

from dataclasses import dataclass

from agent.core.confirming import confidence_of
from agent.core.handoff import Situation
from agent.core.keywords import asks_for_person
from agent.core.packet import is_enterprise
from agent.core.state import Memory, RunProgress
from common.events import WorkItem
from common.guard.sensitive import topics

# Router flags such as "sensitive:legal" and the intents behind them.
_SENSITIVE_INTENTS = {"legal": "legal", "account_security": "security", "safety": "safety"}
_SENSITIVE_P = 0.3


def topic_of(work: WorkItem) -> str | None:
    """Return the sensitive topic the router or a keyword found, else None."""
    for intent, topic in _SENSITIVE_INTENTS.items():
        if work.intent == intent or work.probabilities.get(intent, 0.0) >= _SENSITIVE_P:
            return topic
    for flag in work.flags:
        if flag.startswith("sensitive:"):
            name = flag.partition(":")[2]
            return _SENSITIVE_INTENTS.get(name, name)
    found = topics(work.message.text, work.language)
    return next((topic for intent, topic in _SENSITIVE_INTENTS.items() if intent in found), None)


@dataclass(frozen=True, slots=True)
class Wording:
    """What a message says by itself, whatever becomes of it."""

    asks_for_person: bool
    topic: str | None

    @classmethod
    def of(cls, work: WorkItem) -> "Wording":
        return cls(work.intent == "asks_for_human" or asks_for_person(work.message.text), topic_of(work))


def situation_of(
    work: WorkItem, memory: Memory, run: RunProgress, *, elapsed_s: float, wording: Wording | None = None
) -> Situation:
    """Return the facts now; ``elapsed_s`` counts from this message's arrival.

    ``wording`` spares reading the message again, for who asks before every step.
    """
    wording = wording or Wording.of(work)
    return Situation(
        asked=run.hand_reason in ("asked", "other") or wording.asks_for_person,
        sensitive=run.hand_reason == "sensitive" or wording.topic is not None,
        limit_hit=run.limit_hit,
        above_ceiling=run.above_ceiling or run.hand_reason == "policy",
        failed_calls=memory.failed_calls + run.failed_calls,
        idle_turns=memory.idle_turns,
        attempts=memory.attempts,
        enterprise=is_enterprise(memory),
        sentiment=work.sentiment,
        turns=memory.turns + 1,
        agent_seconds=memory.agent_seconds + elapsed_s,
        # What was settled in earlier messages has set the counts back; what this one settled ends its own.
        resolved=run.moved_rows > 0,
        confidence=confidence_of(work, run),
    )
