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


def change_owner(  # noqa: PLR0911 - one line a rule
    now: OwnerState, move: Move, staff: str, *, succeeds: str | None = None, over: bool = False, waits: bool = False
) -> OwnerState | str:
    """Return the next state, or why the move isn't possible; what is done already gives the state as it is.

    Claiming takes what waits for people, taking over takes it from the agent or a colleague, unasked; returning and
    closing are for whoever has it. ``succeeds`` names the colleague whose lease on it has run out, as the queue
    vouches: what is theirs counts as nobody's. ``over``: the handoff that the move names has ended, so there is
    nothing left of it to claim, and giving it back or closing it once more changes nothing. ``waits``: a ledger row of
    the conversation waits for approval, whoever has the conversation.
    """
    if staff in (AGENT, PEOPLE):
        return f"{staff!r} is no person"
    if over and move != "takeover":
        return "this handoff is over" if move == "claim" else now
    held_by_person = now.status == "with_person" and now.owner not in (AGENT, PEOPLE)
    free = now.status == "with_person" and now.owner in (PEOPLE, staff, succeeds)
    match move:
        case "claim":
            if free:
                return OwnerState("with_person", staff)
            return f"{now.owner} has this conversation" if held_by_person else "nobody was asked for here"
        case "takeover":
            return OwnerState("with_person", staff)
        case "return":
            given_back = OwnerState("waiting_approval" if waits else "active", AGENT)
            return given_back if free else f"{now.owner} has this conversation"
        case "close":
            if held_by_person and not free:
                return f"{now.owner} has this conversation"
            return OwnerState("closed", AGENT)
