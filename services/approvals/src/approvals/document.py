"""The committed OpenAPI document: printed by ``python -m approvals openapi``, compared by a test."""

import json
from typing import Any

from approvals.app import build_api


def text() -> str:
    """Return the document as it is committed; nothing needs to run for it."""
    # Routes only hold on to their parts; describing them calls none.
    nothing: Any = None
    app = build_api(nothing, nothing, nothing, nothing, nothing)
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
