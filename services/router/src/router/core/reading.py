"""What was asked, and what a classifier read in it: the values that pass between port and rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from router.core.intents import INTENTS


@dataclass(frozen=True, slots=True)
class Asked:
    """One message to read: its text, the turns before it (oldest first) and the channel's locale, if it has one."""

    text: str
    history: tuple[tuple[str, str], ...] = ()
    locale: str | None = None

    def customer_turns(self) -> tuple[str, ...]:
        """Return what the customer wrote before, oldest first."""
        return tuple(text for sender, text in self.history if sender == "customer")


@dataclass(frozen=True, slots=True)
class Reading:
    """Probabilities over all intents (they sum to 1), language, sentiment −1..1, and what the rules of words found."""

    probabilities: Mapping[str, float]
    language: str
    sentiment: float = 0.0
    multi_intent: bool = False
    asked_for_person: bool = False
    topics: tuple[str, ...] = ()

    def best(self) -> tuple[str, float]:
        """Return the likeliest intent and its probability; a tie goes to the one that stands first in INTENTS."""
        intent = max(INTENTS, key=lambda name: self.probabilities.get(name, 0.0))
        return intent, self.probabilities.get(intent, 0.0)


def with_evidence(probabilities: Mapping[str, float], intent: str, at_least: float) -> dict[str, float]:
    """Raise ``intent`` to ``at_least`` and shrink the others in proportion, so that the sum stays 1."""
    before = probabilities.get(intent, 0.0)
    if before >= at_least:
        return dict(probabilities)
    shrink = (1.0 - at_least) / (1.0 - before)
    return {name: at_least if name == intent else p * shrink for name, p in probabilities.items()}
