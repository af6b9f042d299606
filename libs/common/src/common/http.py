"""HTTP as every service speaks it: problem documents, health, and a client whose failures say what happened."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import aiohttp
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from common import db
from common.errors import OutcomeUnknown, Transient
from common.stopping import HTTP_GRACE_S
from common.telemetry import get_logger, pass_on_trace, trace_headers

PROBLEM_JSON = "application/problem+json"
_log = get_logger()


class Problem(Exception):  # noqa: N818 - RFC 9457's own word
    """An answer that is a problem document (RFC 9457)."""

    def __init__(
        self, status: int, detail: str, *, title: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers
        self.title = title or HTTPStatus(status).phrase


def problem(
    status: int, detail: str, *, title: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """Return a problem document with ``detail`` written for whoever has to act on it."""
    body = {"type": "about:blank", "title": title or HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(body, status_code=status, headers=headers, media_type=PROBLEM_JSON)


def install_problem_handlers(app: FastAPI) -> None:
    """Make every error of ``app`` a problem document: broken JSON is 400, wrong fields 422, no database 503."""

    @app.exception_handler(Problem)
    async def on_problem(_: Request, e: Problem) -> JSONResponse:
        return problem(e.status, e.detail, title=e.title, headers=e.headers)

    @app.exception_handler(HTTPException)
    async def on_http(_: Request, e: HTTPException) -> JSONResponse:
        return problem(e.status_code, str(e.detail), headers=dict(e.headers) if e.headers else None)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(_: Request, e: RequestValidationError) -> JSONResponse:
        errors = e.errors()
        if any(error["type"] == "json_invalid" for error in errors):
            return problem(400, "the body is not valid JSON")
        return problem(422, "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors[:5]))

    # It may have gone in the very moment of the commit.
    handle_database_away(
        app, "the database is away, and whether anything was stored can't be said: look, or send the same again"
    )

    @app.exception_handler(Exception)
    async def on_bug(request: Request, e: Exception) -> JSONResponse:
        _log.error("unhandled error", path=request.url.path, error=type(e).__name__, exc_info=e)
        return problem(500, "something went wrong on our side")


def handle_database_away(app: FastAPI, detail: str, *, title: str | None = None) -> None:
    """Answer 503 with ``detail`` while the database is away; a later call replaces an earlier one."""

    async def on_database_away(_: Request, e: Exception) -> JSONResponse:
        _log.warning("request refused, the database is away", error=type(e).__name__)
        return problem(503, detail, title=title, headers={"Retry-After": "1"})

    for kind in db.UNAVAILABLE:
        app.add_exception_handler(cast("type[Exception]", kind), on_database_away)


def health_routes(
    app: FastAPI, ready: Callable[[], Awaitable[dict[str, bool]]], alive: Callable[[], bool] = lambda: True
) -> None:
    """Add ``/livez`` (no dependency), ``/readyz`` (each named part) and ``/metrics``."""

    @app.get("/livez", include_in_schema=False)
    async def livez() -> Response:
        return PlainTextResponse("ok" if alive() else "stalled", status_code=200 if alive() else 503)

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        parts = await ready()
        return JSONResponse(parts, status_code=200 if all(parts.values()) else 503)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def in_callers_trace(app: ASGIApp) -> ASGIApp:
    """Send on, from every request, the trace its caller named; a collector's spans are the framework's own."""

    async def traced(scope: Scope, receive: Receive, send: Send) -> None:
        with pass_on_trace(_trace_of(scope.get("headers", ()))):
            await app(scope, receive, send)

    return traced


def _trace_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        if name in (b"traceparent", b"tracestate"):
            # Several tracestates are one list; several traceparents become none.
            key, text = name.decode(), value.decode("latin-1")
            found[key] = f"{found[key]},{text}" if key in found else text
    return found


async def serve(app: FastAPI, host: str, port: int, stop: asyncio.Event) -> None:
    """Serve ``app`` until ``stop`` is set; open streams get three seconds to end."""
    config = uvicorn.Config(
        in_callers_trace(app),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=round(HTTP_GRACE_S),
        lifespan="off",
    )
    server = uvicorn.Server(config)
    # The process's own signal handling decides when to stop; uvicorn only follows.
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]
    serving = asyncio.create_task(server.serve())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and not stop.is_set():
            raise RuntimeError(f"cannot serve on {host}:{port}")
    finally:
        # Reached by a cancellation too: open requests still get their few seconds.
        stopping.cancel()
        server.should_exit = True
        await serving


@dataclass(frozen=True)
class Reply:
    """An HTTP answer: its status and its JSON body (text where it isn't JSON)."""

    status: int
    body: Any
    headers: Mapping[str, str]


class ServiceClient:
    """Calls one other service. No retry here: who calls knows whether the call may be repeated."""

    def __init__(self, base_url: str, *, timeout_s: float, connections: int = 100) -> None:
        self._base = base_url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(timeout_s, 2.0))
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the pooled connections."""
        if self._session is not None:
            await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send one request. Raises Transient when it never left, OutcomeUnknown when its answer was lost."""
        session = self._open()
        # Exactly this long: aiohttp rounds its waits up to whole seconds, which a caller's last moment has no room for.
        exact = aiohttp.ClientTimeout(total=timeout_s, sock_connect=2.0, ceil_threshold=math.inf)
        limit = exact if timeout_s else self._timeout
        try:
            async with session.request(
                method,
                self._base + path,
                json=json,
                params=params,
                headers={**trace_headers(), **(headers or {})},
                timeout=limit,
            ) as response:
                is_json = "json" in response.content_type
                body = await (response.json(content_type=None) if is_json else response.text())
                return Reply(response.status, body, response.headers)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as e:
            raise Transient(f"{self._base} is not reachable") from e
        except (aiohttp.ClientError, TimeoutError, ValueError) as e:
            raise OutcomeUnknown(f"{method} {path} got no usable answer: {type(e).__name__}") from e

    def _open(self) -> aiohttp.ClientSession:
        # Opened at the first call, since a session belongs to the loop that runs it.
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=self._connections))
        return self._session
