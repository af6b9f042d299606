"""The event contract is what the code says, and yesterday's events are still read."""

import json
from pathlib import Path

import pytest

from common import asyncapi, topics
from common.events.model import Event

GOLDEN = Path(__file__).parent / "golden"
CONTRACTS = Path(__file__).parents[3] / "docs" / "contracts"
MODELS = {model.__name__: model for model in asyncapi.CARRIES.values()}


def test_the_committed_asyncapi_is_what_the_code_says() -> None:
    fresh = "run: python -m common.asyncapi docs/contracts"
    assert json.loads((CONTRACTS / "asyncapi.json").read_text()) == asyncapi.document(), fresh
    assert (CONTRACTS / "asyncapi.html").read_text() == asyncapi.page(), fresh


def test_every_topic_carries_a_model_and_every_model_has_a_golden_example() -> None:
    assert set(asyncapi.CARRIES) == set(topics.ALL)
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(MODELS)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_golden_example_is_read_whole_and_with_fields_from_the_future(model: type[Event]) -> None:
    golden = json.loads((GOLDEN / f"{model.__name__}.json").read_text())
    event = model.model_validate_json(json.dumps(golden | {"a_field_of_next_year": {"x": 1}}))
    assert json.loads(event.model_dump_json(by_alias=True)) == golden


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_an_event_without_one_of_its_required_facts_is_malformed(model: type[Event]) -> None:
    golden = json.loads((GOLDEN / f"{model.__name__}.json").read_text())
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    assert required
    for name in required:
        with pytest.raises(ValueError, match=name):
            model.model_validate_json(json.dumps({k: v for k, v in golden.items() if k != name}))


def test_topics_that_carry_tokens_are_kept_a_day() -> None:
    with_tokens = [
        t for t, m in asyncapi.CARRIES.items() if {"assertion", "credential", "message", "tell"} & set(m.model_fields)
    ]
    assert {t.retention_h for t in with_tokens} == {24}
