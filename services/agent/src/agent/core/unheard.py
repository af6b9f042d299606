"""Writes whose answer was lost: which ledger row is theirs, and when the customer still has to hear how one ended."""

from collections.abc import Sequence
from typing import Any

from agent.core.state import Memory

Json = dict[str, Any]
# One row a fact, whoever asked first. The others are numbered or named by what they change: an earlier one of the
# conversation is about something else.
_ONE_ROW = frozenset({"refund", "cancel"})
_OPEN = "pending"
_KEPT = 10


def note_unheard(kind: str, args: Json, memory: Memory, own: str | None = None) -> Json:
    """Keep that a write was sent and nobody heard how it ended; returns what is known of it.

    ``besides`` are the keys of earlier rows that aren't its own; ``own`` is the key of its row, where that is known.
    """
    fact: Json = {"kind": kind, "order_id": args.get("order_id"), "line_id": args.get("line_id"), "besides": []}
    if kind not in _ONE_ROW:
        fact["besides"] = [key for key, row in memory.actions.items() if key != own and _is_about(row, fact)]
    if fact not in memory.unheard:
        memory.unheard.append(fact)
        del memory.unheard[:-_KEPT]
    return fact


def row_of_lost(fact: Json, rows: Sequence[Json]) -> Json | None:
    """Return the newest of the ledger's rows, oldest first, that is this write's; None where none surely is."""
    return next((row for row in reversed(rows) if _is_about(row, fact)), None)


def forget_heard(memory: Memory) -> None:
    """Drop what the ledger has answered by now: a row that isn't open any more.

    One that is still open stays: its first try may end as the answer to the very call that nobody waits for.
    """
    memory.unheard = [fact for fact in memory.unheard if _status(fact, memory) in (None, _OPEN)]


def keep_open(memory: Memory) -> None:
    """Drop all but what still waits for its row to end: a person had the rest before them, and has let go of it."""
    memory.unheard = [fact for fact in memory.unheard if _status(fact, memory) == _OPEN]


def name_lost(memory: Memory) -> str | None:
    """Name the writes that were sent and have no row here, for the person who looks for them."""
    lost = [fact for fact in memory.unheard if _status(fact, memory) is None]
    names = (":".join(str(fact[f]) for f in ("kind", "order_id", "line_id") if fact[f]) for fact in lost)
    return ", ".join(names) or None


def found_by_now(memory: Memory) -> list[str]:
    """Return the keys of the rows that turned out to be a lost write's."""
    rows = list(memory.actions.values())
    return [row["key"] for fact in memory.unheard if (row := row_of_lost(fact, rows)) is not None]


def went_unheard(unheard: Sequence[Json], known_status: str | None, change: Json) -> bool:
    """Say whether a change that was the answer to a tool call reached nobody: its answer was lost, and no later look
    at the ledger found it.
    """
    return known_status != change["status"] and any(_is_about(change, fact) for fact in unheard)


def _status(fact: Json, memory: Memory) -> str | None:
    row = row_of_lost(fact, list(memory.actions.values()))
    return str(row["status"]) if row is not None else None


def _is_about(row: Json, fact: Json) -> bool:
    same = all(row.get(name) == fact[name] for name in ("kind", "order_id", "line_id"))
    return same and row["key"] not in fact["besides"]
