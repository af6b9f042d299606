"""The product's topics on the real broker."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from common.topics import MESSAGES, Topic
from stack.kafka_topics import create_topics, delete_topics

MakeTopics = Callable[[Iterable[Topic]], Awaitable[None]]
BIG = 1024 * 1024


@pytest.fixture
async def producer(kafka_bootstrap: str) -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, max_request_size=2 * BIG)
    await made.start()
    yield made
    await made.stop()


async def test_a_record_of_a_megabyte_passes_and_so_does_its_dead_letter(
    kafka_bootstrap: str, topic_prefix: str, make_topics: MakeTopics, producer: AIOKafkaProducer
) -> None:
    await make_topics([MESSAGES])
    for name in (MESSAGES.name, MESSAGES.dlq):
        await producer.send_and_wait(topic_prefix + name, b"x" * BIG, headers=[("event_id", b"1")])
    consumer = AIOKafkaConsumer(
        topic_prefix + MESSAGES.dlq, bootstrap_servers=kafka_bootstrap, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        record = await consumer.getone()
    finally:
        await consumer.stop()
    assert len(record.value) == BIG


async def test_creating_topics_that_exist_is_harmless(
    kafka_bootstrap: str, topic_prefix: str, make_topics: MakeTopics
) -> None:
    await make_topics([MESSAGES])
    await create_topics(kafka_bootstrap, topic_prefix, [MESSAGES])


async def test_topics_of_a_running_stack_are_never_deleted_by_a_test(kafka_bootstrap: str) -> None:
    with pytest.raises(ValueError, match="without a prefix"):
        await delete_topics(kafka_bootstrap, "", [MESSAGES])
