"""The queue of handoffs as a process of its own, beside the real owner API: two services, one conversation."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from agent.adapters.handoff_store import HandoffDraft, insert_handoff
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import RunStore
from agent.adapters.sending import enqueue_replies
from agent.core.packet import Case
from agent.core.state import Memory
from agent.owner_api import owner_routes
from agent.settings import AgentSettings
from common import db
from common.clock import SystemClock
from common.http import install_problem_handlers, serve
from common.statements import Verifier
from stack import tokens
from stack.keys import public_jwk
from stack.ports import free_port


class NoRows:
    """A tool gateway in whose ledger nothing has happened."""

    async def list_actions(self, _conversation_id: str) -> list[dict[str, Any]]:
        return []


async def begin(pool: db.Database) -> None:
    """Open ``conv_1``, the agent's."""
    await pool.execute(
        "insert into conversations (id, customer_id, channel, language) values ('conv_1', 'C-1001', 'chat', 'en')"
    )


async def hand_over(pool: db.Database) -> str:
    """The agent hands ``conv_1`` over, as a run does: row, owner and event in one transaction; returns the id."""
    async with pool.acquire() as conn, conn.transaction():
        version = await conn.fetchval("select owner_version from conversations where id = 'conv_1' for update")
        case = Case("asked", "wants a person", "en", "asks_for_human", "C-1001")
        draft = HandoffDraft("conv_1", f"msg_{version}", case, Memory(), "chat", None, "en")
        opened = await insert_handoff(conn, draft, version, datetime.now(UTC))
        assert opened is not None, "only what is the agent's is handed over"
        await enqueue_replies(conn, (), datetime.now(UTC), handoff=opened)
    return opened.handoff_id


async def until(found: Callable[[], Awaitable[Any]], what: str, within_s: float = 30) -> Any:
    """Look until ``found`` returns something true."""
    give_up_at = time.monotonic() + within_s
    while time.monotonic() < give_up_at:
        if seen := await found():
            return seen
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what} not within {within_s:.0f} s")


@dataclass
class AgentApi:
    """The agent service's API over HTTP, with the staff login's keys; it stops and starts at one address."""

    app: FastAPI
    port: int = field(default_factory=free_port)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _serving: "asyncio.Task[None] | None" = None

    async def start(self) -> None:
        self._stop = asyncio.Event()
        self._serving = asyncio.create_task(serve(self.app, "127.0.0.1", self.port, self._stop))
        await until(self._up, "the agent service's API")

    async def stop(self) -> None:
        self._stop.set()
        if self._serving is not None:
            await self._serving

    async def _up(self) -> bool:
        return await answers(self.port, "/staff-login/jwks.json")


@dataclass
class Desk:
    """``support`` and ``approvals`` are the two services' schemas; ``staff`` acts as a member of staff would."""

    support: db.Database
    approvals: db.Database
    agent: AgentApi
    keys: Path
    environment: dict[str, str]
    port: int
    _process: asyncio.subprocess.Process | None = None

    async def start(self, crash_at: str = "") -> None:
        """Start approvals, to be killed where ``crash_at`` says."""
        env = {**os.environ, **self.environment, "CRASH_POINT": crash_at}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "approvals", env=env, stdout=subprocess.DEVNULL
        )
        await until(lambda: answers(self.port, "/readyz"), "approvals")

    async def died(self) -> int:
        """Wait for its end by itself; returns the code."""
        assert self._process is not None
        code = await asyncio.wait_for(self._process.wait(), 20)
        self._process = None
        return code

    async def end(self) -> None:
        """Make sure that it is gone."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def post(self, path: str, staff: str = "dana") -> httpx2.Response:
        token = tokens.staff_token(self.keys, staff, "approver", datetime.now(UTC))
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=20) as http:
            return await http.post(f"/v1/{path}", json={}, headers={"Authorization": f"Bearer {token}"})

    async def row(self, handoff_id: str) -> tuple[str, str | None] | None:
        """Return the queue's status and owner."""
        row = await self.approvals.fetchrow("select status, owner from handoffs where id = $1", handoff_id)
        return (row["status"], row["owner"]) if row is not None else None

    async def owner(self) -> tuple[str, str]:
        """Return the agent service's status and owner."""
        row = await self.support.fetchrow("select status, owner from conversations where id = 'conv_1'")
        assert row is not None
        return row["status"], row["owner"]


async def answers(port: int, path: str) -> bool:
    with suppress(httpx2.TransportError):
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"http://127.0.0.1:{port}{path}")).status_code == 200
    return False


def agent_app(pool: db.Database, keys: Path) -> FastAPI:
    app = FastAPI()
    install_problem_handlers(app)
    settings = AgentSettings(database_url="-", port=1, toolgateway_url="-", gateway_url="-")
    verifier = Verifier.from_file(keys / "trusted.jwks.json")
    tools: Any = NoRows()
    ledger = Ledger(tools, SystemClock())
    app.include_router(owner_routes(pool, RunStore(pool), verifier, SystemClock(), settings, ledger=ledger))

    @app.get("/staff-login/jwks.json")
    async def jwks() -> dict[str, Any]:
        return {"keys": [public_jwk(keys, "stafflogin")]}

    return app
