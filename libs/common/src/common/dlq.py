"""Put dead letters back on their topic once what killed them is mended: ``python -m common.dlq replay <topic>``."""

import argparse
import asyncio
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from common.kafka_tls import security_protocol, tls_context
from common.producer import MAX_RECORD_BYTES, Producer
from common.settings import BusSettings
from common.topics import BY_NAME, Topic

_IDLE_MS = 3_000


async def replay(settings: BusSettings, topic: Topic, *, group: str | None, limit: int | None) -> int:
    """Send dead letters back as they came, oldest first, each once; returns how many.

    ``group`` takes only those that this consumer group could not take. Progress is committed after each
    acknowledgement, so an interrupted replay goes on where it stopped.
    """
    producer = Producer(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_tls_dir)
    tls = tls_context(settings.kafka_tls_dir)
    consumer = AIOKafkaConsumer(
        settings.topic_prefix + topic.dlq,
        bootstrap_servers=settings.kafka_bootstrap,
        security_protocol=security_protocol(tls),
        ssl_context=tls,
        group_id=f"{settings.topic_prefix}dlq-replay-{group or 'all'}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=4 * MAX_RECORD_BYTES,
    )
    await producer.start()
    await consumer.start()
    sent = 0
    try:
        while limit is None or sent < limit:
            batch = await consumer.getmany(timeout_ms=_IDLE_MS, max_records=1)
            records = [record for part in batch.values() for record in part]
            if not records:
                break
            sent += await _put_back(producer, topic, records[0], group)
            place = TopicPartition(records[0].topic, records[0].partition)
            await consumer.commit({place: OffsetAndMetadata(records[0].offset + 1, "")})
    finally:
        await consumer.stop()
        await producer.stop()
    return sent


async def _put_back(producer: Producer, topic: Topic, record: ConsumerRecord, group: str | None) -> int:
    of_group = dict(record.headers).get("dlq.group", b"").decode()
    if group is not None and of_group != group:
        return 0
    headers = [(name, value) for name, value in record.headers if not name.startswith("dlq.")]
    await producer.send_raw(topic.name, record.key, record.value, headers)
    return 1


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m common.dlq", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("replay", help="send dead letters back to their topic")
    command.add_argument("topic", choices=sorted(BY_NAME))
    command.add_argument("--group", help="only what this consumer group could not take")
    command.add_argument("--limit", type=int, help="at most so many")
    args = parser.parse_args(argv)
    settings = BusSettings()  # filled from the environment
    sent = asyncio.run(replay(settings, BY_NAME[args.topic], group=args.group, limit=args.limit))
    print(f"{sent} put back on {args.topic}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
