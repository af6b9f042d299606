"""The wiring diagram of the reconciler, top to bottom."""

import asyncio
from dataclasses import replace
from functools import partial

from fastapi import FastAPI

from common.clock import SystemClock
from common.errors import Transient
from common.http import ServiceClient, health_routes, install_problem_handlers, serve
from common.service import until_stopped
from common.statements import ServiceCredentials, Signer
from common.telemetry import get_logger
from reconciler.adapters.owners import Agent, Toolgateway
from reconciler.core.thresholds import check_threshold
from reconciler.handlers import HANDLERS, Jobs, repeat
from reconciler.settings import Settings

_log = get_logger()


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Run the reconciler until ``stop``."""
    clock = SystemClock()
    signer = Signer.from_file("reconciler", settings.keys_dir / "reconciler.pem")
    toolgateway_http = ServiceClient(settings.toolgateway_url, timeout_s=60)
    agent_http = ServiceClient(settings.agent_url, timeout_s=10)
    toolgateway = Toolgateway(toolgateway_http, ServiceCredentials(signer, "toolgateway.service"), signer, clock)
    agent = Agent(agent_http, ServiceCredentials(signer, "agent.service"), clock)
    jobs = Jobs(settings, toolgateway, agent)
    checked = asyncio.Event()

    async def work() -> None:
        await _check_limits(settings, toolgateway, agent)
        checked.set()
        loops = (repeat(name, partial(job, jobs), settings.every_s) for name, job in HANDLERS.items())
        await asyncio.gather(*loops)

    async def ready() -> dict[str, bool]:
        return {"limits_checked": checked.is_set(), "running": not stop.is_set()}

    app = FastAPI(title="Reconciler", version="1", docs_url=None, openapi_url=None)
    install_problem_handlers(app)
    health_routes(app, ready)
    try:
        await until_stopped(stop, serve(app, settings.host, settings.port, stop), work())
    finally:
        await toolgateway_http.close()
        await agent_http.close()


async def _check_limits(settings: Settings, toolgateway: Toolgateway, agent: Agent) -> None:
    """Ask both owners how long they may be busy; raises Refused when our threshold is below that."""
    while True:
        try:
            limits = replace(await toolgateway.limits(), run_claim_s=await agent.claim_ttl_s())
        except Transient as e:
            _log.info("waiting for the owners", reason=e.reason)
            await asyncio.sleep(0.5)
            continue
        check_threshold(settings.pending_after_s, limits)
        return
