"""Stored answers of calls that carry an idempotency key, as a real provider keeps them."""

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from common.clock import Clock
from sandbox.adapters.database import Database, dump, stamp

KeyMode = Literal["stored", "success_only", "no_compare"]


@dataclass(frozen=True)
class Answer:
    """What a call answered: an HTTP status and a JSON body."""

    status: int
    body: dict[str, object]


class Mismatch(Exception):  # noqa: N818 - providers' own word for it
    """The key was used before with another body."""


class AnswerBook:
    """Answers by (scope, key), forgotten after the retention or on demand."""

    def __init__(self, database: Database, clock: Clock, retention_s: int) -> None:
        self._database = database
        self._clock = clock
        self._retention = timedelta(seconds=retention_s)
        # Keys being worked on right now; a kill -9 frees them, as nothing of theirs was committed.
        self.in_flight: set[tuple[str, str]] = set()

    def recall(self, scope: str, key: str, body: object, mode: KeyMode = "stored") -> Answer | None:
        """Return the answer stored under the key; raises Mismatch when the body differs and the mode compares."""
        oldest = stamp(self._clock.now() - self._retention)
        row = self._database.row(
            "select * from answers where scope = ? and key = ? and created_at > ?", scope, key, oldest
        )
        if row is None:
            return None
        if mode != "no_compare" and row["body_hash"] != _fingerprint(body):
            raise Mismatch
        return Answer(row["status"], json.loads(row["answer"]))

    def keep(self, scope: str, key: str, body: object, answer: Answer) -> None:
        """Store the answer, inside the caller's transaction so that effect and answer are one commit."""
        self._database.run(
            "insert or replace into answers (scope, key, body_hash, status, answer, created_at)"
            " values (?, ?, ?, ?, ?, ?)",
            scope, key, _fingerprint(body), answer.status, dump(answer.body), stamp(self._clock.now()),
        )  # fmt: skip

    def forget(self, scope: str) -> int:
        """Forget all keys of a scope; return how many there were."""
        return self._database.run("delete from answers where scope = ?", scope)


def _fingerprint(body: object) -> str:
    canonical = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
