"""Composition root: builds the classifier, the producer and the one consumer, and runs them until told to stop."""

import asyncio

from fastapi import FastAPI

from common import http
from common.consumer import Consumer, Received, Subscription
from common.events import CustomerMessage
from common.producer import Producer
from common.service import until_stopped
from common.settings import BusSettings
from common.telemetry import get_logger
from common.topics import MESSAGES
from router.adapters.classifier import Classifier, LocalClassifier
from router.adapters.heads import read_card
from router.adapters.local import LocalReader, load_reader
from router.handlers import HANDLERS, Desk
from router.settings import Settings

_log = get_logger()


async def main(stop: asyncio.Event) -> None:
    """Run the router; returns after a graceful stop: no new batch, the one in hand published and committed."""
    settings, bus = Settings(), BusSettings()
    reader = await asyncio.to_thread(load_reader, settings.model_dir, settings.cached_texts)
    version = str(read_card(settings.model_dir)["version"])
    _log.info("classifier loaded", model=version, encoder=reader.encoder.name, classifier=settings.classifier)
    if reader.encoder.name == "hash":
        _log.error("the sentence encoder can't be used; the weak fallback answers", encoder=reader.encoder.name)
    classifier = build_classifier(settings, reader)
    producer = Producer(bus.kafka_bootstrap, bus.topic_prefix, bus.kafka_tls_dir)
    await producer.start()
    desk = Desk(classifier, producer, version)
    consumer = Consumer(bus, producer, [subscription(desk, settings.batch_messages)])
    try:
        serving = http.serve(build_health(consumer), settings.host, settings.port, stop)
        await until_stopped(stop, consumer_life(consumer), serving)
    finally:
        await consumer.stop()
        await producer.stop()
        await classifier.close()


def build_classifier(settings: Settings, reader: LocalReader) -> Classifier:
    """Return the configured classifier; the model's falls back to the local one."""
    local = LocalClassifier(reader)
    if settings.classifier == "local":
        return local
    import anthropic  # noqa: PLC0415 - a second of start-up and 60 MB that the default classifier needn't pay

    from router.adapters.llm import LlmClassifier  # noqa: PLC0415 - as above

    # One try within the time-out: a late answer is worth less than the local one now.
    client = anthropic.AsyncAnthropic(max_retries=0)
    return LlmClassifier(client, settings.llm_model, settings.llm_timeout_s, local)


def subscription(desk: Desk, batch_messages: int) -> Subscription[CustomerMessage]:
    """Return the router's only subscription; whole batches, because one encoder call serves them all."""

    async def handle(batch: list[Received[CustomerMessage]]) -> None:
        await HANDLERS[MESSAGES.name](desk, batch)

    return Subscription(MESSAGES, "router", CustomerMessage, handle, lanes=False, max_records=batch_messages)


def build_health(consumer: Consumer) -> FastAPI:
    """Return the app that answers ``/livez``, ``/readyz`` and ``/metrics``."""
    app = FastAPI(title="router", docs_url=None, openapi_url=None)

    async def ready() -> dict[str, bool]:
        return {"kafka": consumer.joined}

    http.health_routes(app, ready, alive=lambda: not consumer.stalled())
    return app


async def consumer_life(consumer: Consumer) -> None:
    """Join the group, then wait to be cancelled; the consumer reads in tasks of its own."""
    await consumer.start()
    await asyncio.Event().wait()
