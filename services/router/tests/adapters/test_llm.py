"""The model as classifier: believed only when its JSON is exactly what was asked for."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import pytest

from router.adapters.llm import LlmClassifier, reading_from_json
from router.core.reading import Asked, Reading

_GOOD = {"intent": "refund", "confidence": 0.9, "language": "fr", "sentiment": -0.5, "multi_intent": True}


class FakeLocal:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    async def read_all(self, asked: Sequence[Asked]) -> list[Reading]:
        return [self.reading] * len(asked)

    async def close(self) -> None: ...


class FakeClient:
    """Stands where ``AsyncAnthropic`` does; answers with one text or raises."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.calls = answer, []  # type: ignore[var-annotated]
        self.messages = self

    async def create(self, **request: Any) -> Any:
        self.calls.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        block = type("Block", (), {"type": "text", "text": self.answer})()
        return type("Message", (), {"content": [block]})()

    async def close(self) -> None: ...


def test_a_good_answer_becomes_a_reading() -> None:
    reading = reading_from_json(json.dumps(_GOOD))
    assert reading.best() == ("refund", pytest.approx(0.9))
    assert (reading.language, reading.sentiment, reading.multi_intent) == ("fr", -0.5, True)
    assert sum(reading.probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"intent": "money"},
        {"language": "it"},
        {"confidence": 1.4},
        {"confidence": True},
        {"sentiment": "bad"},
        {"confidence": None},
    ],
)
def test_an_answer_out_of_shape_is_no_reading(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="model's"):
        reading_from_json(json.dumps(_GOOD | change))


@pytest.mark.parametrize(
    "answer", ["not json", "[]", json.dumps(_GOOD | {"intent": "x"}), anthropic.AnthropicError("down"), TimeoutError()]
)
async def test_the_local_reading_stands_in_when_the_model_fails(
    answer: str | Exception, reading: Callable[..., Reading]
) -> None:
    own = reading("complaint", 0.8)
    classifier = LlmClassifier(FakeClient(answer), "small", 1.0, FakeLocal(own))  # type: ignore[arg-type]
    assert await classifier.read_all([Asked("hm")]) == [own]


async def test_the_model_sees_three_turns_and_the_word_rules_still_speak(reading: Callable[..., Reading]) -> None:
    client = FakeClient(json.dumps(_GOOD | {"confidence": 0.5}))
    classifier = LlmClassifier(client, "small", 1.0, FakeLocal(reading("other", 0.9)))  # type: ignore[arg-type]
    history = tuple(("customer", f"turn {n}") for n in range(5))
    found = (await classifier.read_all([Asked("I want to talk to a human", history)]))[0]
    assert found.asked_for_person
    question = json.loads(client.calls[0]["messages"][0]["content"])
    assert [turn["text"] for turn in question] == ["turn 2", "turn 3", "turn 4", "I want to talk to a human"]
