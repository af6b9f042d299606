"""The HTTP API: each route verifies who calls, reads the body, and hands over to a handler."""

import json
from typing import Annotated, Any

import asyncpg
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response

from common.errors import Malformed, Verdict
from common.http import Problem, install_problem_handlers, problem
from toolgateway import handlers, operating
from toolgateway.access import Access, read_body, read_context
from toolgateway.adapters import store
from toolgateway.apidocs import DECISION, ROW, TOOL_ANSWER, TOOL_CALL, TOOL_LIST, WEBHOOK, answers, body, rows
from toolgateway.approving import Decision, NotDecided
from toolgateway.core.actions import ledger_columns
from toolgateway.core.catalogue import tool_catalogue
from toolgateway.hooks import Hooks
from toolgateway.runner import Patience

_STATUS = {"missing": 404, "forbidden": 403, "stale": 409, "unavailable": 503}
_LISTED = {"pending", "awaiting_approval", "succeeded", "rejected", "failed"}
_CATALOGUE = json.dumps({"tools": tool_catalogue()}, ensure_ascii=False, separators=(",", ":")).encode()


def build_api(parts: handlers.Parts, access: Access, hooks: Hooks, patience: Patience) -> FastAPI:
    """Return the application; health routes are added by app.py."""
    app = FastAPI(title="Tool gateway", version="1", docs_url=None, redoc_url=None)
    install_problem_handlers(app)
    app.add_exception_handler(asyncpg.NoDataFoundError, _on_erased)
    app.include_router(_tools(parts, access))
    app.include_router(_ledger(parts, access, patience))
    app.include_router(_approvals(parts, access))
    app.include_router(_hooks(parts, hooks))
    app.include_router(operating.router(parts, access))
    return app


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # The plain encoder is several times quicker than the framework's walk over values that are JSON already.
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(raw, status_code=status, headers=headers, media_type="application/json")


async def _on_erased(_: Request, _e: Exception) -> Response:
    """A call that was under way when its conversation was erased; the ledger's trigger let nothing be written."""
    return problem(410, "the conversation was erased: nothing more is done in it")


def _key(key: str) -> str:
    if "\x00" in key:
        raise Problem(404, "there is no such row")
    return key


def _tools(parts: handlers.Parts, access: Access) -> APIRouter:
    router = APIRouter(tags=["tools"])

    @router.get("/v1/tools", responses=answers(401, ok=TOOL_LIST))
    async def list_tools(request: Request) -> Response:
        """The tools as the model is shown them."""
        access.service(request)
        return Response(_CATALOGUE, media_type="application/json")

    @router.post(
        "/v1/tools/{name}",
        openapi_extra=body(TOOL_CALL),
        responses=answers(401, 403, 404, 410, 413, 422, 503, ok=TOOL_ANSWER),
    )
    async def call_tool(name: str, request: Request) -> Response:
        """Call a tool for the customer of the one statement that is passed on."""
        asker = access.asker(request, name)
        called = await read_body(request)
        if "args" not in called:
            raise Problem(422, "args is required")
        return _json(await handlers.call_tool(parts, name, called["args"], asker, read_context(called)))

    @router.get("/v1/customer", responses=answers(401, 403, 404, 503))
    async def get_customer(request: Request) -> Response:
        """What a handoff packet says of the signed-in customer, or of the one a member of staff serves."""
        return await _customer(parts, access.customer(request).customer_id)

    return router


async def _customer(parts: handlers.Parts, customer_id: str | None) -> Response:
    try:
        customer = await handlers.load_customer(parts, customer_id)
    except Verdict as e:
        raise Problem(503, "the account system is not answering") from e
    if customer is None:
        raise Problem(404, "there is no such customer")
    return _json(customer)


def _ledger(parts: handlers.Parts, access: Access, patience: Patience) -> APIRouter:
    router = APIRouter(tags=["ledger"])

    @router.get("/v1/actions", responses=answers(401, 403, 422, ok=rows(ROW)))
    async def list_actions(request: Request, conversation_id: Annotated[str, Query(max_length=200)]) -> Response:
        """A conversation's ledger rows, oldest first."""
        access.service(request, "agent", "approvals", "reconciler")
        return _json({"items": await handlers.list_actions(parts, conversation_id.replace("\x00", ""))})

    @router.get("/v1/actions/{key}", responses=answers(401, 403, 404, ok=ROW))
    async def get_action(key: str, request: Request) -> Response:
        """One ledger row."""
        access.service(request, "agent", "approvals", "reconciler")
        row = await store.load_action(parts.pool, _key(key))
        if row is None:
            raise Problem(404, "there is no such row")
        return _json(ledger_columns(row), headers={"ETag": f'"{row.version}"'})

    @router.get("/v1/actions/{key}/customer", responses=answers(401, 403, 404, 503))
    async def get_customer_of(request: Request, key: str) -> Response:
        """What a handoff packet says of a row's customer: a row that changes by itself has nobody's session with it."""
        access.service(request, "agent")
        row = await store.load_action(parts.pool, _key(key))
        return await _customer(parts, None if row is None else row.customer_id)

    @router.post("/v1/actions/{key}/resume", responses=answers(401, 403, 404, ok=ROW))
    async def resume(key: str, request: Request) -> Response:
        """Finish a pending row that nobody works on; a waiting or final one is only returned."""
        named = access.job(request)
        row = await store.load_action(parts.pool, _key(key))
        if row is None or (named is not None and (row.order_id or row.customer_id, row.kind) != named):
            raise Problem(404, "no such row, or not the one the job statement names")
        after, worked = await handlers.resume_action(parts, key)
        return _json(ledger_columns(after or row) | {"resumed": worked})

    @router.get("/v1/reconcile/pending", responses=answers(401, 403, 422, ok=rows(ROW)))
    async def pending(
        request: Request,
        older_than_s: Annotated[float, Query(ge=0, le=1e9)] = 300.0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> Response:
        """Pending rows that nobody works on, the stalest first."""
        access.service(request, "reconciler")
        found = await store.list_hanging(parts.pool, older_than_s, limit)
        return _json({"items": [ledger_columns(row) for row in found]})

    @router.get("/v1/limits", responses=answers(401))
    async def limits(request: Request) -> Response:
        """How long a live worker may hold a row: what the reconciler's threshold must stay above (R7)."""
        access.service(request)
        return _json(
            {"provider_timeout_s": patience.timeout_s, "tries": patience.tries, "claim_ttl_s": patience.claim_s}
        )

    return router


def _approvals(parts: handlers.Parts, access: Access) -> APIRouter:
    router = APIRouter(tags=["approvals"])

    @router.get("/v1/approvals", responses=answers(401, 403, 422, ok=rows(ROW)))
    async def list_approvals(
        request: Request, status: str = "awaiting_approval", limit: Annotated[int, Query(ge=1, le=1000)] = 200
    ) -> Response:
        """Rows in one status, oldest first."""
        access.service(request, "approvals", "agent", "reconciler")
        if status not in _LISTED:
            raise Problem(422, "no such status")
        found = await store.list_by_status(parts.pool, status, limit)
        return _json({"items": [ledger_columns(row) for row in found]})

    @router.post("/v1/approvals/escalate-overdue", responses=answers(401, 403))
    async def escalate(request: Request) -> Response:
        """Put rows past their deadline before the leads, under a new version."""
        access.service(request, "reconciler")
        keys = await parts.approving.escalate_overdue()
        return _json({"escalated": len(keys), "keys": keys})

    @router.get("/v1/approvals/{key}", responses=answers(401, 403, 404, ok=ROW))
    async def get_approval(key: str, request: Request) -> Response:
        """One row, with its version as the ETag."""
        access.service(request, "approvals", "agent", "reconciler")
        row = await store.load_action(parts.pool, _key(key))
        if row is None:
            raise Problem(404, "there is no such row")
        return _json(ledger_columns(row), headers={"ETag": f'"{row.version}"'})

    @router.post(
        "/v1/approvals/{key}/decision",
        openapi_extra=body(DECISION),
        responses=answers(401, 403, 404, 409, 413, 422, 503, ok=ROW),
    )
    async def decide(key: str, request: Request) -> Response:
        """Approve or reject a waiting row as the member of staff whose statement is passed on."""
        person = access.staff(request)
        decision = _decision(await read_body(request))
        outcome = await handlers.decide_approval(parts, person, _key(key), decision)
        if isinstance(outcome, NotDecided):
            raise Problem(_STATUS[outcome.why], outcome.reason)
        return _json(ledger_columns(outcome), headers={"ETag": f'"{outcome.version}"'})

    return router


def _decision(asked: dict[str, Any]) -> Decision:
    version, what, note, digest = (asked.get(name) for name in ("version", "decision", "note", "digest"))
    if what not in ("approve", "reject"):
        raise Problem(422, "decision is approve or reject")
    if not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 2**31:
        raise Problem(422, "version is the row's version")
    if not isinstance(note, str | None) or not isinstance(digest, str | None):
        raise Problem(422, "note and digest are text")
    return Decision(version, what, (note or "").replace("\x00", "")[:2_000], digest)


def _hooks(parts: handlers.Parts, hooks: Hooks) -> APIRouter:
    router = APIRouter(tags=["hooks"])

    @router.post("/v1/hooks/payments", openapi_extra=body(WEBHOOK), responses=answers(400, 503))
    async def payments(request: Request) -> Response:
        """The payment provider's signed webhooks: 503 asks for another delivery."""
        try:
            taken = await hooks.on_payment_event(request.headers, await request.body(), parts.clock.now())
        except Malformed as e:
            raise Problem(400, e.reason) from e
        except Verdict as e:
            raise Problem(503, "not now", headers={"Retry-After": "5"}) from e
        return JSONResponse({"taken": taken})

    return router
