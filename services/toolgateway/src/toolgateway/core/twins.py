"""What a second ask for one fact gets: the winner's row, a person, or (for people) the next try (R1)."""

from dataclasses import dataclass
from typing import Literal

from toolgateway.core.actions import Action
from toolgateway.core.transitions import FINAL


@dataclass(frozen=True)
class Read:
    """The row answers; ``unmet``: the wish was another one and could still be met in part, which is a person's case."""

    action: Action
    unmet: bool
    reason: str | None = None


@dataclass(frozen=True)
class Number:
    """The ask gets a row of its own under this number."""

    n: int = 1
    generation: int = 1


By = Literal["agent", "staff"]


def answer_once(newest: Action | None, *, same: bool, more_possible: bool, by: By) -> Read | Number:
    """Answer an ask for a fact that happens once: a refund of a line, a cancellation, a label.

    ``more_possible``: a different ask could still be granted in part, so it isn't met by what the row says.
    """
    if newest is None:
        return Number()
    if by == "staff" and (newest.status in ("failed", "rejected") or (newest.status == "succeeded" and not same)):
        # A person's new try; the facts, read afresh, say whether anything is left to give.
        return Number(generation=newest.generation + 1)
    unmet = not same and more_possible
    return Read(newest, unmet=unmet, reason=None if same else ("more_is_refundable" if unmet else "already_asked"))


def answer_counted(newest: Action | None, *, same: bool, by: By) -> Read | Number:
    """Answer an ask for a fact that repeats over time: the number rises only past a final row that differs."""
    if newest is None:
        return Number()
    if newest.status not in FINAL:
        return Read(newest, unmet=not same, reason=None if same else "another_change_is_open")
    if not same:
        return Number(n=newest.n + 1)
    if newest.status != "succeeded" and by == "staff":
        return Number(n=newest.n, generation=newest.generation + 1)
    return Read(newest, unmet=False)
