"""Whose a Kafka record is: by the fields that name somebody, never by what a text happens to mention."""

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Any

from aiokafka import ConsumerRecord

from common.privacy.subject import Subject

# The fields of our events that say whose they are. A text that quotes somebody's number is its writer's.
_CONVERSATION, _CUSTOMER, _THREAD = "conversation_id", "customer_id", "thread_ref"
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")
# What makes an unreadable record one to drop when it stands there whole.
_EDGE = r"(?<![A-Za-z0-9_.@+-]){}(?![A-Za-z0-9_@+-]|\.[A-Za-z0-9])"


def is_theirs(record: ConsumerRecord, subject: Subject) -> bool:
    """Say whether the record is the customer's, by its own fields or, where they name nobody, by its key."""
    body, key = _read(record.value), _text(record.key or b"")
    if isinstance(body, dict):
        named = _named(body)
        if named is not None:
            # It says whose it is: then no other name in it counts.
            return named == subject.customer_id
        if _names_them(body, subject) or _folded(key) in _all_folded(subject):
            return True
    return key in (subject.conversations | subject.keys)


def mentions_them(record: ConsumerRecord, subject: Subject) -> bool:
    """Say whether a record that can't be read as an event has a name of theirs in it: reason enough to drop it."""
    if record.value is None or isinstance(_read(record.value), dict):
        return False
    names = {subject.customer_id} | subject.conversations | subject.addresses
    text = _text(record.value) + " " + _text(record.key or b"")
    return any(re.search(_EDGE.format(re.escape(name)), text, re.IGNORECASE) for name in names if name)


def _named(body: dict[str, Any]) -> str | None:
    """Return the customer an event or the message inside it says it is about."""
    inner = body.get("message")
    for part in (body, inner if isinstance(inner, dict) else {}):
        if isinstance(owner := part.get(_CUSTOMER), str):
            return owner
    return None


def _names_them(body: dict[str, Any], subject: Subject) -> bool:
    # As text: an unreadable event may have anything in these places.
    if str(body.get(_CONVERSATION)) in subject.conversations or str(body.get("key")) in subject.keys:
        return True
    inner = body.get("message")
    if isinstance(inner, dict) and _names_them(inner, subject):
        return True
    return _from_their_channel(body, subject)


def _from_their_channel(body: dict[str, Any], subject: Subject) -> bool:
    """Whether an adapter's message came from an address of theirs or under their login."""
    credential = body.get("credential")
    if isinstance(credential, dict) and isinstance(credential.get("value"), str):
        if credential.get("kind") == "session_token":
            return _subject_of(credential["value"]) == subject.customer_id
        return _folded(credential["value"]) in _all_folded(subject)
    thread = body.get(_THREAD)
    return isinstance(thread, str) and _folded(thread) in _all_folded(subject)


def _subject_of(token: str) -> str | None:
    """Return whom a login token names. Nobody is let in by it here, so its signature doesn't matter."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError, binascii.Error):
        return None
    return claims.get("sub") if isinstance(claims, dict) else None


def _all_folded(subject: Subject) -> frozenset[str]:
    return frozenset(map(_folded, subject.addresses))


def _folded(value: str) -> str:
    return value.lower() if value.isascii() else value


def _read(value: bytes | None) -> Any:
    try:
        return json.loads(value) if value is not None else None
    except (ValueError, RecursionError):
        return None


def shown(record: ConsumerRecord) -> dict[str, Any]:
    """Return a record as an export shows it: ``{"partition","offset","at","key","headers","value"}``, no tokens."""
    body = _read(record.value)
    text = None if record.value is None else _TOKEN.sub("[secret]", _text(record.value))
    return {
        "partition": record.partition,
        "offset": record.offset,
        "at": datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(),
        "key": _text(record.key) if record.key is not None else None,
        "headers": {name: _text(value) for name, value in record.headers if value is not None},
        # What tokens an event carries stands in fields that every export hides.
        "value": body if isinstance(body, dict) else text,
    }


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
