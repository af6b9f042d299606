"""A customer's record over real HTTP: asked for by session or by ledger key, and None for whatever isn't an answer."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.adapters.toolgateway import Toolgateway
from common.clock import SystemClock
from common.http import ServiceClient
from common.statements import ServiceCredentials, Signer

RECORD = {"name": "Maya", "tier": "standard", "lifetime_value": "120.00", "open_tickets": []}


@pytest.fixture
async def asked(keys: Path) -> AsyncIterator[tuple[Toolgateway, list[tuple[str | None, str | None]], list[int]]]:
    seen: list[tuple[str | None, str | None]] = []
    statuses: list[int] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.match_info.get("key"), request.headers.get("X-Session-Assertion")))
        status = statuses.pop(0) if statuses else 200
        body = {**RECORD, "customer_id": "C-1001", "email": "maya@example.com"} if status == 200 else {"title": "no"}
        return web.json_response(body, status=status)

    app = web.Application()
    app.router.add_get("/v1/customer", answer)
    app.router.add_get("/v1/actions/{key}/customer", answer)
    server = TestServer(app)
    await server.start_server()
    client = ServiceClient(str(server.make_url("")), timeout_s=2.0)
    signer = Signer.from_file("agent", keys / "agent.pem")
    clock: Any = SystemClock()
    yield Toolgateway(client, ServiceCredentials(signer, "toolgateway.service"), clock), seen, statuses
    await client.close()
    await server.close()


async def test_a_session_and_a_ledger_key_bring_what_a_packet_says_and_no_more(asked: Any) -> None:
    tools, seen, _ = asked
    assert await tools.load_customer("a.session.token") == RECORD
    assert seen.pop() == (None, "a.session.token")
    for key in ("refund:4417028:L2", "refund:%231001:L%2F2~2"):
        assert await tools.load_customer_of(key) == RECORD
        assert seen.pop() == (key, None)


@pytest.mark.parametrize("status", [401, 403, 404, 503])
async def test_whatever_is_no_record_is_none(asked: Any, status: int) -> None:
    tools, _, statuses = asked
    statuses[:] = [status, status]
    assert await tools.load_customer("a.session.token") is None
    assert await tools.load_customer_of("refund:4417028:L2") is None


async def test_a_tool_gateway_that_is_gone_is_none_too(asked: Any, keys: Path) -> None:
    gone = ServiceClient("http://127.0.0.1:1", timeout_s=1.0)
    signer = Signer.from_file("agent", keys / "agent.pem")
    tools = Toolgateway(gone, ServiceCredentials(signer, "toolgateway.service"), SystemClock())
    assert await tools.load_customer_of("refund:4417028:L2") is None
    await gone.close()
