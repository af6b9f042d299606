"""Tells customers what happened to their ledger rows behind their back, and fetches a person when it went wrong."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.adapters import store
from agent.adapters.customers import Customers
from agent.adapters.handoff_store import HandoffDraft, count_handoff, insert_handoff
from agent.adapters.sending import enqueue_replies
from agent.core.hours import ALWAYS, StaffHours, on_duty, tell_hours
from agent.core.outcomes import Outcome, judge_change, tell_outcome
from agent.core.packet import Case
from agent.core.replies import Address
from agent.core.state import ConversationState
from common import db
from common.clock import Clock
from common.consumer import Received
from common.crash import crash_point
from common.events import ActionChanged, HandoffOpened, ReplyEvent
from common.ids import derived_id
from common.inbox import first_time

Json = dict[str, Any]
LEDGER_GROUP = "agent-ledger"
TRANSCRIPT_GROUP = "agent-transcript"


@dataclass(frozen=True)
class Outcomes:
    """Consumes ``ledger.actions.v1`` and, for the transcript, what staff wrote on ``support.replies.v1``."""

    pool: db.Database
    customers: Customers
    clock: Clock
    staff: StaffHours = ALWAYS

    async def on_action_changed(self, batch: list[Received[ActionChanged]]) -> None:
        """Write one message of its own for each change that nobody has told the customer yet."""
        for received in batch:
            if received.event.inline or received.event.conversation_id is None:
                continue
            await crash_point("outcome.before_commit")
            customer = await self._load_customer(received.event)
            opened = await db.in_transaction(self.pool, partial(self._tell, received=received, customer=customer))
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

    async def _load_customer(self, change: ActionChanged) -> Json | None:
        """For the packet, where there will be one; before the transaction, which waits for nobody outside (R5)."""
        assert change.conversation_id is not None
        if not judge_change(change).needs_person:
            return None
        known = await store.load_customer(self.pool, change.conversation_id)
        return await self.customers.of_change(change, known)

    async def _tell(
        self, conn: db.Connection, received: Received[ActionChanged], customer: Json | None
    ) -> HandoffOpened | None:
        change = received.event
        if received.event_id not in await first_time(conn, LEDGER_GROUP, [received.event_id]):
            return None
        assert change.conversation_id is not None
        conversation = await store.load_conversation(conn, change.conversation_id, lock=True)
        if conversation is None or conversation.customer_id != change.customer_id:
            return None
        waiting = change.status == "awaiting_approval" and change.cause != "overdue"
        await store.save_waiting(conn, conversation.id, waiting=waiting)
        outcome = judge_change(change)
        if outcome.telling == "none":
            return None
        return await self._write(conn, conversation, change, outcome, customer)

    async def _write(
        self,
        conn: db.Connection,
        conversation: store.Conversation,
        change: ActionChanged,
        outcome: Outcome,
        customer: Json | None,
    ) -> HandoffOpened | None:
        now = self.clock.now()
        message_id = f"msg_{derived_id('outcome', change.key, str(change.version))}"
        sentences = [tell_outcome(conversation.language, change, outcome.telling)]
        opened = None
        if outcome.needs_person and conversation.owner == "agent":
            draft = _draft(conversation, change, outcome, message_id, on_duty(self.staff, now))
            draft.memory.customer = draft.memory.customer or customer
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


def _draft(
    conversation: store.Conversation, change: ActionChanged, outcome: Outcome, message_id: str, staffing: dict[str, Any]
) -> HandoffDraft:
    memory = ConversationState.model_validate(conversation.run_state).memory
    row = change.model_dump(include={"key", "kind", "status", "order_id", "line_id", "amount", "currency", "reference"})
    memory.actions[change.key] = row | {"reason": change.policy_reason}
    return HandoffDraft(
        conversation_id=conversation.id,
        seed=message_id,
        case=Case(
            reason="policy",
            detail=f"{change.key}: {outcome.telling}",
            language=conversation.language,
            intent="refund" if change.kind == "refund" else "other",
            customer_id=conversation.customer_id,
            for_leads=outcome.telling == "overdue",
            staffing=staffing,
        ),
        memory=memory,
        channel=conversation.channel,
        thread_ref=conversation.thread_ref,
        language=conversation.language,
    )
