"""Reads every topic for one customer, and rewrites dead-letter topics without what is theirs.

A topic itself can't lose single records: they go when its retention ends, which the broker is asked for. A dead-letter
topic can: what belongs to others is sent again to its end, and only then everything before is deleted. Killed in
between, others' letters stand there twice, which a replay's inbox makes once; none is ever missing.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from common.crash import crash_point
from common.errors import Transient
from common.kafka_tls import security_protocol, tls_context
from common.privacy.records import is_theirs, mentions_them, shown
from common.privacy.subject import Subject
from common.producer import MAX_RECORD_BYTES, Producer
from common.settings import BusSettings
from common.topics import ALL, Topic

_READ_WITHIN_MS = 15_000
# A letter that arrives while its topic is rewritten is found by the next look.
_LOOKS = 5
# How often the broker looks for segments whose time is over.
_BROKER_LOOKS_EVERY = timedelta(minutes=5)
_CONFIGS = ("retention.ms", "segment.ms")


class Broker:
    """What the topics hold; see ``common.privacy.command.Holdings``."""

    def __init__(self, settings: BusSettings, over: Sequence[Topic] = ALL) -> None:
        self._settings, self._topics = settings, over
        self._tls = tls_context(settings.kafka_tls_dir)
        self._producer = Producer(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_tls_dir)
        self._admin = AIOKafkaAdminClient(**self._connection())

    async def start(self) -> None:
        await self._producer.start()
        await self._admin.start()

    async def stop(self) -> None:
        await self._admin.close()
        await self._producer.stop()

    async def find(self, subject: Subject) -> Subject:
        """Return the subject as it is: topics know nobody by another name."""
        return subject

    async def unfinished(self, _: Subject) -> list[str]:
        """Nothing on a topic has to end first."""
        return []

    async def export(self, subject: Subject) -> AsyncIterator[dict[str, Any]]:
        """Yield ``{"table": topic, "row": {"partition","offset","at","key","headers","value"}}`` of every record."""
        for topic in self._topics:
            for name in (topic.name, topic.dlq):
                async for record in self._records(name):
                    if is_theirs(record, subject):
                        yield {"table": name, "row": shown(record)}

    async def erase(self, subject: Subject, _: str) -> dict[str, Any]:
        """Rewrite the dead-letter topics; returns how many letters went, and until when topics keep what they hold.

        ``left`` counts records by topic, ``complete_after`` is when the last of them is surely gone.
        """
        letters = {topic.dlq: await self._clear(topic.dlq, subject) for topic in self._topics}
        left: dict[str, int] = {}
        complete = datetime.now(UTC)
        for topic in self._topics:
            newest = 0
            async for record in self._records(topic.name):
                if _goes(record, subject):
                    left[topic.name] = left.get(topic.name, 0) + 1
                    newest = max(newest, record.timestamp)
            if newest:
                complete = max(complete, datetime.fromtimestamp(newest / 1000, UTC) + await self._kept(topic.name))
        gone = {name: count for name, count in letters.items() if count}
        return {"letters": gone, "left": left, "complete_after": complete.isoformat(timespec="seconds")}

    async def _clear(self, name: str, subject: Subject) -> int:
        """Rewrite one dead-letter topic until no letter of theirs is left; returns how many went."""
        gone = 0
        for _ in range(_LOOKS):
            if not (found := [1 async for record in self._records(name) if _goes(record, subject)]):
                return gone
            gone += len(found)
            await self._rewrite(name, subject)
        raise Transient(f"letters of theirs keep arriving on {name}")

    async def _rewrite(self, name: str, subject: Subject) -> None:
        """Send others' letters again, each acknowledged, then delete all that was there before."""
        ends: dict[TopicPartition, int] = {}
        async for record in self._records(name):
            if not _goes(record, subject):
                await self._producer.send_raw(
                    name,
                    # The client sends no record that has neither key nor value.
                    record.key if record.value is not None else record.key or b"",
                    record.value,
                    list(record.headers),
                    partition=record.partition,
                    # As old as it was: the rewriting must not lengthen anybody's retention.
                    timestamp_ms=record.timestamp,
                )
            ends[TopicPartition(record.topic, record.partition)] = record.offset + 1
        await crash_point("letters.before_delete")
        await self._admin.delete_records({part: RecordsToDelete(before_offset=end) for part, end in ends.items()})

    async def _records(self, name: str) -> AsyncIterator[ConsumerRecord]:
        """Yield what a topic holds now, joining no group and committing nothing."""
        consumer = AIOKafkaConsumer(
            self._settings.topic_prefix + name,
            **self._connection(),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=4 * MAX_RECORD_BYTES,
        )
        await consumer.start()
        try:
            parts = sorted(consumer.assignment())
            ends, begins = await consumer.end_offsets(parts), await consumer.beginning_offsets(parts)
            waiting = {part for part in parts if begins[part] < ends[part]}
            while waiting:
                batches = await consumer.getmany(timeout_ms=_READ_WITHIN_MS)
                if not batches:
                    raise Transient(f"{name} stopped answering before its end")
                for part, records in batches.items():
                    for record in records:
                        if record.offset < ends[part]:
                            yield record
                waiting = {part for part in waiting if await consumer.position(part) < ends[part]}
        finally:
            await consumer.stop()

    async def _kept(self, name: str) -> timedelta:
        """Return how long after its writing a record is surely gone: retention, and the rest of its segment's time."""
        resource = ConfigResource(ConfigResourceType.TOPIC, self._settings.topic_prefix + name)
        answers = await self._admin.describe_configs([resource])
        values = {entry[0]: entry[1] for answer in answers for found in answer.resources for entry in found[4]}
        return timedelta(milliseconds=sum(int(values[config]) for config in _CONFIGS)) + _BROKER_LOOKS_EVERY

    def _connection(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self._settings.kafka_bootstrap,
            "security_protocol": security_protocol(self._tls),
            "ssl_context": self._tls,
        }


def _goes(record: ConsumerRecord, subject: Subject) -> bool:
    return is_theirs(record, subject) or mentions_them(record, subject)
