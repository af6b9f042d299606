"""A write that waits for the customer's word: read back on voice (SPEC §14), or until a one-time code was right."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agent.core.keywords import folded
from agent.core.state import Memory, RunProgress, SavedTurn, worse_guard
from agent.core.toolcalls import WRITES, Run
from agent.core.wording import say
from common.events import WorkItem
from common.events.model import Language

Json = dict[str, Any]
_YES = frozenset(
    {
        "yes",
        "yes please",
        "yep",
        "yeah",
        "correct",
        "that's right",
        "right",
        "si",
        "claro",
        "correcto",
        "oui",
        "c'est ca",
        "exact",
        "ja",
        "genau",
        "richtig",
        "stimmt",
        "ja bitte",
    }
)


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a conversation stands when a message is taken up: under which owner version, and the message id of the
    last thing that anybody but the customer said in it.
    """

    owner_version: int
    last_told: str | None


def says_yes(text: str) -> bool:
    """Say whether the whole message is a plain yes; anything with an if or a but is not."""
    return folded(text).strip(" .!,¡") in _YES


def needs_read_back(work: WorkItem, run: RunProgress, call: Run) -> bool:
    """On voice a write is read back first; one that this very message confirmed goes ahead."""
    return work.message.read_back and call.name in WRITES and call.canonical != run.confirmed_call


def hold(work: WorkItem, run: RunProgress, call: Run, waits_for: Literal["yes", "code"]) -> Json:
    """Return the write as it waits, with what router and guard made of the message that asked for it."""
    made_of_it = {"confidence": confidence_of(work, run), "guard": worse_guard(run.guard or "down", run.wish_guard)}
    return {"name": call.name, "args": call.args, "for": waits_for} | made_of_it


def hold_for_yes(work: WorkItem, run: RunProgress, call: Run, owner_version: int, at: datetime) -> Json:
    """Return the write as it waits for the answer to the question that is about to be asked."""
    asked = {"in": work.message.message_id, "seq": work.message.seq, "owner_version": owner_version}
    return hold(work, run, call, "yes") | {"asked": asked | {"at": at.isoformat()}}


def answers_read_back(work: WorkItem, held: Json, now: Moment) -> bool:
    """Say whether this message can be the answer to the read-back question: the very next one, sent after it.

    Nobody else may have been spoken to, have had the conversation or have said anything since, on whichever route: a
    "yes" that comes later answers something else.
    """
    asked, message = held.get("asked"), work.message
    if asked is None or message.received_at < datetime.fromisoformat(asked["at"]):
        return False
    next_one = {"in": now.last_told, "seq": message.seq - 1, "owner_version": now.owner_version}
    return {name: asked[name] for name in next_one} == next_one


def confidence_of(work: WorkItem, run: RunProgress) -> float:
    """Return how sure the router was of the wish that this run carries out."""
    return work.confidence if run.wish_confidence is None else run.wish_confidence


def take_up_held_call(work: WorkItem, memory: Memory, run: RunProgress, canonical: str | None, now: Moment) -> bool:
    """When what a held write waited for has come, make it this run's first turn.

    Whatever else comes drops a write that waits for a yes; one that waits for a code goes on waiting.

    ``canonical`` is the held call's canonical form, which a confirmation is bound to.
    """
    held, memory.held_call = memory.held_call, None
    if held is None or canonical is None:
        return False
    waits_for_code = held["for"] == "code"
    if waits_for_code:
        released = work.message.resumed_code
    else:
        released = says_yes(work.message.text) and answers_read_back(work, held, now)
    if not released:
        memory.held_call = held if waits_for_code else None
        return False
    run.confirmed_call = canonical
    run.wish_guard = held.get("guard", "clean")
    if not waits_for_code:
        # A code is asked for by name of what it opens, and typing it is as plain as a wish gets; a "yes" says nothing
        # of how sure the router was of what is being confirmed.
        run.wish_confidence = held.get("confidence")
    call = {"id": f"toolu_held_{work.message.message_id[-12:]}", "name": held["name"], "input": held["args"]}
    run.turn = SavedTurn(text="", calls=[call], stop_reason="tool_use")
    return True


def read_back_question(language: Language, call: Run, currency: str) -> str:
    """Return the question that repeats what is about to happen."""
    args = call.args
    if call.name == "issue_refund":
        amount = f"{args['amount']} {currency}".strip()
        return say(language, "read_back_refund", amount=amount, line=str(args["line_id"]), order=str(args["order_id"]))
    values = ", ".join(str(v) for v in args.values() if isinstance(v, str))
    return say(language, "read_back_other", what=f"{call.name.replace('_', ' ')} ({values})")
