"""Planned faults: which call of which stand-in goes wrong next, and how."""

from dataclasses import dataclass
from typing import get_args

from sandbox.adapters.database import Database
from sandbox.core.faults import FaultKind


@dataclass(frozen=True)
class Fault:
    """One fault that this call has to suffer; ``delay_ms`` is None when the caller gave none."""

    kind: FaultKind
    delay_ms: int | None


class FaultPlan:
    """The faults still to come, oldest first; each taking uses one of its ``times``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, target: str, kind: str, *, times: int | None, delay_ms: int | None, order_id: str | None) -> None:
        """Plan a fault; ``times`` None lasts until cleared, ``order_id`` None hits any order."""
        self._database.run(
            "insert into faults (target, kind, order_id, delay_ms, times_left) values (?, ?, ?, ?, ?)",
            target, kind, order_id, delay_ms, times,
        )  # fmt: skip

    def clear(self) -> None:
        """Forget every planned fault; what already happened stays happened."""
        self._database.run("delete from faults")

    def listed(self) -> list[dict[str, object]]:
        """Return what is still planned."""
        found = self._database.rows(
            "select target, kind, order_id, delay_ms, times_left as times from faults order by seq"
        )
        return [dict(row) for row in found]

    def take(self, target: str, kinds: frozenset[FaultKind], order_ids: frozenset[str] = frozenset()) -> Fault | None:
        """Use up the oldest fault of these kinds that this call meets, if any."""
        for row in self._database.rows("select * from faults where target = ? order by seq", target):
            if row["kind"] in kinds and (row["order_id"] is None or row["order_id"] in order_ids):
                self._use(row["seq"], row["times_left"])
                return Fault(_kind(row["kind"]), row["delay_ms"])
        return None

    def _use(self, seq: int, times_left: int | None) -> None:
        if times_left is None:
            return
        if times_left <= 1:
            self._database.run("delete from faults where seq = ?", seq)
        else:
            self._database.run("update faults set times_left = times_left - 1 where seq = ?", seq)


def _kind(name: str) -> FaultKind:
    kinds: tuple[FaultKind, ...] = get_args(FaultKind)
    return next(kind for kind in kinds if kind == name)
