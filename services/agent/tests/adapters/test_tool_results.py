"""What a store's records hold that no checkpoint can: it goes no further than the tool gateway's adapter."""

from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.adapters.toolgateway import Toolgateway
from common.clock import SystemClock
from common.http import ServiceClient
from common.statements import ServiceCredentials, Signer


async def test_signs_that_no_database_can_store_are_left_out_of_results_and_rows(keys: Path) -> None:
    async def tool(_request: web.Request) -> web.Response:
        order = {"order_id": "4417028", "lines": [{"title": "glass\x00 blender \ud83d"}]}
        return web.json_response({"status": "ok", "result": order})

    async def rows(_request: web.Request) -> web.Response:
        return web.json_response({"items": [{"key": "refund:4417028:L2", "policy_reason": "a\x00b"}]})

    app = web.Application()
    app.router.add_post("/v1/tools/get_order", tool)
    app.router.add_get("/v1/actions", rows)
    server = TestServer(app)
    await server.start_server()
    client = ServiceClient(str(server.make_url("")), timeout_s=2.0)
    clock: Any = SystemClock()
    credentials = ServiceCredentials(Signer.from_file("agent", keys / "agent.pem"), "toolgateway.service")
    tools = Toolgateway(client, credentials, clock)
    try:
        for found in (await tools.call("get_order", {}, {}, None), await tools.look_up("get_order", {}, "token")):
            assert found["result"]["lines"] == [{"title": "glass blender "}]
        assert (await tools.list_actions("conv_1"))[0]["policy_reason"] == "ab"
    finally:
        await client.close()
        await server.close()
