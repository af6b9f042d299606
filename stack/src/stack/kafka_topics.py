"""Makes and removes the product's topics and their dead-letter twins, under a prefix or none."""

from collections.abc import Iterable

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from common.topics import ALL, Topic
from stack.kafka import MAX_MESSAGE_BYTES


def _new(name: str, partitions: int, topic: Topic) -> NewTopic:
    return NewTopic(
        name,
        partitions,
        replication_factor=1,
        topic_configs={
            "retention.ms": str(topic.retention_h * 3_600_000),
            "segment.ms": str(topic.segment_h * 3_600_000),
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
        },
    )


def names(topics: Iterable[Topic], prefix: str) -> list[str]:
    """Full names of the topics and their dead-letter twins."""
    return [f"{prefix}{name}" for topic in topics for name in (topic.name, topic.dlq)]


async def create_topics(bootstrap: str, prefix: str = "", topics: Iterable[Topic] = ALL) -> None:
    """Creates what isn't there yet. A dead letter keeps as long as its topic: it may carry the same token."""
    wanted = [
        _new(f"{prefix}{name}", partitions, topic)
        for topic in topics
        for name, partitions in ((topic.name, topic.partitions), (topic.dlq, 1))
    ]
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.create_topics(wanted)
    finally:
        await admin.close()
    _raise_but(answer.topic_errors, TopicAlreadyExistsError)


async def delete_topics(bootstrap: str, prefix: str, topics: Iterable[Topic] = ALL) -> None:
    """Removes them again; a topic that isn't there is fine."""
    if not prefix:
        raise ValueError("topics without a prefix belong to a running stack")
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.delete_topics(names(topics, prefix))
    finally:
        await admin.close()
    _raise_but(answer.topic_error_codes, UnknownTopicOrPartitionError)


def _raise_but(answers: Iterable[tuple[object, ...]], harmless: type[Exception]) -> None:
    for topic, code, *message in answers:
        if code and for_code(code) is not harmless:
            raise for_code(code)(f"{topic}: {message}")
