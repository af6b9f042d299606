"""Labelled replies as both trainings of the reply check read, group and measure by them."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent.core.claims import Facts, Reader, check_reply


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def grouped(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows that share a reply, beside different facts."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["language"], row["reply"]), []).append(row)
    yield from groups.values()


def measure(rows: Sequence[dict[str, Any]], reader: Reader | None) -> dict[str, dict[str, float]]:
    """Per language: share of false replies let through and of true ones stopped, in percent."""
    counts: dict[str, defaultdict[str, int]] = {}
    for row in rows:
        checked = check_reply(row["reply"], row["language"], Facts.model_validate(row["facts"]), reader)
        expected = row["expected"]["holds"]
        mine = counts.setdefault(row["language"], defaultdict(int))
        mine["true" if expected else "false"] += 1
        mine["wrong true" if expected else "wrong false"] += checked.holds != expected
    return {
        language: {
            "missed": round(100 * c["wrong false"] / max(c["false"], 1), 1),
            "stopped": round(100 * c["wrong true"] / max(c["true"], 1), 1),
        }
        for language, c in counts.items()
    }


def say(what: dict[str, Any]) -> None:
    """Print one line of JSON at once."""
    sys.stdout.write(json.dumps(what, ensure_ascii=False) + "\n")
    sys.stdout.flush()
