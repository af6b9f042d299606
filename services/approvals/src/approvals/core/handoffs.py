"""How a handoff moves between people: a table of legal moves, and why a move is refused."""

from dataclasses import dataclass
from typing import Literal

from common.errors import Refused

Status = Literal["waiting", "claimed", "returned", "closed"]
Move = Literal["claim", "reply", "return", "close", "act"]

# From status and move to the status after it; what is not here is refused.
MOVES: dict[tuple[Status, Move], Status] = {
    ("waiting", "claim"): "claimed",
    ("claimed", "claim"): "claimed",
    ("claimed", "reply"): "claimed",
    ("claimed", "act"): "claimed",
    ("claimed", "return"): "returned",
    ("claimed", "close"): "closed",
    # Once more by whoever ended it: their first answer may have been lost, or the agent service never heard of it.
    ("returned", "return"): "returned",
    ("closed", "close"): "closed",
}
# What the agent service calls a conversation that waits for any of us.
PEOPLE = "people"
# Shown first: what can hurt somebody, then what costs most to leave waiting.
PRIORITY_ORDER: dict[str, int] = {"critical": 0, "high": 1, "standard": 2}


class IllegalMove(Refused):
    """The handoff isn't where this move could start, or it is somebody else's."""


@dataclass(frozen=True)
class Held:
    """What decides a move: the handoff's status, whose it is, and whether that claim has run out."""

    status: Status
    owner: str | None
    lease_over: bool = False


def next_status(held: Held, move: Move, staff: str) -> Status:
    """Return the status after ``move`` by ``staff``; raises IllegalMove with the reason."""
    after = MOVES.get((held.status, move))
    if after is None:
        raise IllegalMove(
            f"this handoff is {held.status}; claim it first" if move != "claim" else f"it is {held.status}"
        )
    theirs = held.owner is not None and held.owner != staff and not (move == "claim" and held.lease_over)
    if theirs:
        raise IllegalMove("somebody else has claimed this handoff")
    return after


@dataclass(frozen=True)
class Standing:
    """A conversation as the agent service has it: its owner, and the handoff it is with people for (None: it isn't)."""

    status: str
    owner: str
    owner_version: int
    handoff_id: str | None


def succeeds(now: Standing, staff: str, *, held: bool) -> str | None:
    """Return whose place ``staff`` takes at the agent service, None where nobody is in the way.

    The row of the queue holds the lease. ``held`` says that it is theirs, so whoever else the agent service still
    has as owner holds none: a lease that ran out, or a claim that was made there and never told here.
    """
    return now.owner if held and now.owner not in (PEOPLE, staff) else None
