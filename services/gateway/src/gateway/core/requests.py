"""Reads what a client sent into plain values, or says which rule it broke; nothing here can fail in another way."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from gateway.core.rejections import Rejected, not_found

MAX_TEXT_CHARS = 8_000
# 8,000 characters outside the basic plane, each escaped as two \uXXXX, take 96 kB; the rest is room for other members.
MAX_BODY_BYTES = 200_000
MAX_KEY_CHARS = 255
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}", re.ASCII)
_LOCALE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}", re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?", re.ASCII)
_EVENT_ID = re.compile(r"[0-9]{1,30}", re.ASCII)
# Made once: `json.dumps` makes a new one at each call with other than the stock separators.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_MAX_BIGINT = 2**63 - 1


@dataclass(frozen=True)
class NewMessage:
    """The body of a message: its text as typed, and a digest of the whole body for R11."""

    text: str
    locale: str | None
    body_hash: bytes


def read_id(value: str) -> str:
    """Return a path's id, or the answer for what doesn't exist: no odd spelling reaches the database."""
    if _ID.fullmatch(value) is None:
        raise not_found()
    return value


def read_idempotency_key(value: str | None) -> str:
    """Return the key: 1 to 255 printable ASCII characters."""
    if value is None or not value.strip():
        raise Rejected(400, "Idempotency-Key is missing", "Send a fresh Idempotency-Key with each new message.")
    if len(value) > MAX_KEY_CHARS or _KEY.fullmatch(value) is None:
        raise Rejected(400, "Idempotency-Key is malformed", "It takes 1 to 255 printable ASCII characters.")
    return value


def read_last_event_id(value: str | None) -> int:
    """Return after which event to go on: 0 without a header; a number past every event waits for the next one."""
    if value is None or value == "":
        return 0
    if _EVENT_ID.fullmatch(value) is None:
        raise Rejected(400, "Last-Event-ID is malformed", "Send back an id that this stream gave you.")
    return min(int(value), _MAX_BIGINT)


def require_json(content_type: str | None) -> None:
    """Accept ``application/json``, with no charset or UTF-8."""
    media, _, parameters = (content_type or "").partition(";")
    if media.strip().lower() != "application/json":
        raise Rejected(415, "Unsupported media type", "Send application/json.")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", parameters, re.IGNORECASE)
    if charset and charset.group(1).lower() not in {"utf-8", "utf8"}:
        raise Rejected(415, "Unsupported charset", "JSON is sent as UTF-8.")


def read_json_object(body: bytes) -> dict[str, Any]:
    """Return the object a body holds; 400 when it isn't JSON, 422 when it is something else than an object."""
    if len(body) > MAX_BODY_BYTES:
        raise Rejected(413, "Body too large", f"At most {MAX_BODY_BYTES} bytes.")
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    # Deep nesting exhausts the parser's stack, and a number of thousands of digits its integers.
    except (ValueError, RecursionError) as e:
        raise Rejected(400, "Broken JSON", "The body can't be read as JSON in UTF-8.") from e
    if not isinstance(value, dict):
        raise Rejected(422, "Wrong shape", "The body is a JSON object.")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_new_message(body: bytes) -> NewMessage:
    """Return the message of a body ``{"text", "locale"?}``; unknown members are ignored but belong to its digest."""
    value = read_json_object(body)
    text = value.get("text")
    if not isinstance(text, str):
        raise Rejected(422, "text is missing", "text is a string.")
    if len(text) > MAX_TEXT_CHARS:
        raise Rejected(413, "Text too long", f"At most {MAX_TEXT_CHARS} characters.")
    if not is_storable(text):
        raise Rejected(422, "text is malformed", "text holds U+0000 or half of a surrogate pair.")
    if not text.strip():
        raise Rejected(422, "text is empty", "Write something.")
    return NewMessage(text, read_locale(value.get("locale")), digest(value))


def read_locale(value: object) -> str | None:
    """Return a language tag such as ``es-MX``, None where there is none, 422 for anything else."""
    if value is None:
        return None
    if not isinstance(value, str) or _LOCALE.fullmatch(value) is None:
        raise Rejected(422, "locale is malformed", "locale is a language tag such as es-MX.")
    return value


def is_storable(text: str) -> bool:
    """Say whether PostgreSQL and UTF-8 can hold the text."""
    return "\x00" not in text and (text.isascii() or _HALF_A_PAIR.search(text) is None)


def digest(value: object) -> bytes:
    """Return SHA-256 over the canonical JSON of a body, so that spacing and member order don't count."""
    return hashlib.sha256(_canonical(value).encode()).digest()
