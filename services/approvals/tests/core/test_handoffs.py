"""Who may move a handoff, from where to where."""

import pytest

from approvals.core.handoffs import Held, IllegalMove, Move, Status, next_status


@pytest.mark.parametrize(
    ("status", "owner", "lease_over", "move", "after"),
    [
        ("waiting", None, False, "claim", "claimed"),
        ("claimed", "dana", False, "claim", "claimed"),
        ("claimed", "dana", False, "reply", "claimed"),
        ("claimed", "dana", False, "act", "claimed"),
        ("claimed", "dana", False, "return", "returned"),
        ("claimed", "dana", False, "close", "closed"),
        ("claimed", "omar", True, "claim", "claimed"),
        ("waiting", None, False, "reply", None),
        ("waiting", None, False, "close", None),
        ("claimed", "omar", False, "claim", None),
        ("claimed", "omar", False, "reply", None),
        ("claimed", "omar", True, "reply", None),
        ("returned", "dana", False, "claim", None),
        ("closed", "dana", False, "reply", None),
    ],
)
def test_a_move_is_legal_or_named(
    status: Status, owner: str | None, lease_over: bool, move: Move, after: Status | None
) -> None:
    held = Held(status, owner, lease_over)
    if after is None:
        with pytest.raises(IllegalMove):
            next_status(held, move, "dana")
    else:
        assert next_status(held, move, "dana") == after
