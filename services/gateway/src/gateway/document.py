"""The committed OpenAPI document: printed by `python -m gateway openapi`, compared by a test."""

import json
from types import SimpleNamespace
from typing import cast

from gateway.api.service import Routes, build_api, openapi


def text() -> str:
    """Return the document as it is committed; nothing needs to run for it."""

    async def nothing_runs() -> dict[str, bool]:
        return {}

    unwired = cast("Routes", SimpleNamespace(desk=None, visitors=None, hooks=None, internal=None))
    document = openapi(build_api(unwired, nothing_runs, lambda: True))
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
