"""The batch handler with a fake classifier and a fake publisher."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from common.consumer import Received
from common.events import CustomerMessage, WorkItem
from common.topics import Topic
from router.core.reading import Asked, Reading
from router.handlers import Desk, on_customer_messages


class FakeClassifier:
    def __init__(self, *readings: Reading) -> None:
        self.readings, self.asked = list(readings), []  # type: ignore[var-annotated]

    async def read_all(self, asked: Sequence[Asked]) -> list[Reading]:
        self.asked.append(list(asked))
        return self.readings[: len(asked)]

    async def close(self) -> None: ...


class FakePublisher:
    def __init__(self) -> None:
        self.sent: list[tuple[Topic, str, WorkItem, str]] = []
        self.open: set[str] = set()
        self.most_open = 0

    async def start_event(
        self, topic: Topic, key: str, event: BaseModel, *, event_id: str, occurred_at: datetime
    ) -> "asyncio.Future[Any]":
        assert isinstance(event, WorkItem)
        assert key not in self.open, "a conversation's next message waits for the broker's word on the one before"
        self.open.add(key)
        self.most_open = max(self.most_open, len(self.open))
        self.sent.append((topic, key, event, event_id))
        return asyncio.create_task(self._acknowledge(key))

    async def _acknowledge(self, key: str) -> None:
        await asyncio.sleep(0)
        self.open.remove(key)


async def test_a_message_goes_to_the_topic_of_its_route(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    classifier = FakeClassifier(
        reading("where_is_my_order", 0.95),
        reading("policy_question", 0.95),
        reading("refund", 0.95),
        reading("legal", 0.95),
    )
    batch = [received(f"text {n}", f"e{n}", conversation_id=f"conv_{n}") for n in range(4)]
    await on_customer_messages(Desk(classifier, publisher, "v1"), batch)
    by_key = {key: (topic.name, item.route) for topic, key, item, _ in publisher.sent}
    assert by_key == {
        "conv_0": ("support.work.fixed.v1", "fixed"),
        "conv_1": ("support.work.rag.v1", "rag"),
        "conv_2": ("support.work.agent.v1", "agent"),
        "conv_3": ("support.work.human.v1", "human"),
    }
    assert len(classifier.asked) == 1, "one batch is one call of the classifier"


async def test_the_work_item_carries_message_and_reading(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    asked = received("mug broke", assertion="signed", locale="de-AT", history=[{"from": "us", "text": "Hi"}])
    classifier = FakeClassifier(reading("refund", 0.6, language="de", sentiment=-0.4))
    await on_customer_messages(Desk(classifier, publisher, "v1"), [asked])
    item = publisher.sent[0][2]
    assert item.message == asked.event
    assert (item.intent, item.confidence, item.language, item.sentiment) == ("refund", 0.6, "de", -0.4)
    assert item.flags == ("low_confidence",)
    assert sum(item.probabilities.values()) == pytest.approx(1.0, abs=0.01)
    assert classifier.asked[0] == [Asked("mug broke", (("us", "Hi"),), "de-AT")]


async def test_a_second_delivery_carries_the_same_event_id(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    desk = Desk(FakeClassifier(reading("refund", 0.9)), publisher, "v1")
    for event_id in ("a", "a", "b"):
        await on_customer_messages(desk, [received("x", event_id)])
    first, second, other = (event_id for *_, event_id in publisher.sent)
    assert first == second != other
    assert first != "a", "the work item is an event of its own"


async def test_a_conversations_messages_keep_their_order(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    classifier = FakeClassifier(*(reading("refund", 0.9) for _ in range(6)))
    batch = [received("x", f"{n}", conversation_id=f"conv_{n % 2}", seq=n + 1) for n in range(6)]
    await on_customer_messages(Desk(classifier, publisher, "v1"), batch)
    for conversation in ("conv_0", "conv_1"):
        order = [item.message.seq for _, key, item, _ in publisher.sent if key == conversation]
        assert order == sorted(order)
    assert publisher.most_open == 2, "the conversations' messages share a request"


@pytest.mark.parametrize("state", ["open_agent_turn", "resumed_code", "read_back"])
async def test_what_answers_the_agent_goes_back_to_it(
    state: str, reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    desk = Desk(FakeClassifier(reading("where_is_my_order", 0.99)), publisher, "v1")
    await on_customer_messages(desk, [received("yes", **{state: True})])
    assert publisher.sent[0][2].route == "agent"
    assert "follow_up" in publisher.sent[0][2].flags


async def test_the_logged_decision_has_probabilities_and_nothing_personal(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    desk = Desk(FakeClassifier(reading("refund", 0.9)), FakePublisher(), "v1")
    with capture_logs() as logs:
        await on_customer_messages(desk, [received("my name is Ada Byron", customer_id="C-77", assertion="eyJ")])
    entry = next(log for log in logs if log["event"] == "routed")
    assert entry["probabilities"]["refund"] == 0.9
    assert entry["model"] == "v1"
    assert not any(secret in json.dumps(entry) for secret in ("Ada", "C-77", "eyJ"))


async def test_a_failed_publication_fails_the_batch(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    class Broken(FakePublisher):
        async def _acknowledge(self, key: str) -> None:
            raise OSError("no broker")

    with pytest.raises(OSError, match="no broker"):
        await on_customer_messages(Desk(FakeClassifier(reading("refund", 0.9)), Broken(), "v1"), [received("x")])


async def test_a_consumed_code_is_no_angry_word_and_no_sensitive_topic(
    reading: Callable[..., Reading], received: Callable[..., Received[CustomerMessage]]
) -> None:
    publisher = FakePublisher()
    upset = reading("account_security", 0.95, language="fr", sentiment=-0.9)
    dots = received("••••••", "e1", resumed_code=True)
    await on_customer_messages(Desk(FakeClassifier(upset), publisher, "v1"), [dots])
    topic, _, item, _ = publisher.sent[0]
    assert (topic.name, item.route, item.sentiment, item.language) == ("support.work.agent.v1", "agent", 0.0, "fr")
    assert "low_confidence" not in item.flags
