"""One customer's records on the topics: exported, their letters gone, everybody else's where they were."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord

from common import topics
from common.crash import arm, disarm
from common.privacy.broker import Broker
from common.privacy.records import is_theirs, mentions_them
from common.privacy.subject import Subject, without_secrets
from common.producer import Producer
from common.settings import BusSettings

MakeTopics = Callable[[Iterable[topics.Topic]], Awaitable[None]]
ADA = Subject(
    customer_id="C-1",
    addresses=frozenset({"Ada@customers.example", "+15035550101"}),
    conversations=frozenset({"conv_ada"}),
    keys=frozenset({"refund:1:L1"}),
)
TOPICS = (topics.MESSAGES, topics.HANDOFFS, topics.WORK_AGENT)
TOKEN = jwt.encode({"sub": "C-1"}, "k" * 32, algorithm="HS256")


def record(value: Any, key: str | None = None, headers: tuple[tuple[str, bytes], ...] = ()) -> ConsumerRecord:
    raw = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return ConsumerRecord("t", 0, 7, 1_764_000_000_000, 0, key.encode() if key else None, raw, None, 0, 0, headers)


THEIRS = {
    "names the customer": record({"customer_id": "C-1", "text": "x"}),
    "names them inside": record({"message": {"customer_id": "C-1"}, "route": "rag"}),
    "is of a conversation of theirs": record({"conversation_id": "conv_ada", "customer_id": None}),
    "is of such a conversation, inside": record({"message": {"conversation_id": "conv_ada"}}),
    "decides about a row of theirs": record({"key": "refund:1:L1", "note": "ok"}),
    "has such a key": record({"text": "?"}, "conv_ada"),
    "can't be read but has such a key": record(b"{broken", "conv_ada"),
    "came from their address": record({"credential": {"kind": "channel_identity", "value": "ada@CUSTOMERS.example"}}),
    "came from their number": record({"thread_ref": "+15035550101"}),
    "came under their login": record({"credential": {"kind": "session_token", "value": TOKEN}, "thread_ref": "t9"}),
}
OTHERS = {
    "quotes their id": record({"customer_id": "C-2", "text": "C-1"}),
    "quotes their address": record({"customer_id": "C-2", "thread_ref": "ada@customers.example"}),
    "has a longer id": record({"customer_id": "C-12"}),
    "is nobody's": record({"text": "Ada@customers.example"}, "conv_x"),
    "is of another in a conversation of that name": record({"customer_id": "C-2"}, "conv_ada"),
    "is no event": record([1, 2]),
    "is a number": record(b"7"),
    "is nothing": record(None),
    "has another's token": record({"credential": {"kind": "session_token", "value": "not.a.token"}}),
}


@pytest.mark.parametrize("why", THEIRS)
def test_a_record_is_theirs_that(why: str) -> None:
    assert is_theirs(THEIRS[why], ADA)


@pytest.mark.parametrize("why", OTHERS)
def test_a_record_is_anothers_that(why: str) -> None:
    assert not is_theirs(OTHERS[why], ADA)
    assert not mentions_them(OTHERS[why], ADA)


@pytest.mark.parametrize("raw", [b'{"customer_id": "C-1"', b"mail from ADA@customers.example, cut", b"(C-1)"])
def test_what_nobody_can_read_goes_when_it_names_them(raw: bytes) -> None:
    assert mentions_them(record(raw), ADA)


@pytest.mark.parametrize("raw", [b"C-12", b"XC-1", b"notada@customers.example", b"ada@customers.example.org"])
def test_a_longer_name_is_another(raw: bytes) -> None:
    assert not mentions_them(record(raw), ADA)


def test_no_token_leaves_in_an_export() -> None:
    hidden = without_secrets({"message": {"assertion": "eyJ", "text": "hi"}, "list": [{"credential": {"value": "x"}}]})
    assert hidden == {"message": {"assertion": "[secret]", "text": "hi"}, "list": [{"credential": "[secret]"}]}


class KilledError(Exception):
    """Stands for the end of the process."""


async def die() -> None:
    raise KilledError


# ---- on a real broker ----
@pytest.fixture
async def bus(kafka_bootstrap: str, topic_prefix: str, make_topics: MakeTopics) -> BusSettings:
    await make_topics(TOPICS)
    return BusSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)


@pytest.fixture
async def broker(bus: BusSettings) -> AsyncIterator[Broker]:
    made = Broker(bus, TOPICS)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def producer(bus: BusSettings) -> AsyncIterator[Producer]:
    made = Producer(bus.kafka_bootstrap, bus.topic_prefix)
    await made.start()
    yield made
    await made.stop()


async def held(bus: BusSettings, name: str) -> list[ConsumerRecord]:
    """Everything a topic holds, read by a client that knows nothing of ours."""
    consumer = AIOKafkaConsumer(
        bus.topic_prefix + name, bootstrap_servers=bus.kafka_bootstrap, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        parts = consumer.assignment()
        ends = await consumer.end_offsets(parts)
        begins = await consumer.beginning_offsets(parts)
        found: list[ConsumerRecord] = []
        while [p for p in parts if begins[p] < ends[p] and await consumer.position(p) < ends[p]]:
            for records in (await consumer.getmany(timeout_ms=2_000)).values():
                found += records
        return found
    finally:
        await consumer.stop()


async def put(producer: Producer, name: str, count: int, at: datetime) -> None:
    """Letters of Ada and of somebody else, one after the other, with all that a letter carries."""
    for n in range(count):
        for who, conversation in (("C-1", "conv_ada"), ("C-2", "conv_bob")):
            value = json.dumps({"customer_id": who, "conversation_id": conversation, "text": f"{who} {n}"}).encode()
            headers = [("event_id", f"ev_{who}_{n}".encode()), ("dlq.group", b"agent-loop")]
            await producer.send_raw(
                name, conversation.encode(), value, headers, timestamp_ms=int(at.timestamp() * 1000) + n
            )


def essence(record: ConsumerRecord) -> tuple[Any, ...]:
    return record.key, record.value, tuple(record.headers), record.timestamp


async def test_their_letters_go_and_others_stay_whole_and_in_order(
    bus: BusSettings, broker: Broker, producer: Producer
) -> None:
    name, at = topics.WORK_AGENT.dlq, datetime.now(UTC) - timedelta(hours=3)
    await put(producer, name, 5, at)
    await producer.send_raw(name, None, b"unreadable, from ada@customers.example", [])
    await producer.send_raw(name, b"conv_bob", None, [("dlq.error", b"no value")])
    before = await held(bus, name)
    erased = await broker.erase(ADA, "erased-1")
    assert erased["letters"] == {name: 6}
    others = [essence(r) for r in before if r.key == b"conv_bob"]
    assert [essence(r) for r in await held(bus, name)] == others
    # Again nothing is theirs, and nothing is rewritten.
    last = (await held(bus, name))[-1].offset
    assert (await broker.erase(ADA, "erased-1"))["letters"] == {}
    assert (await held(bus, name))[-1].offset == last


async def test_killed_before_the_old_letters_go_nothing_of_others_is_lost(
    bus: BusSettings, broker: Broker, producer: Producer
) -> None:
    name = topics.HANDOFFS.dlq
    await put(producer, name, 3, datetime.now(UTC))
    others = [essence(r) for r in await held(bus, name) if r.key == b"conv_bob"]
    arm("letters.before_delete", die)
    try:
        with pytest.raises(KilledError):
            await broker.erase(ADA, "erased-1")
    finally:
        disarm()
    assert [essence(r) for r in await held(bus, name) if r.key == b"conv_bob"] == others * 2
    await broker.erase(ADA, "erased-1")
    left = [essence(r) for r in await held(bus, name)]
    assert set(left) == set(others), "doubled at worst, under the same event ids"


async def test_an_export_holds_all_of_theirs_and_nothing_of_anybody_else(
    bus: BusSettings, broker: Broker, producer: Producer
) -> None:
    for name in (topics.MESSAGES.name, topics.HANDOFFS.name, topics.MESSAGES.dlq):
        await put(producer, name, 2, datetime.now(UTC))
    found = [item async for item in broker.export(ADA)]
    assert {item["table"] for item in found} == {topics.MESSAGES.name, topics.HANDOFFS.name, topics.MESSAGES.dlq}
    assert len(found) == 6
    assert "C-2" not in json.dumps(found)


async def test_it_is_complete_when_the_last_topic_has_let_go(
    bus: BusSettings, broker: Broker, producer: Producer
) -> None:
    at = datetime.now(UTC) - timedelta(hours=2)
    await put(producer, topics.MESSAGES.name, 1, at)
    await put(producer, topics.HANDOFFS.name, 1, at - timedelta(days=3))
    erased = await broker.erase(ADA, "erased-1")
    assert erased["left"] == {topics.MESSAGES.name: 1, topics.HANDOFFS.name: 1}
    kept = datetime.fromisoformat(erased["complete_after"]) - (at - timedelta(days=3))
    # The topic's thirty days and what its segment adds.
    assert timedelta(days=30) <= kept <= timedelta(days=31, hours=7)


async def test_with_nothing_on_any_topic_it_is_complete_at_once(broker: Broker) -> None:
    erased = await broker.erase(ADA, "erased-1")
    assert erased["letters"] == erased["left"] == {}
    assert datetime.fromisoformat(erased["complete_after"]) <= datetime.now(UTC)
