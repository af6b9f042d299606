"""The wiring diagram of approvals, top to bottom; nothing else builds an adapter."""

import asyncio

from fastapi import FastAPI

from approvals.adapters.changes import Changes
from approvals.adapters.neighbours import Conversations, Ledger
from approvals.api.access import Access
from approvals.api.console import console_router
from approvals.api.decisions import decisions_router
from approvals.api.desk import Desk
from approvals.api.handoffs import handoffs_router
from approvals.handlers import Handlers
from approvals.settings import Settings
from common import db
from common.clock import SystemClock
from common.consumer import Consumer, Subscription
from common.events import ActionChanged, ApprovalRequested, HandoffOpened
from common.http import ServiceClient, health_routes, install_problem_handlers, serve
from common.login import LoginVerifier
from common.migrate import require_migrated
from common.outbox import Relay
from common.producer import Producer
from common.service import until_stopped
from common.statements import ServiceCredentials, Signer, Verifier
from common.topics import APPROVALS_REQUESTED, HANDOFFS, LEDGER_ACTIONS


def build_api(access: Access, desk: Desk, ledger: Ledger, changes: Changes, pool: db.Database) -> FastAPI:
    """Build the HTTP API from its parts."""
    app = FastAPI(
        title="Approvals", version="1", description="Staff decisions, handoffs and the console.", docs_url=None
    )
    install_problem_handlers(app)
    app.include_router(decisions_router(access, ledger, pool))
    app.include_router(handoffs_router(desk))
    app.include_router(console_router(access, changes, pool))
    return app


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Run approvals until ``stop``."""
    clock = SystemClock()
    pool = await db.open_pool(settings.database_url, "approvals")
    await require_migrated(pool, "approvals")
    signer = Signer.from_file("approvals", settings.keys_dir / "approvals.pem")
    verifier = Verifier.from_file(settings.keys_dir / "trusted.jwks.json")
    login = LoginVerifier(settings.staff_jwks_url, settings.staff_issuer, "approvals")

    toolgateway = ServiceClient(settings.toolgateway_url, timeout_s=30)
    agent = ServiceClient(settings.agent_url, timeout_s=5)
    ledger = Ledger(toolgateway, ServiceCredentials(signer, "toolgateway.service"), signer, clock)
    conversations = Conversations(agent, ServiceCredentials(signer, "agent.service"), clock)

    access = Access(login, verifier, pool, clock, settings)
    desk = Desk(access, pool, conversations, ledger, clock, settings.claim_lease_s)
    changes = Changes(settings.database_url)
    app = build_api(access, desk, ledger, changes, pool)

    producer = Producer(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_tls_dir)
    await producer.start()
    relay = Relay(settings.database_url, "approvals", producer)
    handlers = Handlers(pool, settings.claim_lease_s)
    consumer = Consumer(
        settings,
        producer,
        [
            Subscription(
                APPROVALS_REQUESTED,
                "approvals-requests",
                ApprovalRequested,
                handlers.on_approval_requested,
                lanes=False,
            ),
            Subscription(HANDOFFS, "approvals-handoffs", HandoffOpened, handlers.on_handoff_opened, lanes=False),
            Subscription(LEDGER_ACTIONS, "approvals-ledger", ActionChanged, handlers.on_action_changed, lanes=False),
        ],
    )

    async def ready() -> dict[str, bool]:
        return {"consumer": consumer.joined, "database": not pool.is_closing(), "running": not stop.is_set()}

    health_routes(app, ready, alive=lambda: not consumer.stalled())
    await consumer.start()
    try:
        await until_stopped(stop, serve(app, settings.host, settings.port, stop), relay.run(), changes.run())
    finally:
        await consumer.stop()
        await producer.stop()
        for client in (toolgateway, agent, login):
            await client.close()
        await pool.close()
