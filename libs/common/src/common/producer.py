"""The one way to write to Kafka: idempotent, acknowledged by all, with the headers of SPEC §2."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import asyncpg
from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner, murmur2
from pydantic import BaseModel

from common.kafka_tls import security_protocol, tls_context
from common.telemetry import trace_headers
from common.topics import Topic

# One record of 1 MB must pass with its headers (CONTRACT).
MAX_RECORD_BYTES = 1_200_000


def event_headers(event_id: str, occurred_at: datetime) -> dict[str, str]:
    """Return the headers of an event: its id, when it happened, and the trace it belongs to."""
    return {
        "event_id": event_id,
        "occurred_at": occurred_at.astimezone(UTC).isoformat(),
        **trace_headers(),
    }


# Kafka's hash of a key, in Python: a third of a send's time, and a turn sends several events under one key.
_hash_of = lru_cache(4_096)(murmur2)


def _partition_of(key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
    """Choose as the stock partitioner does, which every other client agrees with."""
    if key is None:
        return int(DefaultPartitioner()(None, all_partitions, available))
    return all_partitions[(int(_hash_of(key)) & 0x7FFFFFFF) % len(all_partitions)]


class Producer:
    """Sends events and raw records; ``topic_prefix`` keeps tests on a given server apart.

    ``tls_dir`` is ``BusSettings.kafka_tls_dir``.
    """

    def __init__(self, bootstrap: str, topic_prefix: str = "", tls_dir: Path | None = None) -> None:
        self._bootstrap, self._prefix = bootstrap, topic_prefix
        self._tls = tls_context(tls_dir)
        self._producer: AIOKafkaProducer | None = None

    async def start(self) -> None:
        """Connect; waits for a broker that is still starting."""
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            security_protocol=security_protocol(self._tls),
            ssl_context=self._tls,
            enable_idempotence=True,
            acks="all",
            max_request_size=MAX_RECORD_BYTES,
            # The stock 16 KB fill with fifty events; then every further send waits for a round trip.
            max_batch_size=256 * 1024,
            partitioner=_partition_of,
            request_timeout_ms=40_000,
        )
        await self._producer.start()

    async def stop(self) -> None:
        """Flush and disconnect."""
        if self._producer is not None:
            await self._producer.stop()

    async def send(self, topic: Topic, key: str, event: BaseModel, *, event_id: str, occurred_at: datetime) -> None:
        """Send one event and wait for the broker's acknowledgement."""
        await (await self.start_event(topic, key, event, event_id=event_id, occurred_at=occurred_at))

    async def start_event(
        self, topic: Topic, key: str, event: BaseModel, *, event_id: str, occurred_at: datetime
    ) -> "asyncio.Future[Any]":
        """Hand one event to the producer; the future ends with the broker's acknowledgement."""
        payload = event.model_dump_json(by_alias=True).encode()
        return await self._start(topic.name, key.encode(), payload, event_headers(event_id, occurred_at))

    async def start_send(self, row: asyncpg.Record) -> "asyncio.Future[Any]":
        """Hand an outbox row to the producer, in order; the future ends with the acknowledgement."""
        return await self._start(row["topic"], row["key"].encode(), row["payload"], row["headers"])

    async def send_raw(
        self,
        topic_name: str,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Send bytes as they are (dead letters and replays), and wait for the acknowledgement."""
        await self._client.send_and_wait(
            self._prefix + topic_name,
            value=value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
        )

    async def _start(self, topic: str, key: bytes, payload: bytes, headers: dict[str, str]) -> "asyncio.Future[Any]":
        encoded = [(name, value.encode()) for name, value in headers.items()]
        future: asyncio.Future[Any] = await self._client.send(
            self._prefix + topic, value=payload, key=key, headers=encoded
        )
        return future

    @property
    def _client(self) -> AIOKafkaProducer:
        if self._producer is None:
            raise RuntimeError("the producer has not been started")
        return self._producer
