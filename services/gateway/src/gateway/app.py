"""Composition root: reads top to bottom as the gateway's wiring diagram."""

import asyncio
import contextlib
import socket
from dataclasses import dataclass

from cryptography.hazmat.primitives import serialization
from fastapi import FastAPI
from redis.asyncio import Redis

from common import db
from common.clock import Clock, SystemClock
from common.consumer import Consumer
from common.http import serve
from common.ids import new_id
from common.login import LoginVerifier
from common.migrate import require_migrated
from common.outbox import Relay
from common.producer import Producer
from common.service import until_stopped
from common.statements import Signer, Verifier
from gateway.adapters.agents import Agents
from gateway.adapters.chats import Chats
from gateway.adapters.code_store import CodeBook
from gateway.adapters.contexts import Contexts
from gateway.adapters.directory import CommerceDirectory, Directory
from gateway.adapters.events import Events
from gateway.adapters.hub import Hub, Neighbours
from gateway.adapters.limits import Limiter, open_redis
from gateway.adapters.login import Login, TokenVerifier
from gateway.adapters.postman import Mail, Postman, StoreMail
from gateway.api.conversations import Desk
from gateway.api.hooks import Hooks
from gateway.api.internal import Internal
from gateway.api.service import Routes, build_api
from gateway.api.visitors import Visitors
from gateway.channels import Channels, Lifetimes
from gateway.core.codes import pepper_of
from gateway.handlers import Inbound, Notices, Replies, subscriptions
from gateway.intake import Intake
from gateway.settings import Settings


@dataclass(frozen=True)
class Outside:
    """The store's systems, so that tests can put their own in their place."""

    login: TokenVerifier
    directory: Directory
    mail: Mail


@dataclass(frozen=True)
class Gateway:
    """The wired parts that have to be run."""

    app: FastAPI
    events: Events
    hub: Hub
    postman: Postman
    neighbours: Neighbours
    relay: Relay
    producer: Producer
    consumer: Consumer
    redis: "Redis | None"

    async def close(self) -> None:
        """Close what wiring opened."""
        if self.redis is not None:
            await self.redis.aclose()


def wire(settings: Settings, pool: db.Database, outside: Outside, clock: Clock) -> Gateway:
    """Put the parts together; nothing is started."""
    instance = f"{socket.gethostname()}-{new_id('gw')}"
    private_pem = (settings.keys_dir / "gateway.pem").read_text()
    signer = Signer("gateway", private_pem)
    redis = open_redis(settings.redis_url)

    hub = Hub()
    neighbours = Neighbours(settings.database_url, hub, instance)
    events = Events(pool, instance, neighbours.alone)
    codes = CodeBook(pepper_of(private_pem), settings.code_s, settings.code_tries_per_h, settings.codes_per_h)
    intake = Intake(
        pool,
        Chats(pool),
        events,
        signer,
        codes,
        clock=clock,
        assertion_s=settings.assertion_s,
        step_up_s=settings.step_up_s,
    )
    login = Login(outside.login, signer, private_pem, clock)
    contexts = Contexts(redis, settings.topic_prefix)
    postman = Postman(pool, outside.mail, outside.directory, codes)
    lifetimes = Lifetimes(settings.carry_on_s, settings.verified_thread_s)
    channels = Channels(
        intake, login=login, directory=outside.directory, contexts=contexts, postman=postman, lifetimes=lifetimes
    )

    producer = Producer(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_tls_dir)
    consumer = Consumer(
        settings, producer, subscriptions(Replies(events, hub, postman), Inbound(channels), Notices(pool, postman))
    )

    messages = Limiter(redis, name=f"{settings.topic_prefix}messages", limit=settings.messages_per_10s)
    newcomers = Limiter(redis, name=f"{settings.topic_prefix}visitors", limit=settings.visitors_per_10s)
    agents = Agents(settings.agent_url, signer, clock)
    own_public = serialization.load_pem_private_key(private_pem.encode(), None).public_key()
    routes = Routes(
        desk=Desk(login, intake, events, hub, messages, contexts, agents, settings.heartbeat_s),
        visitors=Visitors(login, newcomers, settings.visitor_token_s),
        hooks=Hooks(channels, settings.hook_secret),
        internal=Internal(intake, Verifier.from_file(settings.keys_dir / "trusted.jwks.json"), postman, own_public),
    )

    async def ready() -> dict[str, bool]:
        return {"database": await _answers(pool), "kafka": consumer.joined}

    return Gateway(
        app=build_api(routes, ready, lambda: not consumer.stalled()),
        events=events,
        hub=hub,
        postman=postman,
        neighbours=neighbours,
        relay=Relay(settings.database_url, "gateway", producer),
        producer=producer,
        consumer=consumer,
        redis=redis,
    )


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Serve until ``stop``."""
    clock = SystemClock()
    login = LoginVerifier(settings.login_jwks_url, settings.login_issuer, settings.login_audience)
    directory, mail = CommerceDirectory(settings.commerce_url), StoreMail(settings.mail_url)
    async with contextlib.AsyncExitStack() as closing:
        pool = await db.open_pool(settings.database_url, "gateway", max_size=settings.database_pool, plan_once=True)
        closing.push_async_callback(pool.close)
        await require_migrated(pool, "gateway")
        for client in (login, directory, mail):
            closing.push_async_callback(client.close)
        gateway = wire(settings, pool, Outside(login, directory, mail), clock)
        closing.push_async_callback(gateway.close)
        await gateway.producer.start()
        closing.push_async_callback(gateway.producer.stop)
        await gateway.consumer.start()
        closing.push_async_callback(gateway.consumer.stop)
        await _serve_until_stopped(gateway, settings, stop)


async def _serve_until_stopped(gateway: Gateway, settings: Settings, stop: asyncio.Event) -> None:
    """Serve beside the background parts; one that fails ends the process, and a stop lets the server finish first."""

    async def background() -> None:
        try:
            await until_stopped(stop, gateway.neighbours.run(), gateway.relay.run(), gateway.postman.run())
        finally:
            # Open streams end at once: their clients go on elsewhere with Last-Event-ID.
            gateway.hub.close()
            stop.set()

    parts = asyncio.create_task(background())
    try:
        await serve(gateway.app, settings.host, settings.port, stop)
    finally:
        stop.set()
        await parts


async def _answers(pool: db.Database) -> bool:
    try:
        return bool(await pool.fetchval("select true", timeout=2))
    except db.UNAVAILABLE:
        return False
