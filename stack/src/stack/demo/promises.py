"""Holds what was promised against what happened; every promise is printed with the figures it was judged by."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


@dataclass
class Promises:
    """Collects the verdicts of one tour."""

    broken: list[str] = field(default_factory=list)
    kept: int = 0

    def hold(self, promise: str, *, kept: bool, seen: object) -> None:
        sys.stdout.write(f"   {'✓' if kept else '✗ BROKEN:'} {promise} ({seen})\n")
        sys.stdout.flush()
        if kept:
            self.kept += 1
        else:
            self.broken.append(promise)


def disagreements(rows: Iterable[Mapping[str, Any]], refunds: Iterable[Mapping[str, Any]]) -> list[str]:
    """What ledger and payment provider don't agree on: C1 and C2 of RELIABILITY.

    `rows` are ledger rows, `refunds` what the provider really moved.
    """
    rows, refunds = [row for row in rows if row["kind"] == "refund"], list(refunds)
    found = []
    for row in rows:
        moved = [r for r in refunds if (r["order_id"], r["line_id"]) == (row["order_id"], row["line_id"])]
        expected = 1 if row["status"] == "succeeded" else 0
        if len(moved) != expected:
            found.append(f"{row['key']} is {row['status']} but the provider moved money {len(moved)} times")
        elif moved and Decimal(moved[0]["amount"]) != row["amount"]:
            found.append(f"{row['key']} says {row['amount']} but the provider moved {moved[0]['amount']}")
    known = {(row["order_id"], row["line_id"]) for row in rows}
    found += [
        f"the provider moved {r['amount']} for {r['order_id']}:{r['line_id']}, which the ledger doesn't know"
        for r in refunds
        if (r["order_id"], r["line_id"]) not in known
    ]
    return found
