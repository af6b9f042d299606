"""`python -m common.guard`: texts in, verdicts out, one JSON object a line (see CONTRACT, offline handles)."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from common.guard.inspection import inspect
from common.guard.tripwire import Tripwire, load
from common.guard.verdict import Where

_WHERE: dict[str, Where] = {name: name for name in get_args(Where)}


def answers(lines: Iterable[str], tripwire: Tripwire) -> Iterator[dict[str, Any]]:
    """One answer for each line that isn't blank; a bad line is answered with an error and the rest goes on."""
    for line in lines:
        if not line.strip():
            continue
        asked: Any = None
        try:
            asked = json.loads(line)
            yield _answer(asked, tripwire)
        except (ValueError, TypeError, RecursionError) as error:
            yield {"id": asked.get("id") if isinstance(asked, dict) else None, "error": str(error)[:300]}


def _answer(asked: Any, tripwire: Tripwire) -> dict[str, Any]:
    if not isinstance(asked, dict):
        raise TypeError("a line must be a JSON object")
    text, where = asked.get("text"), asked.get("where", "customer")
    if not isinstance(text, str):
        raise TypeError("text must be a string")
    if where not in _WHERE:
        raise ValueError(f"where must be one of {', '.join(_WHERE)}")
    verdict = inspect(text, _WHERE[where], tripwire)
    return {"id": asked.get("id"), "verdict": verdict.verdict, "reasons": list(verdict.reasons)}


def main() -> None:
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    for answer in answers(sys.stdin, load()):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()  # somebody may be waiting for each answer


if __name__ == "__main__":
    main()
