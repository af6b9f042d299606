"""The one way to read from Kafka (RELIABILITY R9).

Records come in batches through FastStream. Each is decoded on its own, so a bad one spoils nobody else's; records of
one key form a lane that keeps their order while lanes run side by side; a whole batch is committed at once, and batches
that follow each other closely share a commit. What a record gets depends on what its handler raises:

    Malformed, Refused            its original bytes go to ``<topic>.dlq`` at once
    Forgotten                     it speaks of what was erased: it is taken, and kept nowhere
    Transient                     tried again with growing pauses, for minutes, then the dead-letter topic
    a database or broker is away  tried again for as long as it takes; nothing is dropped for our own bad night
    anything else                 a bug: tried a few times, then the dead-letter topic, loudly

The commit follows only when every record of the batch was handled or is safely dead-lettered; else all is read again,
which the inbox makes harmless.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import Any, Generic, TypeVar, cast

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker, KafkaMessage
from faststream.security import BaseSecurity
from prometheus_client import Counter, Gauge
from pydantic import BaseModel, ValidationError

from common import db
from common.errors import Forgotten, Malformed, Refused, Transient
from common.ids import derived_id
from common.kafka_tls import tls_context
from common.offsets import Offsets, ends_of, read_again
from common.producer import MAX_RECORD_BYTES, Producer
from common.reading import PacedConsumer
from common.settings import BusSettings
from common.stopping import WORK_GRACE_S
from common.telemetry import continue_trace, get_logger
from common.topics import Topic

E = TypeVar("E", bound=BaseModel)
# Retries in place add up to under 4 s, far below the 5 minutes after which Kafka takes the partition away.
_TRIES = 5
_FIRST_PAUSE_S = 0.1
# A dependency that stays down this long for one record is no passing fault; the record waits in the dead-letter topic.
_TRANSIENT_LIMIT_S = 600.0
_AGAIN_PAUSE_S = 1.0
# How long one look waits for records; an idle group looks again at once.
_LOOK_MS = 5_000
_LONG_POLL_MS = 1_000
_GATHERED_BYTES = 1_000_000
_AWAY: tuple[type[BaseException], ...] = (*db.UNAVAILABLE, KafkaError)
# The broker's lower bound: partitions of a killed process move on after this, unless it comes back under its own name.
_SESSION_MS = 6_000
_HEARTBEAT_MS = 1_000

_handled = Counter("consumer_records_total", "Records by outcome", ["topic", "group", "outcome"])
_lag = Gauge("consumer_lag_records", "Records the group has not read yet", ["topic", "group"])
_log = get_logger()


@dataclass(frozen=True)
class Received(Generic[E]):
    """One decoded record. ``event_id`` comes from the header, or is derived where an outside program sent none."""

    event: E
    event_id: str
    key: str
    occurred_at: datetime
    headers: dict[str, str]


@dataclass(frozen=True)
class Subscription(Generic[E]):
    """One topic read by one group; with ``lanes`` the handler gets one key's records at a time, else all of a batch."""

    topic: Topic
    group: str
    model: type[E]
    handler: Callable[[list[Received[E]]], Awaitable[None]]
    lanes: bool = True
    max_records: int = 200
    # How long the broker may gather records before it answers: what nobody waits for comes in larger batches.
    gather_ms: int = 0
    # From how many records a second on they are let gather before each look; twice the planned peak of one a message.
    busy_per_s: float = 56.0
    # Whether a record's bytes can concern the group at all: what can't is passed over unread, even if it is malformed.
    concerns: Callable[[bytes], bool] | None = None


class _Again(Exception):  # noqa: N818 - a verdict on the batch, not an error
    """The batch has to be read again."""


@dataclass
class _Progress:
    """What liveness and patience need to know about one subscription, and its counter."""

    handled: Counter
    moved_at: float = field(default_factory=time.monotonic)
    in_hand: bool = False
    read_to: dict[int, int] = field(default_factory=dict)
    first_failed: dict[tuple[int, int], float] = field(default_factory=dict)
    buried: set[tuple[int, int]] = field(default_factory=set)


class Consumer:
    """Runs subscriptions of one process on one broker connection each."""

    def __init__(self, settings: BusSettings, producer: Producer, subscriptions: Sequence[Subscription[Any]]) -> None:
        self._settings, self._producer, self._subscriptions = settings, producer, subscriptions
        self._progress = [_Progress(_handled.labels(s.topic.name, s.group, "handled")) for s in subscriptions]
        tls = tls_context(settings.kafka_tls_dir)
        self._broker = KafkaBroker(
            settings.kafka_bootstrap,
            security=BaseSecurity(ssl_context=tls) if tls else None,
            consumer_only=True,
            graceful_timeout=WORK_GRACE_S,
            logger=logging.getLogger("faststream"),
            log_level=logging.DEBUG,
            apply_types=False,
        )
        self._offsets = [Offsets() for _ in subscriptions]
        parts = zip(subscriptions, self._progress, self._offsets, strict=True)
        self._readers = [self._subscribe(*part) for part in parts]
        self.joined = False

    async def start(self) -> None:
        """Join every group; waits for a broker that is still starting, for a minute."""
        deadline = time.monotonic() + 60
        while True:
            try:
                await self._broker.connect()
                config = self._broker.config.broker_config
                config.builder = partial(self._reader, **cast(partial[Any], config.builder).keywords)
                await self._broker.start()
                break
            except (KafkaError, OSError):
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.5)
        self.joined = True

    async def stop(self) -> None:
        """Stop reading, let handlers end, commit, leave."""
        self.joined = False
        for offsets in self._offsets:
            await offsets.close()
        await self._broker.stop()

    def stalled(self, patience_s: float = 60.0) -> bool:
        """Say whether some group has records to read, or in hand, and nothing has moved for ``patience_s``.

        A retry is a sign of life: while the database is away nothing is stalled, it waits.
        """
        now = time.monotonic()
        parts = zip(self._readers, self._subscriptions, self._progress, strict=True)
        waiting = [(p, p.in_hand or self._lag_of(reader, s, p) > 0) for reader, s, p in parts]
        return any(busy and now - p.moved_at > patience_s for p, busy in waiting)

    def _subscribe(self, subscription: Subscription[Any], progress: _Progress, offsets: Offsets) -> Any:
        settings = self._settings

        async def undecoded(message: KafkaMessage) -> Any:
            # Records are decoded one by one later on: decoding here would fail a whole batch for one bad record.
            return message.raw_message

        async def unread(records: tuple[ConsumerRecord, ...]) -> KafkaMessage:
            # The stock parser reads every header as UTF-8, so one bad byte would stop its partition for ever.
            first, last = records[0], records[-1]
            name = f"{first.offset}-{last.offset}-{first.timestamp}"
            assert reader.consumer is not None, "a record was read by a consumer"
            return KafkaMessage(raw_message=records, body=b"", message_id=name, consumer=reader.consumer)

        async def consume(records: tuple[ConsumerRecord, ...]) -> None:
            assert reader.consumer is not None, "a record was read by a consumer"
            if await self._taken(subscription, progress, records):
                await offsets.handled(reader.consumer, ends_of(records))
            else:
                # Without this pause a batch that can't be taken would be read again 1,900 times a second.
                await asyncio.sleep(_AGAIN_PAUSE_S)
                read_again(reader.consumer, records)

        reader = self._broker.subscriber(
            settings.topic_prefix + subscription.topic.name,
            group_id=settings.topic_prefix + subscription.group,
            group_instance_id=f"{settings.instance_id}-{subscription.group}" if settings.instance_id else None,
            batch=True,
            max_records=subscription.max_records,
            ack_policy=AckPolicy.MANUAL,
            auto_offset_reset="earliest",
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            max_partition_fetch_bytes=4 * MAX_RECORD_BYTES,
            fetch_min_bytes=_GATHERED_BYTES if subscription.gather_ms else 1,
            fetch_max_wait_ms=subscription.gather_ms or _LONG_POLL_MS,
            batch_timeout_ms=_LOOK_MS,
            listener=offsets,
            parser=unread,
            decoder=undecoded,
        )
        reader(consume)
        return reader

    def _reader(self, *topics: str, group_id: str, **options: Any) -> PacedConsumer:
        prefix = self._settings.topic_prefix
        busy_per_s = next(s.busy_per_s for s in self._subscriptions if prefix + s.group == group_id)
        return PacedConsumer(*topics, busy_per_s=busy_per_s, group_id=group_id, **options)

    def _lag_of(self, reader: Any, subscription: Subscription[Any], progress: _Progress) -> int:
        consumer = reader.consumer
        if consumer is None:
            return 0
        # A partition of which nothing was read yet has no position here; it counts once its first batch is done.
        lag = sum(
            max(0, (consumer.highwater(tp) or 0) - progress.read_to.get(tp.partition, consumer.highwater(tp) or 0))
            for tp in consumer.assignment()
        )
        _lag.labels(subscription.topic.name, subscription.group).set(lag)
        return lag

    async def _taken(self, s: Subscription[Any], progress: _Progress, records: tuple[ConsumerRecord, ...]) -> bool:
        """Handle a batch; False when it has to be read again."""
        progress.in_hand, progress.moved_at = True, time.monotonic()
        try:
            await self._take(s, progress, records)
        except Exception as e:  # noqa: BLE001 - whatever it was, nothing of the batch may be committed
            cause = e.__cause__ if isinstance(e, _Again) else e
            _log.warning("batch is read again", topic=s.topic.name, group=s.group, error=type(cause).__name__)
            return False
        finally:
            progress.in_hand = False
        progress.moved_at = time.monotonic()
        progress.read_to |= {record.partition: record.offset + 1 for record in records}
        progress.first_failed.clear()
        progress.buried.clear()
        return True

    async def _take(self, s: Subscription[Any], progress: _Progress, records: tuple[ConsumerRecord, ...]) -> None:
        lanes: dict[object, list[tuple[ConsumerRecord, Received[Any]]]] = defaultdict(list)
        seen: set[str] = set()
        for record in records:
            if s.concerns is not None and record.value is not None and not s.concerns(record.value):
                continue
            try:
                received = _decode(s, record)
            except Malformed as e:
                await self._bury(s, progress, record, e, attempts=1)
                continue
            # Twice in one batch is once for the inbox too, which compares with earlier commits only.
            if received.event_id not in seen:
                seen.add(received.event_id)
                lanes[(record.partition, record.key) if s.lanes else None].append((record, received))
        outcomes = await asyncio.gather(
            *(self._lane(s, progress, lane) for lane in lanes.values()), return_exceptions=True
        )
        failures = [o for o in outcomes if isinstance(o, BaseException)]
        if failures:
            raise failures[0]

    async def _lane(
        self, s: Subscription[Any], progress: _Progress, lane: list[tuple[ConsumerRecord, Received[Any]]]
    ) -> None:
        # A key's second message belongs to its own trace and not to the first one's.
        for _, part in groupby(lane, key=_trace_id) if s.lanes else [("", lane)]:
            await self._handle(s, progress, list(part))

    async def _handle(
        self, s: Subscription[Any], progress: _Progress, lane: list[tuple[ConsumerRecord, Received[Any]]]
    ) -> None:
        # A whole batch belongs to no one record's trace.
        with continue_trace(f"{s.topic.name} process", lane[0][1].headers if s.lanes else {}):
            failure = await _attempt(s, [received for _, received in lane], tries=1 if len(lane) > 1 else _TRIES)
        progress.moved_at = time.monotonic()
        if failure is None:
            progress.handled.inc(len(lane))
            return
        if len(lane) > 1:
            # One record of the lane is to blame; alone, each shows what it is worth.
            for one in lane:
                await self._handle(s, progress, [one])
            return
        await self._settle(s, progress, lane[0][0], failure)

    async def _settle(
        self, s: Subscription[Any], progress: _Progress, record: ConsumerRecord, failure: Exception
    ) -> None:
        if isinstance(failure, Forgotten):
            _handled.labels(s.topic.name, s.group, "forgotten").inc()
            return
        if isinstance(failure, _AWAY):
            raise _Again from failure
        if isinstance(failure, Transient):
            since = progress.first_failed.setdefault((record.partition, record.offset), time.monotonic())
            if time.monotonic() - since < _TRANSIENT_LIMIT_S:
                raise _Again from failure
        await self._bury(
            s, progress, record, failure, attempts=1 if isinstance(failure, Malformed | Refused) else _TRIES
        )

    async def _bury(
        self, s: Subscription[Any], progress: _Progress, record: ConsumerRecord, why: Exception, attempts: int
    ) -> None:
        place = (record.partition, record.offset)
        if place in progress.buried:
            return
        expected = isinstance(why, Malformed | Refused | Transient)
        _log.error(
            "record dead-lettered",
            topic=s.topic.name,
            group=s.group,
            partition=record.partition,
            offset=record.offset,
            error=type(why).__name__,
            exc_info=None if expected else why,
        )
        headers = [(name, value) for name, value in record.headers if not name.startswith("dlq.")]
        notes = {
            "dlq.error": f"{type(why).__name__}: {why}"[:500],
            "dlq.group": s.group,
            "dlq.source": f"{s.topic.name}:{record.partition}:{record.offset}",
            "dlq.attempts": str(attempts),
            "dlq.at": datetime.now(UTC).isoformat(),
        }
        headers += [(name, text.encode()) for name, text in notes.items()]
        await self._producer.send_raw(s.topic.dlq, record.key, record.value, headers)
        progress.buried.add(place)
        _handled.labels(s.topic.name, s.group, "dead").inc()


def _trace_id(record: tuple[ConsumerRecord, Received[Any]]) -> str:
    return record[1].headers.get("traceparent", "")[3:35]


async def _attempt(s: Subscription[Any], batch: list[Received[Any]], tries: int) -> Exception | None:
    """Return None when the handler took the batch, else why it could not."""
    pause, failure = _FIRST_PAUSE_S, None
    for n in range(tries):
        try:
            await s.handler(batch)
        except (Malformed, Refused, Forgotten) as e:
            return e
        except Exception as e:  # noqa: BLE001 - what it means is decided by the caller, by its type
            failure = e
            if n + 1 < tries:
                await asyncio.sleep(pause)
                pause *= 2
        else:
            return None
    return failure


def _decode(s: Subscription[E], record: ConsumerRecord) -> Received[E]:
    if record.value is None:
        raise Malformed("the record has no value")
    try:
        event = s.model.model_validate_json(record.value)
        key = record.key.decode() if record.key else ""
    except (ValidationError, UnicodeDecodeError) as e:
        raise Malformed(_short(e)) from e
    headers = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
    named = headers.get("event_id", "")
    return Received(
        event=event,
        event_id=named if 0 < len(named) <= 200 and "\x00" not in named else _id_of(s.topic, key, event, record.value),
        key=key,
        occurred_at=datetime.fromtimestamp(record.timestamp / 1000, UTC),
        headers=headers,
    )


def _id_of(topic: Topic, key: str, event: BaseModel, raw: bytes) -> str:
    """An outside program sent no id: topic, key and message id name the event, or its very bytes where it has none."""
    message_id = getattr(event, "message_id", None)
    return derived_id(topic.name, key, message_id or raw.hex())


def _short(error: ValidationError | UnicodeDecodeError) -> str:
    """Say what is wrong without repeating the customer's text."""
    if isinstance(error, UnicodeDecodeError):
        return "the record is not UTF-8"
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'record'}: {e['type']}" for e in error.errors()[:5])
