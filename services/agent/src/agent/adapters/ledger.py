"""A conversation's ledger rows as they are now, asked of the tool gateway in bounded time.

What a conversation remembers of the ledger is a copy: people act in it, banks return money, approvals are decided. So
before a deed is spoken of, and before a person is told the facts, the ledger itself is read (R17).
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from agent.adapters.run_store import ClaimedRun
from agent.adapters.store import load_conversation
from agent.adapters.toolgateway import Toolgateway
from agent.core.facts import merge_ledger
from agent.core.state import ConversationState
from common import db
from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.telemetry import get_logger

Json = dict[str, Any]
# A reply that streams is released in many small parts: a read this young counts as now for the next of them.
_AS_GOOD_AS_NOW_S = 0.5
_PAUSE_S = 0.3
_log = get_logger()


@dataclass(frozen=True)
class Ledger:
    """``patience_s`` rides out a restart of the tool gateway; ``brief_s`` is for who must not be kept waiting."""

    tools: Toolgateway
    clock: Clock
    patience_s: float = 6.0
    brief_s: float = 1.5

    async def load_rows(
        self, conversation_id: str, known: Collection[str] = (), within_s: float | None = None
    ) -> list[Json] | None:
        """Return the conversation's rows and the ``known`` ones that other conversations own.

        None when it is out of reach or what it answers can't be read.
        """
        try:
            async with asyncio.timeout(self.brief_s if within_s is None else within_s):
                while True:
                    try:
                        return await self._ask(conversation_id, known)
                    except (Transient, OutcomeUnknown):
                        await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            return None
        except Exception as error:  # noqa: BLE001 - a person takes over without it, whatever the ledger answered
            _log.warning("the ledger's answer could not be read", error=type(error).__name__)
            return None

    async def load_rows_of(self, pool: db.Database, conversation_id: str) -> list[Json] | None:
        """Return the same for a conversation that no run holds; for a packet, before its transaction (R5)."""
        found = await load_conversation(pool, conversation_id)
        known = ConversationState.model_validate(found.run_state).memory.actions if found is not None else {}
        return await self.load_rows(conversation_id, known)

    async def refresh(self, run: ClaimedRun, within_s: float | None = None) -> bool:
        """Make the run's remembered rows the ledger's own; False when it can't be reached: then they are a copy.

        Nothing is asked where it was read since the run last waited for somebody (``run.rows_read_at``).
        """
        now, memory = self.clock.monotonic(), run.state.memory
        if run.rows_read_at is not None and now - run.rows_read_at <= _AS_GOOD_AS_NOW_S:
            return True
        rows = await self.load_rows(run.conversation_id, memory.actions, within_s)
        run.rows_read_at = None if rows is None else now
        if rows is None:
            return False
        merge_ledger(rows, memory)
        # What was asked for by its key and isn't there is no row of the ledger, whatever we remember of it.
        for gone in memory.actions.keys() - {row["key"] for row in rows}:
            del memory.actions[gone]
        return True

    async def _ask(self, conversation_id: str, known: Collection[str]) -> list[Json]:
        rows = [_require_row(row) for row in await self.tools.list_actions(conversation_id)]
        listed = {row["key"] for row in rows}
        others = [await self.tools.load_action(key) for key in known if key not in listed]
        return [*rows, *(_require_row(row) for row in others if row is not None)]


def _require_row(row: Json) -> Json:
    """Return what can be remembered as a row of the ledger; raises ValueError for anything else."""
    named = isinstance(row, dict) and all(isinstance(row.get(field), str) for field in ("key", "kind", "status"))
    if not named or not isinstance(row.get("version"), int | None):
        raise ValueError("the ledger listed something that is no row")
    return row
