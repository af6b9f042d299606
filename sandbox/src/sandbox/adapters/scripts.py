"""Scripted model turns: which run is bound to which script, and which turn is next."""

import hashlib
import json
from typing import Any

from sandbox.adapters.database import Database, dump
from sandbox.core.turn import Conversation, ToolUse, Turn

Json = dict[str, Any]


class Scripts:
    """A run is one customer message: all the customer's texts so far identify it, with the caller's user id if sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, needle: str, turns: list[Json], *, repeats: bool) -> int:
        """Keep a script for conversations that hold ``needle``; return its number."""
        self._database.run(
            "insert into scripts (needle, turns, repeats) values (?, ?, ?)", needle, dump(turns), int(repeats)
        )
        row = self._database.row("select max(seq) as seq from scripts")
        assert row is not None, "an aggregate has one row"
        return int(row["seq"])

    def clear(self) -> None:
        """Forget all scripts and who was bound to them."""
        with self._database.transaction():
            self._database.run("delete from scripts")
            self._database.run("delete from script_runs")

    def next_turn(self, conversation: Conversation) -> Turn | None:
        """Return the scripted turn for this call, or None when the persona is to answer."""
        if self._database.row("select 1 from scripts limit 1") is None:
            return None
        run = _run_id(conversation)
        with self._database.transaction():
            bound = self._bound(run, conversation.user)
            again = bound is not None and str(conversation.depth) in json.loads(bound["served"])
            # Without a user id two conversations with equal texts look alike; a first call seen before is then another
            # conversation's as long as scripts are left.
            twin = again and conversation.depth == 0 and not conversation.user and self._unused(conversation)
            if bound is None or twin:
                bound = self._bind(run, conversation)
            return None if bound is None else self._serve(bound, conversation.depth)

    def _bound(self, run: str, user: str) -> Any:
        """Return the run's binding. The two wires may differ in naming the user, and a run may change provider."""
        return self._database.row(
            "select * from script_runs where run = ? and (user = ? or user = '' or ? = '')"
            " order by user = ? desc, rowid desc",
            run, user, user, user,
        )  # fmt: skip

    def _serve(self, bound: Any, depth: int) -> Turn | None:
        row = self._database.row("select turns from scripts where seq = ?", bound["script"])
        turns: list[Turn] = [read_turn(turn) for turn in json.loads(row["turns"])] if row else []
        served: dict[str, int] = json.loads(bound["served"])
        upcoming: int = bound["next_turn"]
        place: int | None = served.get(str(depth))
        # A worker that died before it kept the answer asks again and gets the same turn; a broken turn is not repeated.
        if place is not None and place < len(turns) and not turns[place].broken:
            return turns[place]
        if upcoming >= len(turns):
            return None
        self._database.run(
            "update script_runs set next_turn = ?, served = ? where run = ? and user = ?",
            upcoming + 1, dump({**served, str(depth): upcoming}), bound["run"], bound["user"],
        )  # fmt: skip
        return turns[upcoming]

    def _bind(self, run: str, conversation: Conversation) -> Any:
        script = next((row for row in self._matching(conversation)), None)
        if script is None:
            return None
        self._database.run("update scripts set used = 1 where seq = ?", script["seq"])
        self._database.run(
            "insert or replace into script_runs (run, user, script, next_turn, served) values (?, ?, ?, 0, '{}')",
            run, conversation.user, script["seq"],
        )  # fmt: skip
        return self._bound(run, conversation.user)

    def _unused(self, conversation: Conversation) -> bool:
        return any(not row["repeats"] for row in self._matching(conversation))

    def _matching(self, conversation: Conversation) -> list[Any]:
        texts = [text.casefold() for text in conversation.customer]
        found = self._database.rows("select * from scripts where used = 0 or repeats = 1 order by seq desc")
        return [row for row in found if any(row["needle"].casefold() in text for text in texts)]


def read_turn(body: Json) -> Turn:
    """Return the turn a script's JSON describes."""
    tools = tuple(ToolUse(tool["name"], tool.get("input"), tool.get("id")) for tool in body.get("tool_use") or ())
    return Turn(
        text=body.get("text") or "",
        tools=tools,
        error=body.get("error"),
        cut_after=body.get("cut_after"),
        raw=body.get("raw"),
        pace_ms=body.get("pace_ms") or 0,
        usage=body.get("usage") or {},
    )


def _run_id(conversation: Conversation) -> str:
    identity = json.dumps(conversation.customer)
    return hashlib.sha256(identity.encode()).hexdigest()
