"""One coroutine: read a batch of customer messages, decide where each goes, publish it there."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from prometheus_client import Counter, Histogram
from pydantic import BaseModel

from common.consumer import Received
from common.events import CustomerMessage, WorkItem
from common.ids import derived_id
from common.telemetry import continue_trace, get_logger
from common.topics import MESSAGES, WORK_BY_ROUTE, Topic
from router.adapters.classifier import Classifier
from router.core.reading import Asked, Reading
from router.core.routing import Decision, decide_route

_decided = Counter("router_decisions_total", "Messages by where they went and why", ["route", "intent", "language"])
_confidence = Histogram(
    "router_confidence",
    "Probability of the likeliest intent",
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1),
)
_log = get_logger()


class Publisher(Protocol):
    """What ``common.producer.Producer`` does for us."""

    async def start_event(
        self, topic: Topic, key: str, event: BaseModel, *, event_id: str, occurred_at: datetime
    ) -> "asyncio.Future[Any]": ...


@dataclass(frozen=True)
class Desk:
    """What the handler works with; ``version`` names the artefact in every logged decision."""

    classifier: Classifier
    publisher: Publisher
    version: str


@dataclass(frozen=True, slots=True)
class _Routed:
    received: Received[CustomerMessage]
    reading: Reading
    decision: Decision


async def on_customer_messages(desk: Desk, batch: list[Received[CustomerMessage]]) -> None:
    """Route one batch; a conversation's messages are published in their order, conversations side by side."""
    readings = await desk.classifier.read_all([_asked(received.event) for received in batch])
    for turn in _turns([_routed(received, read) for received, read in zip(batch, readings, strict=True)]):
        # All are handed over before the first is waited for: they share the producer's next request.
        await asyncio.gather(*[await _start(desk, one) for one in turn])
        for one in turn:
            _record(desk.version, one)


def _turns(routed: list[_Routed]) -> list[list[_Routed]]:
    """Put each conversation's first message into the first turn, its second into the second, and so on."""
    turns: list[list[_Routed]] = []
    had: dict[str, int] = defaultdict(int)
    for one in routed:
        conversation_id = one.received.event.conversation_id
        if had[conversation_id] == len(turns):
            turns.append([])
        turns[had[conversation_id]].append(one)
        had[conversation_id] += 1
    return turns


def _routed(received: Received[CustomerMessage], read: Reading) -> _Routed:
    message = received.event
    reading = _wordless(read) if message.resumed_code else read
    return _Routed(received, reading, decide_route(reading, follows_open_turn=_follows_open_turn(message)))


async def _start(desk: Desk, one: _Routed) -> "asyncio.Future[Any]":
    message = one.received.event
    with continue_trace("router decide", one.received.headers):
        return await desk.publisher.start_event(
            WORK_BY_ROUTE[one.decision.route],
            message.conversation_id,
            _work_item(message, one.reading, one.decision),
            # The same message routed twice carries the same id, so that whoever works on it does so once.
            event_id=derived_id("router", one.received.event_id),
            occurred_at=one.received.occurred_at,
        )


def _wordless(reading: Reading) -> Reading:
    """A consumed code stands there as dots: what a model feels about dots must not stop the change it confirms."""
    return Reading({"other": 1.0}, reading.language)


def _asked(message: CustomerMessage) -> Asked:
    return Asked(message.text, tuple((turn.sender, turn.text) for turn in message.history), message.locale)


def _follows_open_turn(message: CustomerMessage) -> bool:
    # A consumed code and the answer to a read-back question mean nothing without the run that waits for them.
    return message.open_agent_turn or message.resumed_code or message.read_back


def _work_item(message: CustomerMessage, reading: Reading, decision: Decision) -> WorkItem:
    return WorkItem(
        message=message,
        route=decision.route,
        intent=decision.intent,
        confidence=round(decision.confidence, 4),
        probabilities={name: round(p, 4) for name, p in reading.probabilities.items()},
        language=reading.language,
        sentiment=reading.sentiment,
        flags=decision.flags,
    )


def _record(version: str, one: _Routed) -> None:
    """Log the decision with its probabilities, for measuring calibration again, and no word of the customer's."""
    message, reading, decision = one.received.event, one.reading, one.decision
    _decided.labels(decision.route, decision.intent, reading.language).inc()
    _confidence.observe(decision.confidence)
    _log.info(
        "routed",
        conversation_id=message.conversation_id,
        message_id=message.message_id,
        channel=message.channel,
        model=version,
        route=decision.route,
        intent=decision.intent,
        probabilities={name: round(p, 3) for name, p in reading.probabilities.items() if p >= 0.005},
        language=reading.language,
        sentiment=reading.sentiment,
        flags=list(decision.flags),
    )


HANDLERS = {MESSAGES.name: on_customer_messages}
