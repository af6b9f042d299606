"""The fixed flow: 'Where is my order?' and the way to a person, without any model."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from agent.adapters import store
from agent.adapters.answering import Answered, Answering
from agent.adapters.customers import Customers
from agent.adapters.handoff_store import HandoffDraft, count_handoff, insert_handoff
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import ClaimedRun, Ending, RunStore
from agent.adapters.sending import enqueue_replies, outgoing_replies, start_sending
from agent.adapters.sessions import Sessions
from agent.adapters.toolgateway import SessionOver, Toolgateway
from agent.core.facts import merge_ledger
from agent.core.handoff import HandOver, Situation, decide_handoff
from agent.core.hours import ALWAYS, StaffHours, on_duty, tell_hours
from agent.core.ownership import PEOPLE
from agent.core.packet import Case
from agent.core.replies import Address, by_person
from agent.core.situation import topic_of
from agent.core.state import ConversationState, Memory
from agent.core.tracking import LookUp, choose_lookup, patience_left_s, tell_choice, tell_missing, tell_order
from agent.core.wording import Phrase, say
from agent.loop.handing_over import hand_over
from common import db
from common.clock import Clock
from common.consumer import Received
from common.crash import crash_point
from common.errors import OutcomeUnknown, Transient
from common.events import HandoffOpened, WorkItem
from common.ids import OrderIds
from common.inbox import first_time
from common.producer import Producer
from common.telemetry import get_logger

Json = dict[str, Any]
GROUP = "agent-fixed"
# From the message's arrival. A restart of the tool gateway is over by then; "I can't look it up" is for real outages.
_PATIENCE_S = 8.0
_PAUSE_S = 0.5
# A store answers in milliseconds; one that doesn't is the worker's to wait for, not the topic's (R9).
_ON_THE_SPOT_S = 1.0
# Any other answer says nothing of the order: it must not be told that it doesn't exist.
_SAID_OF_ORDERS = frozenset({"ok", "not_found", "invalid"})
_log = get_logger()


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found out before the transaction: what is said, or why a person takes it and whom they will meet.

    ``rows`` are the ledger's for the packet, None where it couldn't be read.
    """

    text: str = ""
    why: HandOver | None = None
    customer: Json | None = None
    rows: list[Json] | None = None


@dataclass(frozen=True)
class FixedFlow:
    """Answers on the spot in one transaction; what has to wait its turn becomes a run for the worker."""

    pool: db.Database
    runs: RunStore
    tools: Toolgateway
    ledger: Ledger
    sessions: Sessions
    customers: Customers
    producer: Producer
    order_ids: OrderIds
    clock: Clock
    staff: StaffHours = ALWAYS
    patience_s: float = _PATIENCE_S
    # One try of a look-up, at most.
    lookup_timeout_s: float = 4.0

    @cached_property
    def _answering(self) -> Answering:
        return Answering(self.pool, GROUP)

    async def on_work(self, batch: list[Received[WorkItem]]) -> None:
        """Handle one conversation's messages, in order."""
        for received in batch:
            await self._answer_now(received)

    async def _answer_now(self, received: Received[WorkItem]) -> None:
        work = received.event
        standing = await self._answering.load_standing(work.message)
        # On its way while the order is looked up; whatever is stored follows its acknowledgement.
        status = await start_status(self.producer, work, standing, self.clock.now(), self.staff)
        if standing.by_agent and (standing.waiting or not standing.in_order):
            await status
            await self._queue(received)
            return
        why = _why_person(work) if standing.by_agent else None
        if not standing.by_agent or why is not None:
            await status
            found = await self._gather(work, why) if why is not None else _Found()
        else:
            text = await self._answer_if_up(work, min(_ON_THE_SPOT_S, self.lookup_timeout_s))
            await status
            if text is None:
                # A restart takes seconds, an outage longer: the worker asks again, and nobody else waits for it here.
                await self._queue(received)
                return
            found = _Found(text)
        await crash_point("fixed.before_commit")
        spoken = standing.by_agent and why is None
        if not (spoken and await self._save_at_once(received, standing, found.text)):
            opened = await db.in_transaction(self.pool, lambda conn: self._commit(conn, received, standing, found))
            if opened is not None:
                count_handoff(opened.reason)
        await crash_point("fixed.after_commit")

    async def play(self, run: ClaimedRun) -> None:
        """Answer a run that had to wait for an earlier message."""
        why = _why_person(run.work)
        if why is not None:
            await hand_over(
                self.runs,
                self.customers,
                self.clock,
                run,
                why,
                ledger=self.ledger,
                route=run.work.route,
                staff=self.staff,
            )
            return
        text = await self._answer_patiently(run.work)
        events = Address.of(run.work.message, run.owner_version).spoken(2, run.work.route, [text])
        await self.runs.finish(run, Ending("answered", events, text), self.clock.now())

    async def _gather(self, work: WorkItem, why: HandOver) -> _Found:
        """For the packet; before the transaction, since none is held open while a store system is asked (R5)."""
        known = await store.load_customer(self.pool, work.message.conversation_id)
        customer, rows = await asyncio.gather(
            self.customers.of_message(work.message, known),
            self.ledger.load_rows_of(self.pool, work.message.conversation_id),
        )
        return _Found(why=why, customer=customer, rows=rows)

    async def _answer_if_up(self, work: WorkItem, within_s: float) -> str | None:
        try:
            # Only reads: one that is broken off has done nothing.
            async with asyncio.timeout(within_s):
                return await self.answer(work)
        except TimeoutError:
            _log.warning("order look-up took too long", waited_s=within_s)
        except (Transient, OutcomeUnknown) as error:
            _log.warning("order look-up failed", error=error.reason)
        return None

    async def _answer_patiently(self, work: WorkItem) -> str:
        waited_s = (self.clock.now() - work.message.received_at).total_seconds()
        deadline = self.clock.monotonic() + patience_left_s(waited_s, self.patience_s, self.lookup_timeout_s)
        within_s = self.lookup_timeout_s
        while (text := await self._answer_if_up(work, within_s)) is None:
            left_s = deadline - self.clock.monotonic() - _PAUSE_S
            if left_s <= 0:
                return say(work.language, "lookup_down")
            await asyncio.sleep(_PAUSE_S)
            within_s = min(self.lookup_timeout_s, left_s)
        return text

    async def answer(self, work: WorkItem) -> str:
        """Return what is said about the customer's order; one read, no model. Raises Transient or OutcomeUnknown."""
        message, language = work.message, work.language
        if message.customer_id is None or message.assertion is None:
            return say(language, "log_in")
        earlier = tuple(turn.text for turn in message.history if turn.sender == "customer")
        wanted = choose_lookup(message.text, earlier, self.order_ids)
        try:
            statement = await self.sessions.statement(message)
            if statement is None:
                return say(language, "log_in")
            if isinstance(wanted, LookUp):
                found = await self.tools.look_up("get_order", {"order_id": wanted.order_id}, statement)
            else:
                found = await self.tools.look_up("list_orders", {}, statement)
        except SessionOver:
            return say(language, "log_in")
        if found["status"] not in _SAID_OF_ORDERS:
            raise Transient(f"the look-up was answered {found['status']}")
        return _tell(language, wanted, found)

    async def _save_at_once(self, received: Received[WorkItem], seen: store.Standing, text: str) -> bool:
        """Hope that the event is new and the owner the same: one statement says so and stores all."""
        work = received.event
        replies = Address.of(work.message, seen.owner_version).spoken(2, work.route, [text])
        events = outgoing_replies(replies, self.clock.now())
        return await self._answering.save_answered(Answered.of(work, received.event_id, seen, text, events))

    async def _commit(
        self, conn: db.Connection, received: Received[WorkItem], seen: store.Standing, found: _Found
    ) -> HandoffOpened | None:
        """Inbox, conversation, run, words and reply in one transaction, with a second look at the owner (R14)."""
        work, now = received.event, self.clock.now()
        if received.event_id not in await first_time(conn, GROUP, [received.event_id]):
            return None
        standing = await store.save_arrival(conn, work)
        address = Address.of(work.message, standing.owner_version)
        if not standing.by_agent:
            await store.add_done_run(conn, work, "with_person")
            await enqueue_replies(conn, by_person(address), now)
        elif not seen.by_agent:
            # A person gave it back a moment ago: nothing was looked up, so the worker answers.
            await store.add_queued_run(conn, work)
        elif found.why is not None:
            return await self._hand_over_now(conn, work, found.why, standing, found)
        else:
            await store.add_done_run(conn, work, "answered")
            await store.save_words(conn, address.conversation_id, address.message_id, "agent", found.text)
            await enqueue_replies(conn, address.spoken(2, work.route, [found.text]), now)
        return None

    async def _hand_over_now(
        self, conn: db.Connection, work: WorkItem, why: HandOver, standing: store.Standing, found: _Found
    ) -> HandoffOpened:
        now = self.clock.now()
        conversation = await store.load_conversation(conn, work.message.conversation_id)
        assert conversation is not None
        memory = ConversationState.model_validate(conversation.run_state).memory
        memory.customer = memory.customer or found.customer
        merge_ledger(found.rows or [], memory)
        await store.remember_customer(conn, conversation.id, memory.customer)
        draft = _draft(work, why, memory, on_duty(self.staff, now), rows_current=found.rows is not None)
        opened = await insert_handoff(conn, draft, standing.owner_version, now)
        assert opened is not None, "the conversation's row is locked by this transaction"
        notice = say(work.language, "handoff_sensitive" if why.reason == "sensitive" else "handoff")
        sentences = [notice, *tell_hours(work.language, self.staff, now)]
        address = Address.of(work.message, opened.owner_version)
        await store.add_done_run(conn, work, "handoff")
        await store.save_words(conn, address.conversation_id, address.message_id, "agent", " ".join(sentences))
        events = address.spoken(2, work.route, sentences, handoff_reason=why.reason)
        await enqueue_replies(conn, events, now, handoff=opened)
        return opened

    async def _queue(self, received: Received[WorkItem]) -> None:
        await queue_run(self.pool, GROUP, received)


async def queue_run(pool: db.Database, group: str, received: Received[WorkItem]) -> None:
    """Take a message in for a worker: inbox, conversation, transcript and run in one transaction."""

    async def work(conn: db.Connection) -> None:
        if received.event_id in await first_time(conn, group, [received.event_id]):
            await store.save_arrival(conn, received.event)
            await store.add_queued_run(conn, received.event)

    await crash_point("intake.before_commit")
    await db.in_transaction(pool, work)
    await crash_point("intake.after_commit")


async def start_status(
    producer: Producer, work: WorkItem, standing: store.Standing, now: datetime, staff: StaffHours
) -> "asyncio.Future[Any]":
    """Send the first event at once and not through the outbox: sent twice it is dropped by its number.

    What it returns ends with the broker's acknowledgement and has to be awaited.
    """
    phrase: Phrase = "working" if standing.by_agent else "with_person"
    waiting = tell_hours(work.language, staff, now) if standing.owner == PEOPLE else []
    text = " ".join([say(work.language, phrase), *waiting])
    return await start_sending(producer, Address.of(work.message, standing.owner_version).status(text), now)


def _draft(work: WorkItem, why: HandOver, memory: Memory, staffing: Json, *, rows_current: bool) -> HandoffDraft:
    return HandoffDraft(
        conversation_id=work.message.conversation_id,
        seed=work.message.message_id,
        case=Case(
            why.reason,
            why.detail,
            work.language,
            work.intent,
            work.message.customer_id,
            topic_of(work),
            rows_current=rows_current,
            staffing=staffing,
        ),
        memory=memory.model_copy(update={"sentiment": work.sentiment}),
        channel=work.message.channel,
        thread_ref=work.message.thread_ref,
        language=work.language,
    )


def _why_person(work: WorkItem) -> HandOver | None:
    """Everything on the human route goes to a person; the rule only names why. A tracking question may too."""
    situation = Situation(
        asked=work.intent == "asks_for_human",
        sensitive=topic_of(work) is not None,
        sentiment=work.sentiment,
        confidence=work.confidence,
    )
    due = decide_handoff(situation)
    if due is None and work.route == "human":
        return HandOver("asked", "routed to a person")
    # Upset customers who ask where their parcel is get the answer: it is what they want, and it is at hand.
    return due if due is None or work.route == "human" or due.reason != "upset" else None


def _tell(language: Any, wanted: object, found: dict[str, Any]) -> str:
    result = found.get("result") or {}
    if isinstance(wanted, LookUp):
        return tell_order(language, result) if found["status"] == "ok" else tell_missing(language, wanted.order_id)
    orders = result.get("orders", result.get("items", []))
    return tell_choice(language, orders)
