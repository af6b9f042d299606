"""Tells customers what happened to their ledger rows behind their back, and fetches a person when it went wrong."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.adapters import store
from agent.adapters.customers import Customers
from agent.adapters.handoff_store import HandoffDraft, count_handoff, insert_handoff
from agent.adapters.ledger import Ledger
from agent.adapters.sending import enqueue_replies
from agent.core.endings import waits_for_approval
from agent.core.facts import merge_ledger
from agent.core.hours import ALWAYS, StaffHours, on_duty, tell_hours
from agent.core.outcomes import Outcome, judge_change, outcome_message_id, tell_outcome
from agent.core.packet import Case
from agent.core.replies import Address
from agent.core.state import ConversationState, Memory
from agent.core.unheard import went_unheard
from common import db
from common.clock import Clock
from common.consumer import Received
from common.crash import crash_point
from common.events import ActionChanged, HandoffOpened, ReplyEvent
from common.inbox import first_time

Json = dict[str, Any]
LEDGER_GROUP = "agent-ledger"
TRANSCRIPT_GROUP = "agent-transcript"


@dataclass(frozen=True, slots=True)
class _Found:
    """What is gathered before the transaction; None where it couldn't be had or nobody needs it."""

    customer: Json | None = None
    rows: list[Json] | None = None


@dataclass(frozen=True)
class Outcomes:
    """Consumes ``ledger.actions.v1`` and, for the transcript, what staff wrote on ``support.replies.v1``."""

    pool: db.Database
    customers: Customers
    ledger: Ledger
    clock: Clock
    staff: StaffHours = ALWAYS

    async def on_action_changed(self, batch: list[Received[ActionChanged]]) -> None:
        """Write one message of its own for each change that nobody has told the customer yet."""
        for received in batch:
            if received.event.conversation_id is None:
                continue
            if received.event.inline and not await self._went_unheard(received.event):
                continue
            await crash_point("outcome.before_commit")
            found = await self._gather(received.event)
            opened = await db.in_transaction(self.pool, partial(self._tell, received=received, found=found))
            if opened is not None:
                count_handoff(opened.reason)
            await crash_point("outcome.after_commit")

    async def on_reply(self, batch: list[Received[ReplyEvent]]) -> None:
        """Keep staff words in the transcript; the agent's own are there already."""
        for received in batch:
            event = received.event
            if event.writer != "approvals" or event.event != "done" or not event.data.get("reply"):
                continue
            async with self.pool.acquire() as conn:
                if await store.load_conversation(conn, event.conversation_id) is not None:
                    text = str(event.data["reply"])
                    await store.save_words(conn, event.conversation_id, event.message_id, "staff", text)

    async def _went_unheard(self, change: ActionChanged) -> bool:
        """The answer to a tool call is told by who called it, unless it was lost on the way there."""
        if change.conversation_id is None or judge_change(change).telling == "none":
            return False
        unheard, known = await store.load_unheard(self.pool, change.conversation_id, change.key)
        return went_unheard(unheard, known, change.model_dump())

    async def _gather(self, change: ActionChanged) -> _Found:
        """For the packet, where there will be one; before the transaction, which waits for nobody outside (R5).

        Where other rows are remembered as waiting the ledger's own are read: a run saves the copy it began with, also
        over what was decided meanwhile.
        """
        assert change.conversation_id is not None
        if not judge_change(change).needs_person:
            found = await store.load_conversation(self.pool, change.conversation_id)
            state = ConversationState.model_validate(found.run_state if found is not None else {})
            if not waits_for_approval(state.memory, apart_from=change.key):
                return _Found()
            return _Found(rows=await self.ledger.load_rows_of(self.pool, change.conversation_id))
        known = await store.load_customer(self.pool, change.conversation_id)
        customer, rows = await asyncio.gather(
            self.customers.of_change(change, known), self.ledger.load_rows_of(self.pool, change.conversation_id)
        )
        return _Found(customer, rows)

    async def _tell(
        self, conn: db.Connection, received: Received[ActionChanged], found: _Found
    ) -> HandoffOpened | None:
        change = received.event
        if received.event_id not in await first_time(conn, LEDGER_GROUP, [received.event_id]):
            return None
        assert change.conversation_id is not None
        conversation = await store.load_conversation(conn, change.conversation_id, lock=True)
        if conversation is None or conversation.customer_id != change.customer_id:
            return None
        state = ConversationState.model_validate(conversation.run_state)
        known = state.memory.actions.get(change.key, {}).get("status")
        if change.inline and not went_unheard(state.memory.unheard, known, change.model_dump()):
            # Whoever looked for it has found and told it since.
            return None
        # Remembered for the next message as well; who answers one just now reads the ledger before speaking of it.
        merge_ledger([change.model_dump(), *(found.rows or [])], state.memory)
        await store.save_state(conn, conversation.id, state.model_dump(mode="json"))
        await store.save_waiting(conn, conversation.id, waiting=waits_for_approval(state.memory))
        if judge_change(change).telling == "none":
            return None
        return await self._write(conn, conversation, change, state.memory, found)

    async def _write(
        self,
        conn: db.Connection,
        conversation: store.Conversation,
        change: ActionChanged,
        memory: Memory,
        found: _Found,
    ) -> HandoffOpened | None:
        now, outcome = self.clock.now(), judge_change(change)
        message_id = outcome_message_id(change.key, change.version)
        sentences = [tell_outcome(conversation.language, change, outcome.telling)]
        opened = None
        if outcome.needs_person and conversation.owner == "agent":
            case = _case(conversation, change, outcome, on_duty(self.staff, now), rows_current=found.rows is not None)
            draft = _draft(conversation, case, memory, message_id)
            draft.memory.customer = draft.memory.customer or found.customer
            await store.remember_customer(conn, conversation.id, draft.memory.customer)
            opened = await insert_handoff(conn, draft, conversation.owner_version, now)
            sentences += tell_hours(conversation.language, self.staff, now)
        await store.save_words(conn, conversation.id, message_id, "agent", " ".join(sentences))
        await enqueue_replies(conn, _events(conversation, change, message_id, sentences, opened), now, handoff=opened)
        return opened


def _events(
    conversation: store.Conversation,
    change: ActionChanged,
    message_id: str,
    sentences: list[str],
    opened: HandoffOpened | None,
) -> list[ReplyEvent]:
    owner_version = opened.owner_version if opened is not None else conversation.owner_version
    address = Address(
        conversation.id,
        message_id,
        conversation.channel,
        conversation.thread_ref,
        conversation.customer_id,
        owner_version,
        proactive=True,
    )
    row = change.model_dump()
    route = "agent" if conversation.owner == "agent" and opened is None else "human"
    spoken = address.spoken(2, route, sentences, handoff_reason="policy" if opened is not None else None)  # type: ignore[arg-type]
    return [address.action(1, row), *spoken]


def _case(
    conversation: store.Conversation, change: ActionChanged, outcome: Outcome, staffing: Json, *, rows_current: bool
) -> Case:
    return Case(
        reason="policy",
        detail=f"{change.key}: {outcome.telling}",
        language=conversation.language,
        intent="refund" if change.kind == "refund" else "other",
        customer_id=conversation.customer_id,
        for_leads=outcome.telling == "overdue",
        rows_current=rows_current,
        staffing=staffing,
    )


def _draft(conversation: store.Conversation, case: Case, memory: Memory, message_id: str) -> HandoffDraft:
    return HandoffDraft(
        conversation_id=conversation.id,
        seed=message_id,
        case=case,
        memory=memory,
        channel=conversation.channel,
        thread_ref=conversation.thread_ref,
        language=conversation.language,
    )
