"""The routing rules of SPEC §4, in their order; the first that fits decides."""

from dataclasses import dataclass
from typing import Literal

from router.core.intents import ASKS_FOR_HUMAN, SENSITIVE
from router.core.reading import Reading

Route = Literal["fixed", "rag", "agent", "human"]
_CERTAIN_ROUTES: dict[str, Route] = {
    "where_is_my_order": "fixed",
    "policy_question": "rag",
    "product_question": "rag",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where the probabilities cut; the model card's threshold curve shows what each place costs."""

    # A missed threat, break-in or injury costs far more than a needless look by a person.
    sensitive: float = 0.30
    # Above it a template or an article answers with nobody to correct it.
    confident: float = 0.85
    # Below it the agent gets tighter tools and hands over sooner (SPEC §6, §8).
    doubtful: float = 0.70


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a message goes and why: ``flags`` name every rule that spoke, in the order of the rules."""

    route: Route
    intent: str
    confidence: float
    flags: tuple[str, ...]


def decide_route(reading: Reading, *, follows_open_turn: bool, thresholds: Thresholds = Thresholds()) -> Decision:
    """Return the route of one message; ``follows_open_turn`` says that the agent waits for this very answer."""
    intent, confidence = reading.best()
    topics = sensitive_topics(reading, thresholds)
    flags = [f"sensitive:{topic}" for topic in topics]
    if reading.multi_intent:
        flags.append("multi_intent")
    if follows_open_turn:
        flags.append("follow_up")
    if confidence < thresholds.doubtful:
        flags.append("low_confidence")
    asked = reading.asked_for_person or intent == ASKS_FOR_HUMAN
    if asked:
        flags.insert(0, "asked_for_person")
    route: Route = "human"
    if not asked and not topics:
        route = _route_without_person(
            reading, intent, confidence, follows_open_turn=follows_open_turn, thresholds=thresholds
        )
    return Decision(route, intent, confidence, tuple(flags))


def sensitive_topics(reading: Reading, thresholds: Thresholds) -> tuple[str, ...]:
    """Return the sensitive topics that words or probability point at."""
    return tuple(
        topic
        for topic in SENSITIVE
        if topic in reading.topics or reading.probabilities.get(topic, 0.0) >= thresholds.sensitive
    )


def _route_without_person(
    reading: Reading, intent: str, confidence: float, *, follows_open_turn: bool, thresholds: Thresholds
) -> Route:
    if follows_open_turn or reading.multi_intent or confidence < thresholds.confident:
        return "agent"
    return _CERTAIN_ROUTES.get(intent, "agent")
