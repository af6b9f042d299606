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
