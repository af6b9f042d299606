"""`python -m agent.check_reply`: hold replies against facts, one JSON line in, one JSON line out, in order."""

import json
import sys
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.core.claims import Facts, check_reply


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=False)

    language: str
    reply: str
    facts: Facts


def answer(line: str) -> dict[str, object]:
    """Judge one input line; one that cannot be read gives `{"id", "error"}`, id null when even that is unreadable."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as unreadable:
        return {"id": None, "error": f"not JSON: {unreadable}"}
    identity = raw.get("id") if isinstance(raw, dict) else None
    try:
        given = _Line.model_validate(raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        return {"id": identity, "error": f"{'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}"}
    checked = check_reply(given.reply, given.language, given.facts)
    return {
        "id": identity,
        "holds": checked.holds,
        "claims": [c.model_dump(exclude_none=True, exclude={"why"}) for c in checked.claims],
    }


def run(lines: IO[str], out: IO[str]) -> None:
    """Answer every non-blank line."""
    for line in lines:
        if line.strip():
            out.write(json.dumps(answer(line), ensure_ascii=False) + "\n")
            out.flush()


if __name__ == "__main__":
    # undecodable bytes become one bad line's error instead of ending the run
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    run(sys.stdin, sys.stdout)
