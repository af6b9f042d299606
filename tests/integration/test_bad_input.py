"""Malformed events and malformed requests get a clear no; nothing stops and nothing is lost."""

import asyncio
import json
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from common import topics
from stack import tokens
from tests.integration.world import until

READERS = {
    topics.CHANNEL_INBOUND: 1,
    topics.MESSAGES: 1,
    topics.WORK_FIXED: 1,
    topics.WORK_RAG: 1,
    topics.WORK_AGENT: 1,
    topics.WORK_HUMAN: 1,
    topics.REPLIES: 2,
    topics.HANDOFFS: 1,
    topics.APPROVALS_REQUESTED: 1,
    topics.APPROVALS_DECIDED: 1,
    topics.LEDGER_ACTIONS: 2,
    topics.ACCOUNTS_CHANGED: 1,
}


async def test_malformed_events_on_every_topic_are_dead_lettered_whole_and_their_partitions_move_on(world: Any) -> None:
    kafka, mark = world.stack["KAFKA_BOOTSTRAP"], secrets.token_hex(6).encode()
    bad = [b"{not json " + mark, b'{"conversation_id":"' + mark + b'"}', b"\xff\xfe" + mark, None]
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    consumer = AIOKafkaConsumer(
        *(t.dlq for t in READERS), bootstrap_servers=kafka, auto_offset_reset="earliest", group_id=None
    )
    await producer.start()
    await consumer.start()
    try:
        for topic in READERS:
            for value in bad:
                await producer.send_and_wait(topic.name, value, key=mark, headers=[("event_id", b"\xff")])
        found: dict[tuple[str, bytes | None], int] = {}
        wanted = {(t.dlq, value): n for t, n in READERS.items() for value in bad}

        async def arrived() -> bool:
            for records in (await consumer.getmany(timeout_ms=500)).values():
                for record in records:
                    if record.key == mark:
                        found[record.topic, record.value] = found.get((record.topic, record.value), 0) + 1
            return found == wanted

        await until(arrived, "every dead letter once a group")
    finally:
        await producer.stop()
        await consumer.stop()
    customer = await world.customer()
    order = await world.order(customer, "58.00", status="shipped")
    turn = await world.say(customer, f"Where is my order {order}?")
    assert order in turn.done["reply"]


BODIES = [
    b"", b"{", b"[]", b'"x"', b"null", b"{}", b"\xff\xfe", b'{"a":' * 2000,
    b'{"text":1}', b'{"text":null}', b'{"text":""}', b'{"text":"a\\u0000b"}', b'{"text":"\\ud800"}',
    b'{"args":[],"context":{}}', b'{"args":{"order_id":"4417028\\n"},"context":{}}',
    b'{"decision":"maybe"}', b'{"token":"x"}',
]  # fmt: skip


@pytest.mark.parametrize("name", ["GATEWAY_URL", "TOOLGATEWAY_URL", "APPROVALS_URL"])
async def test_bad_input_to_every_endpoint_is_a_problem_document_and_never_a_500(world: Any, name: str) -> None:
    customer = await world.customer()
    async with world.http.get(f"{world.stack[name]}/openapi.json") as answer:
        paths = (await answer.json())["paths"]
    bearer = {
        "GATEWAY_URL": world.token(customer),
        "TOOLGATEWAY_URL": _service_token(world),
        "APPROVALS_URL": _staff_token(world),
    }[name]
    requests = [
        (method, path, body, headers)
        for path, methods in paths.items()
        for method in methods
        for body in (BODIES if method in ("post", "put", "patch") else [None])
        for headers in (
            {},
            {"Authorization": f"Bearer {bearer}", "Idempotency-Key": secrets.token_hex(8), "If-Match": '"x"',
             "X-Session-Assertion": world.assertion(customer), "Last-Event-ID": "NaN"},
        )
    ]  # fmt: skip
    gate = asyncio.Semaphore(16)

    async def ask(method: str, path: str, body: bytes | None, headers: dict[str, str]) -> None:
        url = world.stack[name] + path.replace("{", "%7B").replace("}", "%7D")
        async with (
            gate,
            world.http.request(
                method, url, data=body, headers=headers | {"Content-Type": "application/json"}
            ) as answer,
        ):
            if "event-stream" in answer.content_type:
                return
            text = await answer.text()
        assert answer.status < 500, (method, path, body, text)
        if answer.status >= 400:
            assert answer.content_type == "application/problem+json", (method, path, body, answer.status, text)
            assert json.loads(text)["detail"], (method, path)

    await asyncio.gather(*(ask(*request) for request in requests))
    assert len(requests) > 20


def _service_token(world: Any) -> str:
    return tokens.service_token(world.keys, "agent", datetime.now(UTC))


def _staff_token(world: Any) -> str:
    return tokens.staff_token(world.keys, "dana", "lead", datetime.now(UTC))
