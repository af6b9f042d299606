"""Who may take a conversation from whom: the table of legal moves between agent and people."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

AGENT = "agent"
PEOPLE = "people"
Move: TypeAlias = Literal["claim", "takeover", "return", "close"]


@dataclass(frozen=True, slots=True)
class OwnerState:
    """Status and owner of a conversation; ``people`` waits for somebody."""

    status: str
    owner: str


def change_owner(now: OwnerState, move: Move, staff: str) -> OwnerState | str:  # noqa: PLR0911 - one line a rule
    """Return the next state, or why the move isn't possible.

    Claiming takes what waits for people, taking over takes it from the agent or a colleague, unasked; returning and
    closing are for whoever has it.
    """
    if staff in (AGENT, PEOPLE):
        return f"{staff!r} is no person"
    held_by_person = now.status == "with_person" and now.owner not in (AGENT, PEOPLE)
    match move:
        case "claim":
            if now.status == "with_person" and now.owner in (PEOPLE, staff):
                return OwnerState("with_person", staff)
            return f"{now.owner} has this conversation" if held_by_person else "nobody was asked for here"
        case "takeover":
            return OwnerState("with_person", staff)
        case "return":
            if now.status == "with_person" and now.owner in (PEOPLE, staff):
                return OwnerState("active", AGENT)
            return f"{now.owner} has this conversation"
        case "close":
            if held_by_person and now.owner != staff:
                return f"{now.owner} has this conversation"
            return OwnerState("closed", AGENT)
