"""The life of a ledger row as a table of legal moves; the database holds the same table (migration 0001)."""

from typing import Literal

Status = Literal["pending", "awaiting_approval", "succeeded", "rejected", "failed"]

# (from, to) → what may cause it. None is a row that doesn't exist yet.
MOVES: dict[tuple[Status | None, Status], tuple[str, ...]] = {
    (None, "pending"): ("proposed",),
    (None, "awaiting_approval"): ("proposed",),
    (None, "succeeded"): ("rebuilt",),
    ("awaiting_approval", "awaiting_approval"): ("overdue", "voided"),
    ("awaiting_approval", "pending"): ("decided",),
    ("awaiting_approval", "rejected"): ("decided",),
    ("pending", "pending"): ("claimed", "tried"),
    ("pending", "succeeded"): ("settled", "adopted"),
    ("pending", "failed"): ("refused", "gave_up"),
    # A bank may return a refund days later (R3).
    ("succeeded", "failed"): ("bank_returned",),
    # Proof at the provider outranks our having given up.
    ("failed", "succeeded"): ("adopted",),
}
FINAL: frozenset[Status] = frozenset({"succeeded", "rejected", "failed"})
# A fact in one of these states still binds the order: money may move, or has.
BINDING: frozenset[Status] = frozenset({"pending", "awaiting_approval", "succeeded"})


class IllegalMove(Exception):  # noqa: N818 - named as the h11 state table names it
    """A row was about to take a step that its life doesn't have."""


def check_move(before: Status | None, after: Status, cause: str) -> None:
    """Raise IllegalMove unless the table has this step for this cause."""
    if cause not in MOVES.get((before, after), ()):
        raise IllegalMove(f"{before} → {after} ({cause})")
