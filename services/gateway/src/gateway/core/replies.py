"""What becomes of reply events: which are kept, which come too late, what an ended message leaves (R14, C9)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from common.events import ReplyEvent
from gateway.core.frames import AUTHORS, compact

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
# What the customer sees of an answer whose conversation a person took over in the meantime.
_OVERTAKEN: dict[str, Any] = {"route": "human", "handoff": True, "citations": [], "reply": ""}


@dataclass(frozen=True)
class Known:
    """What the store already holds: the conversation's owner version, and per message its last seq and end."""

    owner_version: int
    last_seq: dict[str, int]
    finished: frozenset[str]


@dataclass(frozen=True)
class Kept:
    """One event to store."""

    message_id: str
    seq: int
    event: str
    data: dict[str, Any]
    writer: str
    owner_version: int

    @cached_property
    def body(self) -> str:
        """The data as JSON: written once, for the store and for every stream."""
        return compact(self.data)


@dataclass(frozen=True)
class Finished:
    """A message that ended: the text for the transcript and where it goes. Empty text leaves no line."""

    message_id: str
    author: str
    channel: str
    thread_ref: str | None
    text: str
    language: str | None


@dataclass(frozen=True)
class Plan:
    """What one batch of one conversation's events does to the store. ``status`` None: nothing learned."""

    events: tuple[Kept, ...]
    finished: tuple[Finished, ...]
    owner_version: int
    status: str | None
    open_agent_turn: bool | None
    dropped: int


def plan_replies(known: Known, events: Sequence[ReplyEvent]) -> Plan:
    """Decide a batch, in order. An agent's event older than the newest owner version is dropped; its `done` becomes the
    person's, so that a stream that waits for it ends truthfully.
    """
    version, last, done = known.owner_version, dict(known.last_seq), set(known.finished)
    kept: list[Kept] = []
    finished: list[Finished] = []
    status: str | None = None
    open_turn: bool | None = None
    dropped = 0
    for event in events:
        stale = event.writer == "agent" and event.owner_version < version
        version = max(version, event.owner_version)
        repeated = event.seq <= last.get(event.message_id, 0)
        if event.message_id in done or repeated or (stale and event.event != "done"):
            dropped += 1
            continue
        if stale:
            dropped += 1
            seq, data = last.get(event.message_id, 0) + 1, {"message_id": event.message_id, **_OVERTAKEN}
        else:
            seq, data = event.seq, event.data
        last[event.message_id] = seq
        keep = Kept(event.message_id, seq, event.event, data, event.writer, event.owner_version)
        if not _is_storable(keep.body):
            data = storable(data)
            keep = replace(keep, data=data)
        kept.append(keep)
        if event.event == "done":
            done.add(event.message_id)
            finished.append(_finish(event, data))
            if event.writer == "agent":
                status, open_turn = _learn(data)
    return Plan(tuple(kept), tuple(finished), version, status, open_turn, dropped)


def _finish(event: ReplyEvent, data: dict[str, Any]) -> Finished:
    reply, language = data.get("reply"), data.get("language")
    return Finished(
        message_id=event.message_id,
        author=AUTHORS[event.writer],
        channel=event.channel,
        thread_ref=event.thread_ref,
        text=reply if isinstance(reply, str) else "",
        language=language if isinstance(language, str) else None,
    )


def _learn(data: dict[str, Any]) -> tuple[str, bool]:
    """Read the conversation's status and whether the agent waits for an answer out of an agent's `done`."""
    handoff, reply = bool(data.get("handoff")), data.get("reply")
    asks = isinstance(reply, str) and any(mark in reply for mark in "?？")
    return ("with_person" if handoff else "active"), data.get("route") == "agent" and not handoff and asks


def storable(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data without what JSONB refuses (U+0000, half a surrogate pair): a reply isn't lost over one sign."""
    if _is_storable(compact(data)):
        return data
    cleaned: dict[str, Any] = _clean(data)
    return cleaned


def _is_storable(body: str) -> bool:
    return "\\u0000" not in body and (body.isascii() or _HALF_A_PAIR.search(body) is None)


def _clean(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\x00", "�").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_clean(name): _clean(item) for name, item in value.items()}
        case list() | tuple():
            return [_clean(item) for item in value]
        case _:
            return value
