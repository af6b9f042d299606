"""What the guard has still to judge of what a conversation's model reads, and what a write has to carry meanwhile.

A text counts as "down" from the moment it is taken in until the guard has answered for it, in whichever turn that is;
so a write can start on nothing that nobody has judged (R15), and an outage is made good when the guard is back.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from agent.core.state import GuardName, Memory, Unjudged

Json = dict[str, Any]
# More than this can't be kept for later with every checkpoint. Texts that nobody judged and nobody can judge any more
# tighten for good, like one that was flagged.
_KEPT_CHARS = 60_000


def take_in_words(memory: Memory, window: Sequence[Json], message_id: str, text: str) -> None:
    """Note what the customer says, and said in the ``window`` that the model is shown (entries of the transcript).

    Messages answered on other routes and those sent to a person stand there too, and nobody has judged them.
    """
    said = {entry["message_id"]: entry["text"] for entry in window if entry["sender"] == "customer"}
    said[message_id] = text
    _note(memory, (Unjudged(where="customer", text=t) for m, t in said.items() if m not in memory.heard))
    memory.heard = list(said)


def take_in_records(memory: Memory, texts: Iterable[str]) -> list[Unjudged]:
    """Note texts that a tool returned, each on its own; returns them."""
    found = [Unjudged(where="tool_result", text=text) for text in dict.fromkeys(texts)]
    _note(memory, found)
    return found


def settle(memory: Memory, text: Unjudged, verdict: GuardName) -> None:
    """Book the guard's answer for one text; "down" is none."""
    if verdict == "down":
        return
    memory.unjudged = [one for one in memory.unjudged if one != text]
    memory.flagged = memory.flagged or verdict == "flagged"


def bound_unjudged(memory: Memory) -> None:
    """Keep what waits for its verdict small enough to be saved."""
    if sum(len(one.text) for one in memory.unjudged) > _KEPT_CHARS:
        memory.unjudged, memory.flagged = [], True


def guard_of(memory: Memory) -> GuardName:
    """Return the worst that is known of any text of the conversation; a write carries no better one."""
    if memory.flagged:
        return "flagged"
    return "down" if memory.unjudged else "clean"


def _note(memory: Memory, texts: Iterable[Unjudged]) -> None:
    memory.unjudged = list(dict.fromkeys([*memory.unjudged, *texts]))
