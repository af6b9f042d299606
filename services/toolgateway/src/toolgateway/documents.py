"""``python -m toolgateway.documents [--check]``: writes, or checks, the committed documents made from the code.

``openapi.json`` is the HTTP API; ``tools.json`` is what the model is shown of the tools.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

from toolgateway.access import Access
from toolgateway.api import build_api
from toolgateway.core.catalogue import tool_catalogue
from toolgateway.handlers import Parts
from toolgateway.hooks import Hooks
from toolgateway.runner import Patience

_FOLDER = Path(__file__).parents[2]


def documents() -> dict[str, str]:
    """Return each document's file name and text."""
    # Routes only hold on to their parts; describing them calls none.
    nothing: Any = None
    patience = Patience(timeout_s=5, tries=3, claim_s=16, key_retention_s=86_400, settle_s=60)
    api = build_api(cast(Parts, nothing), cast(Access, nothing), cast(Hooks, nothing), patience)
    made = {"openapi.json": api.openapi(), "tools.json": {"tools": tool_catalogue()}}
    return {name: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for name, value in made.items()}


def main(argv: list[str]) -> int:
    """Write the documents, or with ``--check`` name those that are stale; returns the exit code."""
    stale = [name for name, text in documents().items() if not _same(_FOLDER / name, text)]
    if argv == ["--check"]:
        print("\n".join(f"{name} is stale: run python -m toolgateway.documents" for name in stale) or "fresh")
        return 1 if stale else 0
    for name, text in documents().items():
        (_FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
