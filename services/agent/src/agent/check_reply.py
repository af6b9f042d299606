"""`python -m agent.check_reply`: hold replies against facts, one JSON line in, one JSON line out, in order."""

import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, BinaryIO

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.adapters.claim_readers import ClaimReaders, load_reader
from agent.core.claims import Facts, check_reply, split_sentences
from agent.core.claims.check import parts_of
from agent.core.claims.segments import Segment

# As many lines as are read ahead where they are there already, for each process: encoding them together takes a third
# of the time.
_BLOCK = 64
# Fewer are answered sooner by one process.
_WORTH_SHARING = 16
_MOST_PROCESSES = 4


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=False)

    language: str
    reply: str
    facts: Facts


def answer(line: str, reader: ClaimReaders | None = None) -> dict[str, object]:
    """Judge one input line; one that cannot be read gives `{"id", "error"}`, id null when even that is unreadable."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as unreadable:
        return {"id": None, "error": f"not JSON: {unreadable}"}
    identity = raw.get("id") if isinstance(raw, dict) else None
    try:
        given = _Line.model_validate(raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        return {"id": identity, "error": f"{'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}"}
    checked = check_reply(given.reply, given.language, given.facts, reader)
    return {
        "id": identity,
        "holds": checked.holds,
        "claims": [c.model_dump(exclude_none=True, exclude={"why"}) for c in checked.claims],
    }


def run(
    blocks: Iterable[Sequence[str]], out: IO[str], reader: ClaimReaders | None = None, *, processes: int = 1
) -> None:
    """Answer every non-blank line in order, a block as soon as it is there; ``processes`` share the larger blocks."""
    with _shared(reader, processes) as answer_all:
        for block in blocks:
            for said in answer_all([line for line in block if line.strip()]):
                out.write(said + "\n")
            out.flush()


Answers = Callable[[Sequence[str]], list[str]]


@contextmanager
def _shared(reader: ClaimReaders | None, processes: int) -> Iterator[Answers]:
    """Forked once the reader is loaded, processes have it without loading it again."""
    alone = partial(_answers, reader)
    # A fork copies locks that other threads hold, and nobody there would let go of them.
    forks = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    if processes < 2 or not forks:
        yield alone
        return
    with multiprocessing.get_context("fork").Pool(processes, _keep, (alone,)) as pool:

        def together(lines: Sequence[str]) -> list[str]:
            if len(lines) < _WORTH_SHARING:
                return alone(lines)
            share = -(-len(lines) // processes)
            parts = [lines[start : start + share] for start in range(0, len(lines), share)]
            return [said for part in pool.map(_kept_answers, parts) for said in part]

        yield together


_kept: list[Answers] = []


def _keep(answers: Answers) -> None:
    _kept[:] = [answers]


def _kept_answers(lines: Sequence[str]) -> list[str]:
    return _kept[0](lines)


def _answers(reader: ClaimReaders | None, lines: Sequence[str]) -> list[str]:
    if reader:
        reader.warm([part for line in lines for part in _parts(line)])
    return [json.dumps(answer(line, reader), ensure_ascii=False) for line in lines]


def blocks_of(stream: BinaryIO) -> Iterator[list[str]]:
    """Whatever whole lines have arrived, at most `_BLOCK` at once; undecodable bytes spoil only their own line."""
    rest = b""
    while arrived := stream.read1(1 << 16):  # type: ignore[attr-defined]
        *whole, rest = (rest + arrived).split(b"\n")
        yield from _decoded(whole)
    yield from _decoded([rest])


def _decoded(lines: list[bytes]) -> Iterator[list[str]]:
    most = _BLOCK * processes_here()
    for start in range(0, len(lines), most):
        yield [line.decode("utf-8", errors="replace") for line in lines[start : start + most]]


def processes_here() -> int:
    """Return how many processes this machine has room for."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, _MOST_PROCESSES)


def _parts(line: str) -> Iterator[Segment]:
    try:
        raw = json.loads(line)
        reply, language = raw["reply"], raw["language"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return
    if isinstance(reply, str) and isinstance(language, str):
        for sentence in split_sentences(reply):
            yield from parts_of(sentence, language)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    run(blocks_of(sys.stdin.buffer), sys.stdout, load_reader(), processes=processes_here())
