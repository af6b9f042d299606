"""The composition root: reads top to bottom as the wiring diagram, and nothing else builds an adapter."""

import asyncio
from dataclasses import dataclass

from fastapi import FastAPI

from common import db
from common.clock import Clock, SystemClock
from common.consumer import Consumer, Received, Subscription
from common.events import ApprovalDecided
from common.http import ServiceClient, health_routes, serve
from common.ids import OrderIds
from common.inbox import forget_older_than
from common.login import LoginVerifier
from common.migrate import require_migrated
from common.outbox import Relay
from common.producer import Producer
from common.service import until_stopped
from common.statements import ServiceCredentials, Signer, Verifier
from common.stopping import WORK_GRACE_S, Deadline
from common.topics import APPROVALS_DECIDED
from toolgateway import handlers
from toolgateway.access import Access
from toolgateway.adapters import operations
from toolgateway.adapters.calls import Caller
from toolgateway.adapters.commerce import Commerce
from toolgateway.adapters.helpcenter import HelpCenter
from toolgateway.adapters.payments import Payments, SandboxPayments
from toolgateway.adapters.staff import StaffDirectory, StaffTokens
from toolgateway.api import build_api
from toolgateway.approving import Approving
from toolgateway.asking import Asking
from toolgateway.background import Background
from toolgateway.comparing import Comparing
from toolgateway.effects import Effects
from toolgateway.facts import Facts
from toolgateway.hooks import Hooks
from toolgateway.policy import load_rollout
from toolgateway.proposals import Proposals
from toolgateway.runner import Runner
from toolgateway.settings import Settings

_SCHEMA = "ledger"
_HISTORY_MONTHS = 12
_A_DAY_S = 86_400.0
# Longer than the provider or any topic could still deliver an event again.
_INBOX_DAYS = 40


@dataclass(frozen=True)
class Built:
    """What main runs: the API, its parts, and what has to be closed."""

    api: FastAPI
    parts: handlers.Parts
    payments: Payments
    clients: tuple[Caller | StaffTokens, ...]

    async def close(self) -> None:
        """Close what wiring opened."""
        for client in self.clients:
            await client.close()


def _caller(system: str, url: str, timeout_s: float, per_second: float) -> Caller:
    return Caller(system, ServiceClient(url, timeout_s=timeout_s), per_second=per_second, tries=3)


def _payments(settings: Settings, caller: Caller, commerce: Commerce) -> Payments:
    if settings.payments_provider == "sandbox":
        return SandboxPayments(caller, settings.payments_webhook_secret, timeout_s=settings.payments_timeout_s)
    # Imported where it is chosen: the SDK takes a third of a second to load.
    from toolgateway.adapters.stripe_payments import StripePayments  # noqa: PLC0415

    async def payment_of(order_id: str) -> str | None:
        order = await commerce.load_order(order_id)
        return order.payment_id if order else None

    return StripePayments(
        caller,
        payment_of,
        api_key=settings.payments_api_key,
        webhook_secret=settings.payments_webhook_secret,
        timeout_s=settings.payments_timeout_s,
        base_url=settings.payments_url or None,
    )


def build(settings: Settings, pool: db.Database, clock: Clock) -> Built:
    """Wire everything that answers a request, from an open pool."""
    verifier = Verifier.from_file(settings.keys_dir / "trusted.jwks.json")
    signer = Signer.from_file("toolgateway", settings.keys_dir / "toolgateway.pem")
    patience = settings.patience
    timeout_s = settings.commerce_timeout_s

    orders = _caller("orders", settings.commerce_url, timeout_s, settings.reads_per_s)
    accounts = _caller("accounts", settings.commerce_url, timeout_s, settings.reads_per_s)
    shipping = _caller("shipping", settings.commerce_url, timeout_s, settings.reads_per_s)
    provider = _caller("payments", settings.payments_url, patience.timeout_s, settings.payments_per_s)
    approvals = _caller("approvals", settings.approvals_url, 2.0, 100)
    staff_login = LoginVerifier(settings.staff_jwks_url, settings.staff_issuer, "approvals.decided")
    help_center = _caller("help_center", settings.help_center_url, 5.0, 100)

    commerce = Commerce(orders, accounts, shipping, timeout_s=patience.timeout_s)
    payments = _payments(settings, provider, commerce)
    facts = Facts(commerce, payments)
    rollout = load_rollout(settings.policy_file, settings.policy_candidate_file, settings.policy_candidate_percent)
    asking = Asking(facts, rollout, clock)
    directory = StaffDirectory(approvals, ServiceCredentials(signer, "approvals.service"), clock)
    parts = handlers.Parts(
        pool=pool,
        clock=clock,
        order_ids=OrderIds(settings.order_id_pattern),
        facts=facts,
        asking=asking,
        proposals=Proposals(pool, asking, claim_s=patience.claim_s, approval_s=settings.approvals_deadline_s),
        runner=Runner(pool, Effects(commerce, payments), patience, facts.addresses_before),
        approving=Approving(
            pool, asking, directory, claim_s=patience.claim_s, approval_s=settings.approvals_deadline_s
        ),
        help_center=HelpCenter(
            help_center if settings.help_center_url else None, "", ServiceCredentials(signer, "agent.service"), clock
        ),
        staff_tokens=StaffTokens(staff_login),
        background=Background(),
        comparing=Comparing(pool, payments),
        inline_s=settings.inline_s,
        link_hosts=settings.link_hosts,
    )
    api = build_api(parts, Access(verifier, clock), Hooks(pool, payments), patience)
    closing = (orders, accounts, shipping, provider, approvals, help_center, parts.staff_tokens)
    return Built(api, parts, payments, closing)


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Run the service until ``stop`` is set."""
    pool = await db.open_pool(settings.database_url, _SCHEMA, max_size=settings.pool_size)
    await require_migrated(pool, _SCHEMA)
    producer = Producer(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_tls_dir)
    await producer.start()
    built = build(settings, pool, SystemClock())

    async def decided(batch: list[Received[ApprovalDecided]]) -> None:
        await handlers.on_approvals_decided(built.parts, batch)

    consumer = Consumer(settings, producer, [Subscription(APPROVALS_DECIDED, "toolgateway", ApprovalDecided, decided)])

    async def ready() -> dict[str, bool]:
        return {"database": await _answers(pool), "kafka": consumer.joined}

    health_routes(built.api, ready, alive=lambda: not consumer.stalled())
    try:
        await until_stopped(
            stop,
            serve(built.api, settings.host, settings.port, stop),
            Relay(settings.database_url, _SCHEMA, producer).run(),
            _consume(consumer),
            _keep_history(pool),
        )
    finally:
        # Payments under way go on while the handlers end: both have the same seconds, not one after the other.
        work = Deadline(WORK_GRACE_S)
        await consumer.stop()
        await built.parts.background.drain(work.left_s())
        await built.close()
        await producer.stop()
        await pool.close()


async def _consume(consumer: Consumer) -> None:
    await consumer.start()
    await asyncio.Event().wait()


async def _keep_history(pool: db.Database) -> None:
    """Have next months' partitions ready and old dedupe rows gone, once a day."""
    while True:
        await operations.prepare_history(pool, _HISTORY_MONTHS)
        async with pool.acquire() as conn:
            await forget_older_than(conn, _INBOX_DAYS)
        await asyncio.sleep(_A_DAY_S)


async def _answers(pool: db.Database) -> bool:
    try:
        return bool(await pool.fetchval("select true", timeout=2))
    except db.UNAVAILABLE:
        return False
