"""What the router's tests share: readings by hand, received records, one loaded reader."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from common.consumer import Received
from common.events import CustomerMessage
from router.adapters.local import LocalReader, load_reader
from router.core.intents import INTENTS
from router.core.reading import Reading, with_evidence

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def reader() -> LocalReader:
    return load_reader()


@pytest.fixture
def reading() -> Callable[..., Reading]:
    """A reading whose likeliest intent holds ``p``, the rest spread evenly; other fields as given."""

    def make(intent: str, p: float, **fields: Any) -> Reading:
        even = {name: 1 / len(INTENTS) for name in INTENTS}
        return Reading(with_evidence(even, intent, p), fields.pop("language", "en"), **fields)

    return make


@pytest.fixture
def received() -> Callable[..., Received[CustomerMessage]]:
    def make(text: str, event_id: str = "e1", **fields: Any) -> Received[CustomerMessage]:
        facts = {
            "conversation_id": "conv_1",
            "message_id": f"msg_{event_id}",
            "seq": 1,
            "text": text,
            "channel": "chat",
            "received_at": AT,
            **fields,
        }
        message = CustomerMessage.model_validate(facts)
        return Received(message, event_id, message.conversation_id, AT, {})

    return make
