"""``python -m router.classify``: JSON Lines in, one reading and route a line out; the very code the service runs."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from router.adapters.local import LocalReader, load_reader
from router.core.follow_up import answers_our_question
from router.core.reading import Asked, Reading
from router.core.routing import decide_route

_READ_BYTES = 65_536
# Big enough to share the encoder's work, small enough that a reader of our output never waits long.
_BATCH_LINES = 64


def main() -> None:
    """Answer standard input until it ends; a bad line gets an error of its own and the rest goes on."""
    # A partner that writes one line and waits must get its answer, so whole lines are taken as they come.
    reader = load_reader()
    for lines in _line_batches(sys.stdin.buffer):
        for start in range(0, len(lines), _BATCH_LINES):
            for answer in answer_lines(reader, lines[start : start + _BATCH_LINES]):
                sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def answer_lines(reader: LocalReader, lines: list[bytes]) -> list[dict[str, Any]]:
    """Return one answer a line, in order."""
    parsed = [_parse(line) for line in lines]
    good = [(asked, fields) for asked, fields in parsed if isinstance(asked, Asked)]
    readings = iter(reader.read_all([asked for asked, _ in good]))
    return [
        _answer(asked, next(readings), fields) if isinstance(asked, Asked) else {"id": fields.get("id"), "error": asked}
        for asked, fields in parsed
    ]


def _parse(line: bytes) -> tuple[Asked | str, dict[str, Any]]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return "the line is not JSON", {}
    if not isinstance(fields, dict):
        return "the line is not an object", {}
    text, history, locale = fields.get("text"), fields.get("history") or [], fields.get("locale")
    if not isinstance(text, str):
        return "text is missing or not a string", fields
    if not isinstance(history, list) or not all(_is_turn(turn) for turn in history):
        return "history is not a list of {from: customer|us, text}", fields
    turns = tuple((turn["from"], turn["text"]) for turn in history)
    return Asked(_encodable(text), turns, locale if isinstance(locale, str) else None), fields


def _is_turn(turn: object) -> bool:
    return isinstance(turn, dict) and turn.get("from") in ("customer", "us") and isinstance(turn.get("text"), str)


def _encodable(text: str) -> str:
    # JSON can carry half of a surrogate pair, which no encoder takes.
    return text.encode("utf-8", "replace").decode("utf-8")


def _answer(asked: Asked, reading: Reading, fields: dict[str, Any]) -> dict[str, Any]:
    decision = decide_route(reading, follows_open_turn=answers_our_question(asked))
    return {
        "id": fields.get("id"),
        "intent": decision.intent,
        "probabilities": {name: round(p, 6) for name, p in reading.probabilities.items()},
        "language": reading.language,
        "sentiment": reading.sentiment,
        "route": decision.route,
        "flags": list(decision.flags),
    }


def _line_batches(stream: BinaryIO) -> Iterator[list[bytes]]:
    rest = b""
    while chunk := os.read(stream.fileno(), _READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest.strip():
        yield [rest]


if __name__ == "__main__":
    main()
