"""Approvals on a real database, with its neighbours played over real HTTP."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from approvals.adapters.changes import Changes
from approvals.adapters.neighbours import Conversations, Ledger
from approvals.api.access import Access
from approvals.api.desk import Desk
from approvals.app import build_api
from approvals.handlers import Handlers
from approvals.settings import Settings
from common import db
from common.clock import SystemClock
from common.http import ServiceClient, problem, serve
from common.login import LoginVerifier
from common.statements import BadStatement, ServiceCredentials, Signer, StaffStatement, Verifier
from stack import tokens
from stack.databases import TestDatabase
from stack.keys import public_jwk
from stack.ports import free_port
from tests.owners.fake import FakeOwners


@dataclass
class Neighbours:
    """The toolgateway, the agent service and the staff login, as far as approvals sees them."""

    verifier: Verifier
    keys: Path
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: list[tuple[str, dict[str, Any], StaffStatement]] = field(default_factory=list)
    tool_calls: list[tuple[str, dict[str, Any], StaffStatement]] = field(default_factory=list)
    customers_asked: list[StaffStatement] = field(default_factory=list)
    # The account system accepts and doesn't answer.
    hanging: bool = False
    owners: FakeOwners = field(init=False)
    # The agent service takes nothing in ("down"), makes the move and its answer is lost ("lost"), or the owner changes
    # between being looked at and being changed ("raced").
    owners_fault: Literal["", "down", "lost", "raced"] = ""

    def __post_init__(self) -> None:
        self.owners = FakeOwners(self.verifier, SystemClock())

    def app(self) -> FastAPI:  # noqa: C901 - a table of routes
        app = FastAPI()
        app.include_router(self.owners.router())

        @app.middleware("http")
        async def down(request: Request, go_on: Any) -> Any:
            theirs = request.url.path.startswith("/v1/conversations/")
            if theirs and self.owners_fault == "down":
                return problem(503, "the database is away")
            answer = await go_on(request)
            if theirs and self.owners_fault == "raced" and request.method == "GET":
                self.owners.talks[request.url.path.split("/")[3]].owner_version += 1
            lost = theirs and self.owners_fault == "lost" and request.method == "POST"
            return (
                problem(503, "the database is away, and whether anything was stored can't be said") if lost else answer
            )

        @app.get("/staff-login/jwks.json")
        async def jwks() -> dict[str, Any]:
            return {"keys": [public_jwk(self.keys, "stafflogin")]}

        @app.get("/v1/approvals")
        async def rows(status: str) -> dict[str, Any]:
            return {"items": [row for row in self.rows.values() if row["status"] == status]}

        @app.get("/v1/approvals/{key}")
        async def row(key: str) -> Any:
            return self.rows.get(key) or problem(404, "no such row")

        @app.post("/v1/approvals/{key}/decision")
        async def decide(key: str, request: Request) -> Any:
            body = await request.json()
            statement = self._staff(request)
            self.decisions.append((key, body, statement))
            row = self.rows.get(key)
            if row is None:
                return problem(404, "no such row")
            if row["version"] != body["version"] or row["status"] != "awaiting_approval":
                return problem(409, "stale or already decided")
            row |= {
                "status": "succeeded" if body["decision"] == "approve" else "rejected",
                "version": row["version"] + 1,
            }
            return row

        @app.post("/v1/tools/{tool}")
        async def tool(tool: str, request: Request) -> Any:
            self.tool_calls.append((tool, await request.json(), self._staff(request)))
            return {"status": "succeeded", "result": {"key": "refund:1:L1"}}

        @app.get("/v1/customer")
        async def customer(request: Request) -> Any:
            self.customers_asked.append(self._staff(request))
            if self.hanging:
                await asyncio.sleep(4)
            return {"name": "Big Corp", "tier": "enterprise", "lifetime_value": "9.00", "open_tickets": []}

        @app.exception_handler(BadStatement)
        async def unsigned(_: Request, e: BadStatement) -> JSONResponse:
            return problem(401, e.reason)

        return app

    def _staff(self, request: Request) -> StaffStatement:
        now = datetime.now(UTC)
        assert self.verifier.service(request.headers["Authorization"], now, "toolgateway.service") == "approvals"
        return self.verifier.staff(request.headers.get("X-Staff-Assertion"), now)


@dataclass
class Office:
    """Approvals as its callers see it, and what stands around it."""

    http: httpx2.AsyncClient
    neighbours: Neighbours
    handlers: Handlers
    pool: db.Database
    keys: Path
    app: FastAPI

    def headers(self, staff: str = "dana", role: str = "approver", **more: str) -> dict[str, str]:
        token = tokens.staff_token(self.keys, staff, role, datetime.now(UTC))
        return {"Authorization": f"Bearer {token}", **more}


@pytest.fixture
async def office(database: TestDatabase, keys: Path) -> AsyncIterator[Office]:
    verifier = Verifier.from_file(keys / "trusted.jwks.json")
    neighbours, stop, port = Neighbours(verifier, keys), asyncio.Event(), free_port()
    around = asyncio.create_task(serve(neighbours.app(), "127.0.0.1", port, stop))
    await _until_open(port)
    url, clock = f"http://127.0.0.1:{port}", SystemClock()
    settings = Settings(
        kafka_bootstrap="unused:9", profile="dev", keys_dir=keys, database_url=database.dsn("approvals"),
        staff_jwks_url=f"{url}/staff-login/jwks.json", toolgateway_url=url, agent_url=url,
    )  # fmt: skip
    signer = Signer.from_file("approvals", keys / "approvals.pem")
    client, login = (
        ServiceClient(url, timeout_s=5),
        LoginVerifier(settings.staff_jwks_url, tokens.STAFF_ISSUER, "approvals"),
    )
    pool = await db.open_pool(settings.database_url, "approvals")
    ledger = Ledger(client, ServiceCredentials(signer, "toolgateway.service"), signer, clock)
    conversations = Conversations(client, ServiceCredentials(signer, "agent.service"), clock)
    access = Access(login, verifier, pool, clock, settings)
    desk = Desk(access, pool, conversations, ledger, clock, settings.claim_lease_s)
    app = build_api(access, desk, ledger, Changes(settings.database_url), pool)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://approvals") as http:
        yield Office(http, neighbours, Handlers(pool, settings.claim_lease_s), pool, keys, app)
    await client.close()
    await login.close()
    await pool.close()
    stop.set()
    await around


async def _until_open(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                await writer.wait_closed()
                return
