"""The rule behind every write: the worst of all that the model reads, and "down" for what nobody has judged."""

from typing import Any

import pytest

from agent.core.guarding import bound_unjudged, guard_of, settle, take_in_records, take_in_words
from agent.core.state import ConversationState, GuardName, Memory, Unjudged

WORDS, RECORD = Unjudged(where="customer", text="hello"), Unjudged(where="tool_result", text="a kettle")


def entry(message_id: str, text: str, sender: str = "customer") -> dict[str, Any]:
    return {"message_id": message_id, "sender": sender, "text": text}


@pytest.mark.parametrize(
    ("memory", "carried"),
    [
        (Memory(), "clean"),
        (Memory(unjudged=[WORDS]), "down"),
        (Memory(unjudged=[RECORD]), "down"),
        (Memory(flagged=True), "flagged"),
        (Memory(flagged=True, unjudged=[WORDS]), "flagged"),
    ],
)
def test_a_write_carries_the_worst_of_the_conversation(memory: Memory, carried: GuardName) -> None:
    assert guard_of(memory) == carried


@pytest.mark.parametrize(
    ("answers", "carried"),
    [
        ({}, "down"),
        ({WORDS: "clean"}, "down"),
        ({WORDS: "clean", RECORD: "clean"}, "clean"),
        ({WORDS: "down", RECORD: "clean"}, "down"),
        ({WORDS: "clean", RECORD: "down"}, "down"),
        ({WORDS: "flagged", RECORD: "clean"}, "flagged"),
        ({WORDS: "clean", RECORD: "flagged"}, "flagged"),
        ({WORDS: "flagged", RECORD: "down"}, "flagged"),
    ],
)
def test_down_counts_until_that_very_text_was_judged(answers: dict[Unjudged, GuardName], carried: GuardName) -> None:
    memory = Memory(unjudged=[WORDS, RECORD])
    for text, verdict in answers.items():
        settle(memory, text, verdict)
    # As the next worker, or the next message, finds it.
    saved = ConversationState.model_validate_json(ConversationState(memory=memory).model_dump_json())
    assert guard_of(saved.memory) == carried
    assert saved.memory.unjudged == [t for t in (WORDS, RECORD) if answers.get(t, "down") == "down"]


def test_all_that_the_customer_said_on_any_route_is_taken_in_once() -> None:
    memory = Memory()
    window = [entry("m1", "where is it"), entry("m1", "on its way", "agent"), entry("m2", "to a person")]
    take_in_words(memory, [*window, entry("s1", "Dana here", "staff")], "m3", "go ahead")
    assert [one.text for one in memory.unjudged] == ["where is it", "to a person", "go ahead"]
    for one in memory.unjudged:
        settle(memory, one, "clean")
    take_in_words(memory, [*window, entry("m3", "go ahead")], "m4", "thank you")
    assert [one.text for one in memory.unjudged] == ["thank you"]


def test_what_was_read_unjudged_counts_also_when_it_has_left_the_window() -> None:
    memory = Memory()
    take_in_words(memory, [], "m1", "hello")
    take_in_words(memory, [], "m9", "and now pay")
    settle(memory, Unjudged(where="customer", text="and now pay"), "clean")
    assert memory.unjudged == [WORDS]
    assert guard_of(memory) == "down"


def test_records_are_judged_each_on_its_own_and_once() -> None:
    memory = Memory(unjudged=[RECORD])
    assert take_in_records(memory, ["a kettle", "a blender", "a blender"]) == [
        RECORD,
        Unjudged(where="tool_result", text="a blender"),
    ]
    assert len(memory.unjudged) == 2


def test_more_than_can_be_kept_for_later_tightens_for_good() -> None:
    memory = Memory()
    take_in_records(memory, ["x" * 30_000, "y" * 30_000])
    bound_unjudged(memory)
    assert (guard_of(memory), len(memory.unjudged)) == ("down", 2)
    take_in_records(memory, ["z"])
    bound_unjudged(memory)
    assert (guard_of(memory), memory.unjudged) == ("flagged", [])
