"""`python -m agent.retrieve`: questions in, articles out, one JSON object a line (see CONTRACT, offline handles)."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from agent.adapters.search_index import SearchIndex, build_index


def answers(lines: Iterable[str], index: SearchIndex) -> Iterator[dict[str, Any]]:
    """One answer for each line that isn't blank; a bad line is answered with an error and the rest goes on."""
    for line in lines:
        if not line.strip():
            continue
        asked: Any = None
        try:
            asked = json.loads(line)
            yield _answer(asked, index)
        except (ValueError, TypeError, RecursionError) as error:
            yield {"id": asked.get("id") if isinstance(asked, dict) else None, "error": str(error)[:300]}


def _answer(asked: Any, index: SearchIndex) -> dict[str, Any]:
    if not isinstance(asked, dict):
        raise TypeError("a line must be a JSON object")
    question, language = asked.get("question"), asked.get("language") or "en"
    if not isinstance(question, str) or not isinstance(language, str):
        raise TypeError("question and language must be strings")
    found = index.search(question, language)
    passages = [{"article_id": p.article_id, "score": p.score} for p in found.passages]
    return {"id": asked.get("id"), "passages": passages, "answerable": found.answerable}


def main() -> None:
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    for answer in answers(sys.stdin, build_index()):
        sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
