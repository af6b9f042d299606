"""The service as a process on a real Kafka: in by one topic, out by four, a bad record aside, a clean stop."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime

import aiohttp
import pytest
from aiokafka import AIOKafkaConsumer

from common.events import CustomerMessage, WorkItem
from common.ids import derived_id
from common.producer import Producer
from common.topics import MESSAGES, WORK_BY_ROUTE, Topic

# A loaded machine may need a minute to start a process; a healthy one needs three seconds.
_PATIENCE_S = 110.0
_AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def _message(number: int, text: str) -> CustomerMessage:
    return CustomerMessage(
        conversation_id=f"conv_{number}", message_id=f"msg_{number}", seq=1, text=text, channel="chat", received_at=_AT
    )


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
async def process(
    kafka_bootstrap: str,
    topic_prefix: str,
    port: int,
    make_topics: Callable[[Iterable[Topic]], Awaitable[None]],
) -> AsyncIterator[asyncio.subprocess.Process]:
    await make_topics([MESSAGES, *WORK_BY_ROUTE.values()])
    settings = {"KAFKA_BOOTSTRAP": kafka_bootstrap, "TOPIC_PREFIX": topic_prefix, "ROUTER_PORT": str(port)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROUTER_", "CRASH_"))}
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "router", env=environment | settings | {"PROFILE": "dev"}
    )
    await _until_ready(port)
    yield started
    if started.returncode is None:
        started.kill()
        await started.wait()


async def _until_ready(port: int) -> None:
    async with aiohttp.ClientSession() as http, asyncio.timeout(_PATIENCE_S):
        while True:
            try:
                async with http.get(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)


@pytest.mark.timeout(300)
async def test_messages_are_routed_a_bad_one_is_set_aside_and_the_stop_is_clean(
    process: asyncio.subprocess.Process, kafka_bootstrap: str, topic_prefix: str, port: int
) -> None:
    producer = Producer(kafka_bootstrap, topic_prefix)
    await producer.start()
    await producer.send_raw(MESSAGES.name, b"conv_x", b"{not json", [])
    texts = {
        1: "I want to talk to a human",
        2: "¿Cuántos días tengo para devolver un producto?",
        3: "My lawyer will call you",
    }
    for number, text in texts.items():
        await producer.send(MESSAGES, f"conv_{number}", _message(number, text), event_id=f"e{number}", occurred_at=_AT)
    wanted = [topic_prefix + topic.name for topic in WORK_BY_ROUTE.values()] + [topic_prefix + MESSAGES.dlq]
    consumer = AIOKafkaConsumer(*wanted, bootstrap_servers=kafka_bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    items: dict[str, tuple[str, WorkItem, str]] = {}
    dead = []
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while len(items) < len(texts) or not dead:
                record = await consumer.getone()
                if record.topic.endswith(".dlq"):
                    dead.append(record.value)
                    continue
                item = WorkItem.model_validate_json(record.value)
                event_id = dict(record.headers)["event_id"].decode()
                items[item.message.conversation_id] = (record.topic.removeprefix(topic_prefix), item, event_id)
    finally:
        await consumer.stop()
        await producer.stop()
    assert dead == [b"{not json"]
    assert items["conv_1"][0] == items["conv_3"][0] == "support.work.human.v1"
    assert items["conv_2"][1].intent == "policy_question"
    assert items["conv_2"][1].language == "es"
    assert items["conv_3"][1].flags[0] == "sensitive:legal"
    assert {key: event_id for key, (_, _, event_id) in items.items()} == {
        f"conv_{number}": derived_id("router", f"e{number}") for number in texts
    }
    async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}/metrics") as answer:
        assert "router_decisions_total" in await answer.text()
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), _PATIENCE_S) == 0
