"""When a turn's time is over: for another model call, for a read, and sooner for a write."""

import pytest

from agent.core.limits import Limits
from agent.core.state import RunProgress, SavedTurn
from agent.core.steps import AskModel, CheckInput, CloseRound, GiveUp, RunTool, Speak, Step, out_of_time

LIMITS = Limits(turn_budget_s=60.0, reserve_s=2.0, write_needs_s=12.0)
CALLS = [{"id": "a", "name": "get_order", "input": {}}, {"id": "b", "name": "issue_refund", "input": {}}]
RUN = RunProgress(message_id="msg_1", turn=SavedTurn(text="", calls=CALLS, stop_reason="tool_use"))
READ, WRITE = RunTool(0), RunTool(1)


@pytest.mark.parametrize(
    ("step", "spent_s", "is_over"),
    [
        (AskModel(), 57.9, False),
        (AskModel(), 58.0, True),
        (READ, 57.9, False),
        (READ, 58.0, True),
        (WRITE, 45.9, False),
        (WRITE, 46.0, True),
        (CheckInput(), 90.0, False),
        (CloseRound(), 90.0, False),
        (Speak("It is on its way."), 90.0, False),
        (GiveUp("lost", is_limit=False), 90.0, False),
    ],
)
def test_each_step_has_its_own_last_moment(step: Step, spent_s: float, is_over: bool) -> None:
    assert (out_of_time(step, RUN, LIMITS, spent_s) is not None) is is_over
