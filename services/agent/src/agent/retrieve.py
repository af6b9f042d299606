"""`python -m agent.retrieve`: questions in, articles out, one JSON object a line (see CONTRACT, offline handles)."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from agent.adapters.search_index import SearchIndex, build_index

_BATCH = 64


def answers(lines: Iterable[str], index: SearchIndex) -> Iterator[dict[str, Any]]:
    """One answer for each line that isn't blank; a bad line is answered with an error and the rest goes on."""
    asked = [_read(line) for line in lines if line.strip()]
    for start in range(0, len(asked), _BATCH):
        batch = asked[start : start + _BATCH]
        index.expect([line.question for line in batch if isinstance(line, _Asked)])
        yield from (_answer(line, index) if isinstance(line, _Asked) else line for line in batch)


@dataclass(frozen=True, slots=True)
class _Asked:
    id: Any
    question: str
    language: str


def _read(line: str) -> _Asked | dict[str, Any]:
    asked: Any = None
    try:
        asked = json.loads(line)
        return _checked(asked)
    except (ValueError, TypeError, RecursionError) as error:
        return {"id": asked.get("id") if isinstance(asked, dict) else None, "error": str(error)[:300]}


def _checked(asked: Any) -> _Asked:
    if not isinstance(asked, dict):
        raise TypeError("a line must be a JSON object")
    question, language = asked.get("question"), asked.get("language") or "en"
    if not isinstance(question, str) or not isinstance(language, str):
        raise TypeError("question and language must be strings")
    return _Asked(asked.get("id"), question, language)


def _answer(asked: _Asked, index: SearchIndex) -> dict[str, Any]:
    found = index.search(asked.question, asked.language)
    passages = [{"article_id": p.article_id, "score": p.score} for p in found.passages]
    return {"id": asked.id, "passages": passages, "answerable": found.answerable}


def _arriving(stream: BinaryIO) -> Iterator[list[str]]:
    """Whole lines as they come in: many at once from a file, one at a time from somebody who waits for each answer."""
    rest = b""
    while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
        *whole, rest = (rest + chunk).split(b"\n")
        yield [line.decode("utf-8", "replace") for line in whole]
    yield [rest.decode("utf-8", "replace")]


def main() -> None:
    index = build_index()
    for lines in _arriving(sys.stdin.buffer):
        for answer in answers(lines, index):
            sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
