"""The rules as they stand in the SQL files beside this module: each returns its offenders, none is the good answer."""

import re
from dataclasses import dataclass
from pathlib import Path

from common import db

_HEAD = re.compile(
    r"-- (?P<rule>C\d+): (?P<title>.+)\n-- needs: (?P<needs>.+)\n-- over: (?P<over>.+)\n(?P<sql>[\s\S]+)"
)


@dataclass(frozen=True)
class Checker:
    """One file: ``over`` counts what it looks at, ``sql`` returns rows of (offender, why)."""

    name: str
    rule: str
    title: str
    needs: frozenset[str]
    over: str
    sql: str


@dataclass(frozen=True)
class Finding:
    """What one checker found; ``looked_at`` is how many things it weighed."""

    checker: Checker
    looked_at: int
    offenders: tuple[tuple[str, str], ...]


def load_checkers() -> tuple[Checker, ...]:
    """Return every checker, C1 first."""
    return tuple(_read(path) for path in sorted(Path(__file__).parent.glob("c*.sql")))


def _read(path: Path) -> Checker:
    head = _HEAD.fullmatch(path.read_text(encoding="utf-8"))
    if head is None:
        raise ValueError(f"{path.name} lacks its three lines of head")
    needs = frozenset(head["needs"].split(", "))
    return Checker(path.stem, head["rule"], head["title"], needs, head["over"], head["sql"])


async def run_checkers(conn: db.Connection, at_hand: frozenset[str]) -> list[Finding]:
    """Run each checker whose needs are ``at_hand``: schemas by name, and the tables of ``evidence.py``."""
    return [
        Finding(
            checker,
            int(await conn.fetchval(checker.over)),
            tuple((str(row["offender"]), str(row["why"])) for row in await conn.fetch(checker.sql)),
        )
        for checker in load_checkers()
        if checker.needs <= at_hand
    ]
