"""Commits what one subscription has handled: soon, seldom, and beside the next batch instead of before it.

Kafka writes a commit to a log like a message, so a commit after each small batch costs as much as the batch. What a
crash leaves uncommitted, half a second's records, is read again; the inbox makes that harmless.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from common.telemetry import get_logger

_EVERY_S = 0.5
_AGAIN_S = 1.0
_log = get_logger()


class Offsets(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """The next offsets of a subscription's partitions that still have to be committed."""

    def __init__(self) -> None:
        self._due: dict[TopicPartition, int] = {}
        self._consumer: AIOKafkaConsumer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def handled(self, consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]) -> None:
        """Note that all records before these offsets are done with; once closed, commit them at once."""
        self._consumer = consumer
        self._due |= ends
        if self._closed:
            await self._commit()
        elif self._task is None or self._task.done():
            self._task = asyncio.create_task(self._commit_soon())

    async def close(self) -> None:
        """Commit what is due; what is handled from now on is committed at once."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._commit()

    async def on_partitions_revoked(self, _revoked: Any) -> None:
        """Commit before another process takes the partitions over, so that it needn't read again."""
        await self._commit()

    async def on_partitions_assigned(self, _assigned: Any) -> None:
        """Nothing is due of partitions that come new."""

    async def _commit_soon(self) -> None:
        pause_s = _EVERY_S
        while self._due:
            await asyncio.sleep(pause_s)
            pause_s = _EVERY_S if await self._commit() else _AGAIN_S

    async def _commit(self) -> bool:
        """Commit what is due; False when the broker could not be asked and it stays due."""
        due, self._due = self._due, {}
        if self._consumer is None:
            return True
        assigned = self._consumer.assignment()
        mine = {partition: offset for partition, offset in due.items() if partition in assigned}
        try:
            if mine:
                await self._consumer.commit(mine)
        except (CommitFailedError, IllegalStateError) as e:
            # The partitions are another's by now, who reads again what we could not commit.
            _log.info("commit came too late", error=type(e).__name__)
        except KafkaError as e:
            self._due = mine | self._due
            _log.warning("commit failed", error=type(e).__name__)
            return False
        except asyncio.CancelledError:
            self._due = mine | self._due
            raise
        return True


def ends_of(records: Sequence[ConsumerRecord]) -> dict[TopicPartition, int]:
    """Return where reading goes on after a batch, which holds each partition's records in order."""
    return {TopicPartition(r.topic, r.partition): r.offset + 1 for r in records}


def read_again(consumer: AIOKafkaConsumer, records: Sequence[ConsumerRecord]) -> None:
    """Go back to where the batch began, in the partitions that are still ours."""
    starts = {TopicPartition(r.topic, r.partition): r.offset for r in reversed(records)}
    for partition in starts.keys() & consumer.assignment():
        consumer.seek(partition, starts[partition])
