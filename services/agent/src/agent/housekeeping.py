"""Looks after conversations nobody writes in any more; safe in several replicas, harmless when run twice."""

import asyncio
from dataclasses import dataclass

import asyncpg

from agent.adapters.quiet_store import ask_quiet, close_quiet, forget_old
from agent.adapters.sending import enqueue_replies
from agent.adapters.store import save_words
from agent.core.quiet import ask_if_solved
from agent.core.replies import Address
from common import db
from common.clock import Clock
from common.ids import derived_id
from common.telemetry import get_logger

_log = get_logger()
# A year for conversations (SPEC §10); dedupe rows longer than any topic keeps its records.
_CONVERSATION_DAYS = 365
_INBOX_DAYS = 45
_DATABASE_TROUBLE: tuple[type[BaseException], ...] = (*db.UNAVAILABLE, asyncpg.PostgresError)


@dataclass(frozen=True)
class Housekeeping:
    """``ask_after_s`` and ``close_after_s`` count from the last change of a conversation."""

    pool: db.Database
    clock: Clock
    ask_after_s: float
    close_after_s: float
    every_s: float = 60.0

    async def run(self) -> None:
        """Tidy up now and then until cancelled; a database that is away is waited for."""
        while True:
            await asyncio.sleep(self.every_s)
            try:
                await self.tidy()
            except _DATABASE_TROUBLE as error:
                _log.warning("housekeeping put off", error=type(error).__name__)

    async def tidy(self) -> None:
        """Ask, close and forget what is due."""
        await db.in_transaction(self.pool, self._ask)
        await close_quiet(self.pool, self.close_after_s)
        await forget_old(self.pool, _CONVERSATION_DAYS, _INBOX_DAYS)

    async def _ask(self, conn: db.Connection) -> None:
        now = self.clock.now()
        for quiet in await ask_quiet(conn, self.ask_after_s, self.close_after_s):
            message_id = f"msg_{derived_id('solved', quiet['id'])}"
            text = ask_if_solved(quiet["language"])
            address = Address(
                quiet["id"],
                message_id,
                quiet["channel"],
                quiet["thread_ref"],
                quiet["customer_id"],
                quiet["owner_version"],
                proactive=True,
            )
            await save_words(conn, quiet["id"], message_id, "agent", text)
            await enqueue_replies(conn, address.spoken(1, "fixed", [text]), now)
