"""`python -m common.guard.measure FILE`: recall and false alarms of the whole guard on labelled texts, by source.

FILE holds JSON Lines {"text", "label": 0 or 1, "source"?, "lang"?, "channel"?: "message" or a tool result's kind}.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from common.guard.inspection import inspect
from common.guard.tripwire import Tripwire, load
from common.guard.verdict import Where


def shares(rows: list[dict[str, Any]], tripwire: Tripwire) -> list[tuple[str, int, int]]:
    """(group, flagged, all) for each source and label and for each language and label, sorted by name."""
    flagged: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows:
        where: Where = "customer" if row.get("channel", "message") == "message" else "tool_result"
        hit = inspect(row["text"], where, tripwire).verdict == "flagged"
        kind = "injection" if row["label"] else "harmless"
        for group in (f"{kind} {row.get('source', 'all')}", f"{kind} [{row.get('lang', '?')}]", f"{kind} TOTAL"):
            total[group] += 1
            flagged[group] += hit
    return [(group, flagged[group], total[group]) for group in sorted(total)]


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    for group, hits, count in shares([json.loads(line) for line in lines if line.strip()], load()):
        sys.stdout.write(f"{group:44} {hits:5} / {count:5}  {hits / count:6.1%}\n")


if __name__ == "__main__":
    main()
