"""The HTTP API of operating: tasks that wait for a person, and the daily comparison of the books."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from common.http import Problem
from toolgateway.access import Access, read_body
from toolgateway.adapters import operations
from toolgateway.apidocs import COMPARE, COMPARED, TASK, TASK_CLOSE, answers, body, rows
from toolgateway.core.tasks import read_why, shown_task, why_not_close
from toolgateway.handlers import Parts

# A day and not less: the whole of both books is read.
_DAY_S = 86_400.0


def router(parts: Parts, access: Access) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["operating"])

    @routes.get("/v1/tasks", responses=answers(401, 403, 422, ok=rows(TASK)))
    async def list_tasks(
        request: Request, status: str = "open", limit: Annotated[int, Query(ge=1, le=1000)] = 200
    ) -> Response:
        """What waits for a person, the oldest first; or what was closed, the newest first."""
        access.service(request, "approvals", "reconciler")
        if status not in ("open", "closed"):
            raise Problem(422, "status is open or closed")
        found = await operations.list_tasks(parts.pool, open_ones=status == "open", limit=limit)
        return JSONResponse({"items": [shown_task(task) for task in found]})

    @routes.post(
        "/v1/tasks/{task_id}/close",
        openapi_extra=body(TASK_CLOSE),
        responses=answers(401, 403, 404, 409, 413, 422, ok=TASK),
    )
    async def close_task(task_id: int, request: Request) -> Response:
        """Close a task as the lead whose statement is passed on; who and why are recorded."""
        person = access.staff(request)
        why = read_why((await read_body(request)).get("why"))
        if why is None:
            raise Problem(422, "why says in words how it was finished")
        if (refusal := why_not_close(person)) is not None:
            raise Problem(403, refusal)
        if not 0 < task_id < 2**63 or await operations.load_task(parts.pool, task_id) is None:
            raise Problem(404, "there is no such task")
        closed = await operations.close_task(parts.pool, task_id, f"staff:{person.staff}", why)
        if closed is None:
            raise Problem(409, "somebody has closed it already")
        return JSONResponse(shown_task(closed))

    @routes.post(
        "/v1/books/compare",
        openapi_extra=body(COMPARE),
        responses=answers(401, 403, 413, 422, ok=COMPARED),
    )
    async def compare(request: Request) -> Response:
        """Have the books compared unless that was done within ``not_within_s`` or is under way; waits for nothing."""
        access.service(request, "reconciler")
        not_within_s = _seconds((await read_body(request)).get("not_within_s", _DAY_S))
        begun = await parts.comparing.begin(not_within_s)
        if begun is not None:
            parts.background.start(parts.comparing.run(begun))
        last = await operations.last_comparison(parts.pool)
        return JSONResponse(
            {
                "begun": begun is not None,
                "last": last and {**last, **{n: last[n].isoformat() for n in ("started_at", "ended_at")}},
                "open_tasks": await operations.count_open_tasks(parts.pool),
            }
        )

    return routes


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 31 * _DAY_S:
        raise Problem(422, "not_within_s is a number of seconds, at most a month")
    return float(value)
