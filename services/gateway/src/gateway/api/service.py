"""The HTTP application: every route, problem documents for every error, OpenAPI."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from common.http import health_routes, install_problem_handlers
from gateway.api import conversations, hooks, internal, page, visitors
from gateway.api.documents import BEARER_SCHEME, install_rejections


@dataclass(frozen=True)
class Routes:
    """The four groups of routes, wired."""

    desk: conversations.Desk
    visitors: visitors.Visitors
    hooks: hooks.Hooks
    internal: internal.Internal


def build_api(routes: Routes, ready: Callable[[], Awaitable[dict[str, bool]]], alive: Callable[[], bool]) -> FastAPI:
    """Return the application."""
    # No interactive docs: their page loads scripts from elsewhere.
    app = FastAPI(title="Gateway", version="1", docs_url=None, redoc_url=None)
    install_problem_handlers(app)
    install_rejections(app)
    health_routes(app, ready, alive)
    app.include_router(conversations.router(routes.desk))
    app.include_router(visitors.router(routes.visitors))
    app.include_router(hooks.router(routes.hooks))
    app.include_router(internal.router(routes.internal))
    app.include_router(page.router())
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document; the same code gives the same document."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        document.setdefault("components", {})["securitySchemes"] = {"bearer": BEARER_SCHEME}
        app.openapi_schema = document
    return app.openapi_schema
