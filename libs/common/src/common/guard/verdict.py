"""The guard's port: what it is asked and what it answers."""

from dataclasses import dataclass
from typing import Literal, Protocol

Where = Literal["customer", "tool_result", "reply"]
"""Whose text it is: the customer's message, a record or article a tool returned, or our own reply before it leaves."""

VerdictName = Literal["clean", "flagged", "down"]


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The answer for one text. `reasons` are rule names, most telling first; empty exactly when clean."""

    verdict: VerdictName
    reasons: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return self.verdict == "clean"


CLEAN = GuardVerdict("clean")


def down(reason: str) -> GuardVerdict:
    """No verdict could be had; callers send actions to approval and still answer."""
    return GuardVerdict("down", (reason,))


class Guard(Protocol):
    async def check(self, text: str, where: Where) -> GuardVerdict:
        """Judge one text. Never raises: whatever goes wrong becomes the verdict "down"."""
        ...
