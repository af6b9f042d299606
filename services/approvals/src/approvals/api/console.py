"""The staff console's pages and its live hints, and what other services ask about staff."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from approvals.adapters import store
from approvals.adapters.changes import Changes
from approvals.api.access import Access
from common import db
from common.http import Problem

_STATIC = Path(__file__).parent.parent / "static"
_FILES = {"console.css": "text/css", "console.js": "text/javascript"}
# Customer text is shown as text: nothing but our own script runs, and nothing is loaded from elsewhere.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def console_router(access: Access, changes: Changes, pool: db.Database) -> APIRouter:
    """Build ``/``, its two files, ``/v1/me``, ``/v1/changes`` and ``/v1/internal/staff/{staff}``."""
    router = APIRouter(tags=["console"])

    @router.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(_STATIC / "index.html", media_type="text/html", headers=_HEADERS)

    @router.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _FILES:
            raise Problem(404, "no such file")
        return FileResponse(_STATIC / name, media_type=_FILES[name], headers=_HEADERS)

    @router.get("/v1/me")
    async def me(request: Request) -> dict[str, Any]:
        staff = await access.staff(request)
        ceiling = None if staff.ceiling is None else str(staff.ceiling)
        return {"staff": staff.staff, "role": staff.role, "ceiling": ceiling}

    @router.get("/v1/changes")
    async def live(request: Request) -> EventSourceResponse:
        await access.staff(request)

        async def hints() -> AsyncIterator[ServerSentEvent]:
            yield ServerSentEvent(data="", event="hello")
            async for what in changes.watch():
                yield ServerSentEvent(data=what, event="changed")

        return EventSourceResponse(hints(), ping=15)

    @router.get("/v1/internal/staff/{staff}")
    async def staff_member(request: Request, staff: str) -> dict[str, Any]:
        access.service(request)
        async with pool.acquire() as conn:
            row = await store.load_staff(conn, staff.replace("\x00", ""))
        if row is None:
            raise Problem(404, "nobody of that name has signed in")
        ceiling = None if row["ceiling"] is None else str(row["ceiling"])
        return {"staff": row["staff"], "role": row["role"], "ceiling": ceiling, "active": row["active"]}

    return router
