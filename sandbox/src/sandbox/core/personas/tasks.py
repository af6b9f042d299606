"""Calls that aren't a conversation: hand-over summaries and yes/no judgments asked for as JSON."""

import json
import re
from dataclasses import replace

from sandbox.core.personas.reading import fold, read
from sandbox.core.turn import Conversation, Said, Turn

_SUMMARY = re.compile(
    r"\bsum(mari[sz]e)?\b.{0,40}\b(up|conversation|support)|three(-| short | plain )?\s*lines?|hand-?over summary",
    re.IGNORECASE,
)
_GUARD = re.compile(r"\"?verdict\"?.{0,40}\bflagged\b", re.IGNORECASE | re.DOTALL)
_CLASSIFIER = re.compile(r"\bintents?\b.*\bJSON\b|\bJSON\b.*\bintents?\b", re.IGNORECASE | re.DOTALL)
_STEERING = re.compile(
    r"ignore (all|any|your|the|previous)|system prompt|pre-?approved|you are now|\b(ai|assistant) (must|should)|"
    r"ignora|ignorez|ignoriere|<system|developer mode"
)
_INTENTS = {
    "person": "asks_for_human", "cancel": "cancel_order", "address": "change_address", "account": "account_update",
    "label": "return_request", "refund": "refund", "tracking": "where_is_my_order", "question": "policy_question",
    "thanks": "other",
}  # fmt: skip
_OURS = re.compile(r"\s*(agent|assistant|us|staff|system)\s*:", re.IGNORECASE)
_LINE_CHARS = 160


def is_task(conversation: Conversation) -> bool:
    """Say whether the instructions ask for a summary or a judgment rather than a reply to the customer."""
    if conversation.tools:
        return False
    return any(pattern.search(conversation.system) for pattern in (_SUMMARY, _GUARD, _CLASSIFIER))


def do_task(conversation: Conversation) -> Turn:
    """Return the summary's three lines, or the JSON asked for."""
    if _GUARD.search(conversation.system):
        steering = _STEERING.search(fold(" ".join([conversation.last, *conversation.notes])))
        judged = {"verdict": "flagged", "reasons": ["steering"]} if steering else {"verdict": "clean", "reasons": []}
        return Turn(json.dumps(judged))
    if _SUMMARY.search(conversation.system):
        return Turn(_summary(conversation))
    return Turn(json.dumps(_classified(conversation)))


def _classified(conversation: Conversation) -> dict[str, object]:
    """Return the reading of the newest text; it may come as a JSON list of turns."""
    asked = replace(conversation, said=(Said("customer", _newest(conversation.last)),))
    reading = read(asked)
    return {
        "intent": _INTENTS[reading.wish],
        "confidence": 0.9,
        "language": reading.language,
        "sentiment": 0.0,
        "multi_intent": False,
    }


def _newest(text: str) -> str:
    try:
        turns = json.loads(text)
        return str(turns[-1]["text"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return text


def _summary(conversation: Conversation) -> str:
    lines = [line for line in "\n".join(conversation.customer or conversation.notes).splitlines() if line.strip()]
    ours = [line.partition(":")[2] for line in lines if _OURS.match(line)]
    theirs = [
        re.sub(r"^\s*customer\s*:", "", line, flags=re.IGNORECASE) for line in lines if not _OURS.match(line)
    ] or ["-"]
    return "\n".join(
        (
            f"The customer wrote: {_short(theirs[0])}",
            f"Our last answer: {_short(ours[-1]) if ours else 'none yet'}",
            f"Open: {_short(theirs[-1])}",
        )
    )


def _short(text: str) -> str:
    flat = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    return flat if len(flat) <= _LINE_CHARS else f"{flat[: _LINE_CHARS - 1]}…"
