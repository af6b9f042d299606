"""The wiring of one deployment, from top to bottom; nothing else builds an adapter or reads the environment."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from fastapi import FastAPI
from redis.asyncio import Redis

from agent.adapters.claim_readers import load_reader
from agent.adapters.customers import Customers
from agent.adapters.gateway import ChannelGateway
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import ClaimedRun, RunStore
from agent.adapters.search_index import SearchIndex, build_index
from agent.adapters.sessions import Sessions
from agent.adapters.tokens import RedisTokenCounter
from agent.adapters.toolgateway import Toolgateway
from agent.core.handoff import HandOver
from agent.core.limits import Limits
from agent.core.retrieval.grounding import check_grounding
from agent.fixed import FixedFlow
from agent.handlers import LOOP_GROUP, RAG_GROUP, fixed_handlers, loop_handlers, rag_handlers
from agent.housekeeping import Housekeeping
from agent.intake import Intake
from agent.loop.catalogue import Catalogue
from agent.loop.handing_over import hand_over
from agent.loop.parts import Parts
from agent.loop.play import play_agent_run
from agent.loop.tools import book_unseen_rows
from agent.outcomes import Outcomes
from agent.owner_api import owner_routes
from agent.rag import PolicyAnswers
from agent.search_api import passages_of, search_routes
from agent.settings import AgentSettings, BusSettings, Part, ProviderSettings
from agent.summaries import Summaries
from agent.worker import PlayRun, Worker
from common import db, service
from common.clock import SystemClock
from common.consumer import Consumer, Received, Subscription
from common.guard import Guard
from common.guard.layered import LayeredGuard
from common.guard.local import LocalGuard
from common.guard.model import ModelGuard
from common.guard.remote import HttpGuard
from common.http import ServiceClient, health_routes, install_problem_handlers, serve
from common.ids import OrderIds
from common.migrate import require_migrated
from common.models import ModelGateway, Provider, RedisQuotas
from common.outbox import Relay
from common.producer import Producer
from common.settings import refuse_stand_ins
from common.statements import ServiceCredentials, Signer, Verifier
from common.topics import WORK_AGENT, WORK_RAG

PARTS: tuple[Part, ...] = ("fixed", "rag", "loop")
ROUTES: dict[Part, tuple[str, ...]] = {"fixed": ("fixed", "human"), "rag": ("rag",), "loop": ("agent",)}


@dataclass(frozen=True)
class House:
    """What all three deployments are built from."""

    settings: AgentSettings
    bus: BusSettings
    providers: ProviderSettings
    clock: SystemClock
    pool: db.Database
    runs: RunStore
    producer: Producer
    redis: "Redis"
    verifier: Verifier
    tools: Toolgateway
    ledger: Ledger
    sessions: Sessions
    customers: Customers
    exit: AsyncExitStack


@dataclass(frozen=True)
class Deployment:
    """What one deployment reads, how it answers a claimed run, and what it does beside them."""

    subscriptions: Sequence[Subscription[Any]]
    play: PlayRun
    on_the_side: Callable[[], Awaitable[bool]] | None = None
    index: SearchIndex | None = None
    look_up: Callable[[ClaimedRun], Awaitable[None]] | None = None


async def main(part: Part, stop: asyncio.Event) -> None:
    """Run one deployment until ``stop``."""
    async with AsyncExitStack() as stack:
        house = await _build_house(AgentSettings(), BusSettings(), ProviderSettings(), stack)
        deployment = _build_deployment(part, house)
        worker = Worker(
            name=f"agent-{part}:{socket.gethostname()}:{os.getpid()}",
            routes=ROUTES[part],
            runs=house.runs,
            clock=house.clock,
            play=deployment.play,
            give_up=_give_up(house),
            claim_ttl_s=house.settings.claim_ttl_s,
            most_at_once=house.settings.most_runs_at_once,
            look_up=deployment.look_up,
            on_the_side=deployment.on_the_side,
        )
        consumer = Consumer(house.bus, house.producer, [_waking(s, worker) for s in deployment.subscriptions])
        api = _build_api(house, consumer, deployment.index)
        relay = Relay(house.settings.database_url, "support", house.producer)
        background = [relay.run(), worker.run(), serve(api, house.settings.host, house.settings.port, stop)]
        if part == "fixed":
            settings = house.settings
            tidy = Housekeeping(house.pool, house.clock, settings.quiet_ask_after_s, settings.quiet_close_after_s)
            background.append(tidy.run())
        await consumer.start()
        stack.push_async_callback(consumer.stop)
        await service.until_stopped(stop, *background)


async def _build_house(
    settings: AgentSettings, bus: BusSettings, providers: ProviderSettings, stack: AsyncExitStack
) -> House:
    if bus.profile != "dev":
        refuse_stand_ins([*settings, *providers])
    clock = SystemClock()
    pool = await db.open_pool(settings.database_url, "support")
    stack.push_async_callback(pool.close)
    await require_migrated(pool, "support")
    claims = await db.open_pool(settings.database_url, "support", min_size=1, max_size=1)
    stack.push_async_callback(claims.close)
    producer = Producer(bus.kafka_bootstrap, bus.topic_prefix, bus.kafka_tls_dir)
    await producer.start()
    stack.push_async_callback(producer.stop)
    # Who asks it bounds the wait; the client's own bound would start a task for every command it sends.
    redis = Redis.from_url(bus.redis_url, socket_timeout=None, socket_connect_timeout=0.25)
    stack.push_async_callback(redis.aclose)
    signer = Signer.from_file("agent", bus.keys_dir / "agent.pem")
    verifier = Verifier.from_file(bus.keys_dir / "trusted.jwks.json")
    tools_client = _client(stack, settings.toolgateway_url, settings.tool_timeout_s)
    gateway = ChannelGateway(
        _client(stack, settings.gateway_url, 3.0), ServiceCredentials(signer, "gateway.service"), clock
    )
    tools = Toolgateway(
        tools_client,
        ServiceCredentials(signer, "toolgateway.service"),
        clock,
        timeout_s=settings.tool_timeout_s,
        lookup_timeout_s=settings.lookup_timeout_s,
    )
    sessions = Sessions(gateway, clock)
    return House(
        settings=settings,
        bus=bus,
        providers=providers,
        clock=clock,
        pool=pool,
        runs=RunStore(pool, claims),
        producer=producer,
        redis=redis,
        verifier=verifier,
        tools=tools,
        ledger=Ledger(tools, clock),
        sessions=sessions,
        customers=Customers(tools, sessions),
        exit=stack,
    )


def _build_deployment(part: Part, house: House) -> Deployment:
    staff = house.settings.staff
    # Hours that never open would be found out by the first customer who needs a person.
    staff.back_at(house.clock.now())
    if part == "fixed":
        flow = FixedFlow(
            pool=house.pool,
            runs=house.runs,
            tools=house.tools,
            ledger=house.ledger,
            sessions=house.sessions,
            customers=house.customers,
            producer=house.producer,
            order_ids=OrderIds(house.settings.order_id_pattern),
            clock=house.clock,
            staff=staff,
            lookup_timeout_s=house.settings.lookup_timeout_s,
        )
        outcomes = Outcomes(house.pool, house.customers, house.ledger, house.clock, staff)
        return Deployment(fixed_handlers(flow, outcomes), flow.play)
    models, index = _build_models(house), build_index()
    if part == "rag":
        intake = Intake(RAG_GROUP, house.pool, house.runs, house.producer, house.clock, staff)
        answers = PolicyAnswers(
            pool=house.pool,
            runs=house.runs,
            customers=house.customers,
            ledger=house.ledger,
            index=index,
            models=models,
            tokens=RedisTokenCounter(house.redis),
            guard=build_guard(house.settings, house.providers, models, house.exit),
            is_grounded=lambda answer, passages, question: check_grounding(answer, passages, question).ok,
            clock=house.clock,
            small_model=house.settings.small_model,
            reader=load_reader(),
            staff=staff,
            limits=_limits(house.settings),
        )
        return Deployment(rag_handlers(intake), answers.play, index=index)
    parts = _build_loop(house, models, index)
    intake = Intake(LOOP_GROUP, house.pool, house.runs, house.producer, house.clock, staff)
    summaries = Summaries(house.pool, models, RedisTokenCounter(house.redis), house.clock, parts.limits)
    return Deployment(
        loop_handlers(intake),
        lambda run: play_agent_run(parts, run),
        summaries.write_one,
        index,
        lambda run: book_unseen_rows(parts, run),
    )


def _build_loop(house: House, models: ModelGateway, index: SearchIndex) -> Parts:
    settings = house.settings
    limits = _limits(settings)
    return Parts(
        pool=house.pool,
        runs=house.runs,
        tools=house.tools,
        ledger=house.ledger,
        catalogue=Catalogue(house.tools, limits, (settings.large_model, settings.second_large_model)),
        sessions=house.sessions,
        customers=house.customers,
        models=models,
        tokens=RedisTokenCounter(house.redis),
        guard=build_guard(house.settings, house.providers, models, house.exit),
        help_passages=lambda question, language: passages_of(index, question, language),
        clock=house.clock,
        limits=limits,
        staff=settings.staff,
        reader=load_reader(),
    )


def _limits(settings: AgentSettings) -> Limits:
    return Limits(
        model_calls_per_message=settings.model_calls_per_message,
        tokens_per_conversation=settings.tokens_per_conversation,
        turn_budget_s=settings.turn_budget_s,
    )


def _build_models(house: House) -> ModelGateway:
    # The SDKs cost two seconds to import, which the fixed flow, back after a crash, must not wait for.
    from common.models.anthropic_wire import AnthropicProvider  # noqa: PLC0415
    from common.models.openai_wire import OpenAIProvider  # noqa: PLC0415

    settings, keys = house.settings, house.providers
    providers: list[Provider] = []
    if keys.anthropic_api_key:
        providers.append(
            AnthropicProvider(
                keys.anthropic_api_key,
                {"large": settings.large_model, "small": settings.small_model},
                keys.anthropic_base_url or None,
                settings.model_silence_s,
            )
        )
    if keys.openai_api_key:
        providers.append(
            OpenAIProvider(
                keys.openai_api_key,
                {"large": settings.second_large_model, "small": settings.second_small_model},
                keys.openai_base_url or None,
                settings.model_silence_s,
            )
        )
    models = ModelGateway(providers, house.clock, RedisQuotas(house.redis, settings.model_calls_per_minute))
    house.exit.push_async_callback(models.close)
    return models


def build_guard(
    settings: AgentSettings, providers: ProviderSettings, models: ModelGateway, stack: AsyncExitStack
) -> Guard:
    """The guard that ``AGENT_GUARD`` names; whichever it is, no answer in time is "down"."""
    match settings.guard or ("remote" if providers.guard_url else "local"):
        case "local":
            return LocalGuard()
        case "remote":
            if not providers.guard_url:
                raise ValueError("AGENT_GUARD=remote needs GUARD_URL")
            remote = HttpGuard(providers.guard_url)
            stack.push_async_callback(remote.close)
            return remote
        case "llm":
            # What rules and tripwire find costs nothing; the model is asked only about what they let pass.
            return LayeredGuard(LocalGuard(), ModelGuard(models, settings.guard_model_timeout_s))


def _build_api(house: House, consumer: Consumer, index: SearchIndex | None) -> FastAPI:
    app = FastAPI(title="agent", docs_url=None, redoc_url=None)
    install_problem_handlers(app)
    app.include_router(
        owner_routes(house.pool, house.runs, house.verifier, house.clock, house.settings, ledger=house.ledger)
    )
    if index is not None:
        app.include_router(search_routes(index, house.verifier, house.clock))

    async def ready() -> dict[str, bool]:
        try:
            database = await house.pool.fetchval("select 1", timeout=1) == 1
        except (*db.UNAVAILABLE,):
            database = False
        return {"database": database, "kafka": consumer.joined}

    health_routes(app, ready, alive=lambda: not consumer.stalled())
    return app


def _waking(subscription: Subscription[Any], worker: Worker) -> Subscription[Any]:
    """Have the worker look for what was just taken in for it; the fixed flow leaves it only what has to wait anyway."""
    if subscription.topic not in (WORK_RAG, WORK_AGENT):
        return subscription

    async def handle(batch: list[Received[Any]]) -> None:
        await subscription.handler(batch)
        worker.wake()

    return replace(subscription, handler=handle)


def _give_up(house: House) -> Callable[[ClaimedRun, str], Awaitable[None]]:
    async def give_up(run: ClaimedRun, why: str) -> None:
        over = HandOver("stuck", why)
        await hand_over(
            house.runs,
            house.customers,
            house.clock,
            run,
            over,
            ledger=house.ledger,
            route=run.work.route,
            notice="handoff_no_model",
            staff=house.settings.staff,
        )

    return give_up


def _client(stack: AsyncExitStack, url: str, timeout_s: float) -> ServiceClient:
    client = ServiceClient(url, timeout_s=timeout_s)
    stack.push_async_callback(client.close)
    return client
