"""The table of legal moves between agent and people."""

import pytest

from agent.core.ownership import OwnerState, change_owner

AGENT = OwnerState("active", "agent")
WAITING = OwnerState("with_person", "people")
DANA = OwnerState("with_person", "dana")


@pytest.mark.parametrize(
    ("now", "move", "after"),
    [
        (WAITING, "claim", DANA),
        (DANA, "claim", DANA),
        (AGENT, "takeover", DANA),
        (WAITING, "takeover", DANA),
        (OwnerState("with_person", "erik"), "takeover", DANA),
        (DANA, "return", AGENT),
        (DANA, "close", OwnerState("closed", "agent")),
    ],
)
def test_legal_moves(now: OwnerState, move: str, after: OwnerState) -> None:
    assert change_owner(now, move, "dana") == after  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "move", "status"),
    [
        (DANA, "return", "waiting_approval"),
        (DANA, "close", "closed"),
        (DANA, "claim", "with_person"),
        (AGENT, "takeover", "with_person"),
    ],
)
def test_what_is_given_back_while_a_row_waits_for_approval_waits(now: OwnerState, move: str, status: str) -> None:
    moved = change_owner(now, move, "dana", waits=True)  # type: ignore[arg-type]
    assert isinstance(moved, OwnerState)
    assert moved.status == status


@pytest.mark.parametrize(
    ("now", "move"),
    [
        (AGENT, "claim"),
        (OwnerState("with_person", "erik"), "claim"),
        (OwnerState("with_person", "erik"), "return"),
        (OwnerState("with_person", "erik"), "close"),
        (AGENT, "return"),
    ],
)
def test_illegal_moves_say_why(now: OwnerState, move: str) -> None:
    assert isinstance(change_owner(now, move, "dana"), str)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["agent", "people"])
def test_nobody_can_pose_as_the_agent_or_as_the_queue(name: str) -> None:
    assert isinstance(change_owner(WAITING, "claim", name), str)


ERIK = OwnerState("with_person", "erik")
CLOSED = OwnerState("closed", "agent")


@pytest.mark.parametrize(
    ("now", "move", "after"),
    [(ERIK, "claim", DANA), (ERIK, "return", AGENT), (ERIK, "close", CLOSED), (WAITING, "claim", DANA)],
)
def test_whose_lease_has_run_out_is_succeeded(now: OwnerState, move: str, after: OwnerState) -> None:
    assert change_owner(now, move, "dana", succeeds="erik") == after  # type: ignore[arg-type]


@pytest.mark.parametrize("move", ["claim", "return", "close"])
@pytest.mark.parametrize("succeeds", [None, "omar", "agent", "people"])
def test_nobody_else_is_succeeded(move: str, succeeds: str | None) -> None:
    refused = "erik has this conversation"
    assert change_owner(ERIK, move, "dana", succeeds=succeeds) == refused  # type: ignore[arg-type]


def test_the_agent_is_succeeded_by_nobody_who_was_not_asked_for() -> None:
    assert change_owner(AGENT, "claim", "dana", succeeds="agent") == "nobody was asked for here"


@pytest.mark.parametrize("now", [AGENT, WAITING, ERIK, DANA, CLOSED])
def test_of_a_handoff_that_is_over_nothing_is_claimed_and_ending_it_again_changes_nothing(now: OwnerState) -> None:
    assert change_owner(now, "claim", "dana", over=True) == "this handoff is over"
    assert change_owner(now, "return", "dana", over=True) == now
    assert change_owner(now, "close", "dana", over=True) == now


@pytest.mark.parametrize("move", ["claim", "takeover"])
def test_what_is_theirs_already_stays_as_it_is(move: str) -> None:
    assert change_owner(DANA, move, "dana") == DANA  # type: ignore[arg-type]
