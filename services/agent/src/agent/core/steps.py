"""What a run does next, read from its checkpoint alone: the same in whoever began it and in whoever resumes."""

from dataclasses import dataclass
from typing import TypeAlias

from agent.core.limits import Limits
from agent.core.state import RunProgress
from agent.core.toolcalls import WRITES

TURN_CUT = "the turn ended before this call was complete; nothing was run"


@dataclass(frozen=True, slots=True)
class CheckInput:
    """Ask the guard about all that the customer says and said; no write may start before it has answered (R15)."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """One model call."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Judge and run the next call of the saved turn that has no result yet."""

    position: int


@dataclass(frozen=True, slots=True)
class CloseRound:
    """Every call has its one result: the round becomes part of what the model sees."""


@dataclass(frozen=True, slots=True)
class Speak:
    """The model has finished: check those of its words that haven't left yet and send them."""

    text: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """A limit ran out or the model is lost: a person takes over. ``is_limit`` tells a budget from being stuck."""

    detail: str
    is_limit: bool


Step: TypeAlias = CheckInput | AskModel | RunTool | CloseRound | Speak | GiveUp


def next_step(run: RunProgress, limits: Limits) -> Step:  # noqa: PLR0911 - one line a rule
    """Return the one step that the checkpoint asks for."""
    if run.guard is None:
        return CheckInput()
    if run.turn is None:
        if run.model_calls >= limits.model_calls_per_message:
            return GiveUp(f"{run.model_calls} model calls for one message", is_limit=True)
        if run.broken_turns > limits.broken_turns_per_message:
            return GiveUp("the model's turns keep breaking off", is_limit=False)
        return AskModel()
    for position, call in enumerate(run.turn.calls):
        if call["id"] not in run.results:
            return RunTool(position)
    if run.turn.calls:
        return CloseRound()
    return Speak(run.turn.text if run.turn.unsaid is None else run.turn.unsaid)


def out_of_time(step: Step, run: RunProgress, limits: Limits, spent_s: float) -> str | None:
    """Return why there is no time left for this step, or None; words that are ready still go out."""
    match step:
        case AskModel():
            needed_s = 0.0
        case RunTool(position):
            assert run.turn is not None
            needed_s = limits.write_needs_s if run.turn.calls[position]["name"] in WRITES else 0.0
        case _:
            return None
    return None if limits.left_s(spent_s) > needed_s else f"the message's time ran out after {spent_s:.0f} s"


def may_have_written(run: RunProgress) -> bool:
    """Say whether a worker that died at this checkpoint may have made a write that it couldn't book any more."""
    if run.turn is None or not tools_may_run(run):
        return False
    return any(call["name"] in WRITES and call["id"] not in run.results for call in run.turn.calls)


def tools_may_run(run: RunProgress) -> bool:
    """A tool runs only if the turn really ended to have it run (R16); cut-off arguments can parse."""
    return run.turn is not None and run.turn.stop_reason == "tool_use"
