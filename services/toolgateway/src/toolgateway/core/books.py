"""Two sets of books, ours and the provider's, compared in both directions; and rows as an auditor's spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from toolgateway.core.actions import Action

# After any white space, one of these starts a formula in some spreadsheet; the full-width ones count too.
_FORMULA = re.compile(r"^[\s\x00-\x1f]*[=+\-@＝＋－＠|%]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Entry:
    """One refund in the provider's books; ``key`` is ours or None."""

    refund_id: str
    order_id: str
    key: str | None
    minor: int
    effective: bool


@dataclass(frozen=True)
class Stray:
    """What matches nothing on the other side: a person's task."""

    about: str
    reason: str
    details: dict[str, Any]


def find_strays(entries: Iterable[Entry], rows: Iterable[Action]) -> list[Stray]:
    """Return money without a row that says so, and rows that say so without money."""
    by_key = {row.key: row for row in rows}
    effective = [entry for entry in entries if entry.effective]
    strays = [
        Stray(e.refund_id, "money_without_row", {"order_id": e.order_id, "key": e.key, "minor": e.minor})
        for e in effective
        if not _backed(e, by_key.get(e.key or ""))
    ]
    paid = {entry.refund_id for entry in effective}
    strays += [
        Stray(row.key, "row_without_money", {"order_id": row.order_id, "reference": row.external_ref})
        for row in by_key.values()
        if row.kind == "refund" and row.status == "succeeded" and row.external_ref not in paid
    ]
    return strays


def _backed(entry: Entry, row: Action | None) -> bool:
    if row is None or row.order_id != entry.order_id:
        return False
    if row.kind == "cancel":
        # The order system returns a cancelled order's money line by line under the cancellation's key.
        return row.status in ("succeeded", "pending")
    return row.minor_units == entry.minor and (
        row.status == "pending" or (row.status == "succeeded" and row.external_ref == entry.refund_id)
    )


def read_refund_key(key: str) -> tuple[str, str, str, int] | None:
    """Return (fact, order, line, generation) of a refund's key, or None for a key that isn't one."""
    match = re.fullmatch(r"(refund:([^:~]+):([^:~]+))(?:~([2-9]|[1-9][0-9]+))?", key)
    if match is None:
        return None
    fact, order_id, line_id, generation = match.groups()
    return fact, unquote(order_id), unquote(line_id), int(generation or 1)


def csv_text(columns: list[str], rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as CSV in which no cell is ever computed, also after a save and a reopen.

    A text that could be a formula gets a visible underscore in front: an apostrophe would vanish with the first save.
    Numbers stay numbers. The exact text is in the JSON Lines export.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([safe_cell(row.get(name)) for name in columns])
    return out.getvalue()


def safe_cell(value: Any) -> str:
    """Return one cell's text."""
    text = "" if value is None else str(value)
    if _NUMBER.fullmatch(text):
        return text
    return f"_{text}" if _FORMULA.match(text) else text
