"""Which message confirms a write that was read back: the very next one, and nothing else that says yes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.core.confirming import Moment, hold_for_yes, take_up_held_call
from agent.core.state import Memory, RunProgress
from agent.core.toolcalls import Run, canonical_call
from common.events import CustomerMessage, WorkItem

ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
REFUND = canonical_call("issue_refund", ARGS)
ASKED_AT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
RIGHT_AFTER = Moment(owner_version=3, last_told="msg_4")


def spoken(text: str = "Yes.", seq: int = 5, after_s: float = 4.0) -> WorkItem:
    message = CustomerMessage(
        conversation_id="conv_1", message_id=f"msg_{seq}", seq=seq, text=text, channel="voice", customer_id="C-1001",
        assertion="…", visitor=False, received_at=ASKED_AT + timedelta(seconds=after_s), read_back=True,
    )  # fmt: skip
    return WorkItem(message=message, route="agent", intent="other", confidence=0.9, language="en")


def held_since_message_4() -> dict[str, Any]:
    asked, run = spoken("Refund my blender", seq=4, after_s=-2), RunProgress(message_id="msg_4", guard="clean")
    return hold_for_yes(asked, run, Run("toolu_1", "issue_refund", ARGS, REFUND), 3, ASKED_AT)


@pytest.mark.parametrize(
    ("why", "answer", "now", "confirms"),
    [
        ("the next message", spoken(), RIGHT_AFTER, True),
        ("in another language", spoken("Sí"), RIGHT_AFTER, True),
        ("anything but a yes", spoken("No, I want a human"), RIGHT_AFTER, False),
        ("a message lies between", spoken(seq=6), RIGHT_AFTER, False),
        ("a person had it in between", spoken(), Moment(5, "msg_4"), False),
        ("something else was asked since", spoken(), Moment(3, "quiet_1"), False),
        ("nothing was ever asked", spoken(), Moment(3, None), False),
        ("said before the question was", spoken(after_s=-1), RIGHT_AFTER, False),
    ],
)
def test_only_the_answer_to_the_question_confirms(why: str, answer: WorkItem, now: Moment, confirms: bool) -> None:
    memory, run = Memory(held_call=held_since_message_4()), RunProgress(message_id=answer.message.message_id)
    assert take_up_held_call(answer, memory, run, REFUND, now) is confirms, why
    assert (run.turn is not None) is confirms
    assert memory.held_call is None


def test_a_write_held_without_a_note_of_its_question_is_asked_again() -> None:
    memory, run = Memory(held_call=held_since_message_4()), RunProgress(message_id="msg_5")
    assert memory.held_call is not None
    del memory.held_call["asked"]
    assert not take_up_held_call(spoken(), memory, run, REFUND, RIGHT_AFTER)


def test_a_code_may_come_after_other_messages_and_people() -> None:
    held = held_since_message_4() | {"for": "code"}
    memory, run = Memory(held_call=held), RunProgress(message_id="msg_9")
    assert not take_up_held_call(spoken("wait", seq=8), memory, run, REFUND, Moment(7, "msg_7"))
    assert memory.held_call == held
    code = spoken("••••••", seq=9)
    code = code.model_copy(update={"message": code.message.model_copy(update={"resumed_code": True})})
    assert take_up_held_call(code, memory, run, REFUND, Moment(7, "msg_7"))
