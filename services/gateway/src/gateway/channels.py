"""Messages from other channels than our chat: whose they are, where they go on, what waits for a code."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

import asyncpg
from prometheus_client import Counter

from common import db
from common.guard.masking import mask_beginning
from common.ids import derived_id, new_id
from gateway.adapters import store, thread_store
from gateway.adapters.code_store import bucket_of
from gateway.adapters.contexts import Contexts
from gateway.adapters.directory import Directory
from gateway.adapters.login import Login
from gateway.adapters.postman import Postman
from gateway.adapters.thread_store import Delivery, Thread
from gateway.core.callers import VISITOR_PREFIX
from gateway.core.codes import HIDDEN, typed_code
from gateway.core.conversations import ChannelName, Conversation, Incoming, ProofName, new_conversation
from gateway.core.inbound import Facts, Step, decide_step
from gateway.core.requests import MAX_TEXT_CHARS
from gateway.core.texts import code_asked, code_refused, codes_used_up
from gateway.intake import Intake

_taken = Counter("gateway_inbound_total", "Messages from channels by how their sender stands", ["channel", "step"])
# A signed hook speaks for its own phone as long as it goes on signing; each message is proved anew.
_HOOK_PROOF_S = 86_400
LOGIN_IDENTITY = "login:"


@dataclass(frozen=True, slots=True)
class FromChannel:
    """A message as a hook or the topic hands it in. ``identity`` is the sender's address, number or login subject.

    ``text`` is all of it, as written: it is masked before it is cut, since half a card number looks like none.
    """

    source: str
    source_id: str
    channel: ChannelName
    thread_ref: str
    identity: str
    text: str
    locale: str | None = None
    subject: str | None = None
    signed_phone: bool = False
    token: str | None = None
    other_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sender:
    """Who it is as far as anybody knows, and how that was proved, until when."""

    customer_id: str | None
    proof: ProofName | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Case:
    """One message on its way: in which locked conversation, as what, from whom."""

    conversation: Conversation
    incoming: Incoming
    message: FromChannel
    sender: Sender
    digits: str


@dataclass(frozen=True, slots=True)
class Landed:
    """Where a message ended up."""

    message_id: str
    conversation_id: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long what was proved stays proved, in seconds."""

    carry_on_s: int
    verified_thread_s: int


class Channels:
    """Takes messages of hooks and of `channel.inbound.v1`; each source id once."""

    def __init__(
        self,
        intake: Intake,
        *,
        login: Login,
        directory: Directory,
        contexts: Contexts,
        postman: Postman,
        lifetimes: Lifetimes,
    ) -> None:
        self._intake, self._login, self._directory = intake, login, directory
        self._contexts, self._postman, self._lifetimes = contexts, postman, lifetimes
        self._pool, self._codes, self._clock = intake.pool, intake.codes, intake.clock

    async def take(self, message: FromChannel) -> Landed:
        """Take one message, or find what it became before."""
        if (known := await thread_store.find_source(self._pool, message.source, message.source_id)) is not None:
            return Landed(*known, repeated=True)
        message = await self._in_waiting_thread(message)
        sender = await self._identify(message)
        if message.token is not None:
            # A login has no address on the channel: its answers are read from the topic by whoever brought it in.
            message = replace(message, identity=f"{LOGIN_IDENTITY}{sender.customer_id}")
        hint = await self._contexts.active(sender.customer_id) if sender.customer_id and sender.proof else None
        try:
            landed = await db.in_transaction(self._pool, lambda conn: self._land(conn, message, sender, hint))
        except asyncpg.UniqueViolationError:
            # A twin of the same delivery was first; its commit is what we look at.
            known = await thread_store.find_source(self._pool, message.source, message.source_id)
            if known is None:
                raise
            return Landed(*known, repeated=True)
        self._postman.wake()
        if sender.customer_id and sender.proof:
            await self._contexts.remember(sender.customer_id, landed.conversation_id)
        return landed

    async def _in_waiting_thread(self, message: FromChannel) -> FromChannel:
        """Six digits that name no thread we know are meant for the one that waits for them."""
        if self._digits(message) is None or message.channel != "email":
            return message
        refs = [message.thread_ref, *message.other_refs]
        if await thread_store.find_thread(self._pool, message.channel, refs, message.identity) is not None:
            return message
        waiting = await thread_store.find_waiting_thread(self._pool, message.channel, message.identity)
        return message if waiting is None else replace(message, thread_ref=waiting)

    async def _identify(self, message: FromChannel) -> Sender:
        """Find who the sender says to be, and whether anything proves it. No transaction is open meanwhile."""
        if message.token is not None:
            caller = await self._login.caller_of_token(message.token)
            return Sender(caller.customer_id, None if caller.visitor else "login", caller.until)
        if message.signed_phone:
            found = await self._directory.customer_with_phone(message.identity)
            until = self._clock.now() + timedelta(seconds=_HOOK_PROOF_S)
            return Sender(found, "whatsapp_hook" if found else None, until)
        refs = [message.thread_ref, *message.other_refs]
        thread = await thread_store.find_thread(self._pool, message.channel, refs, message.identity)
        if thread is not None and thread.customer_id and thread.proof(self._clock.now()) == "otp":
            return Sender(thread.customer_id, "otp", thread.verified_until)
        by_phone = message.channel in ("whatsapp", "voice")
        look_up = self._directory.customer_with_phone if by_phone else self._directory.customer_with_email
        return Sender(await look_up(message.identity), None, None)

    def _digits(self, message: FromChannel) -> str | None:
        return typed_code(message.text, first_line=message.channel == "email")

    async def _land(self, conn: db.Connection, message: FromChannel, sender: Sender, hint: str | None) -> Landed:
        """Decide and do, in one transaction that this sender's other messages wait for."""
        await thread_store.lock_thread(conn, message.channel, message.identity)
        if (known := await thread_store.find_source(conn, message.source, message.source_id)) is not None:
            return Landed(*known, repeated=True)
        conversation = await self._conversation_for(conn, message, sender, hint)
        digits = self._digits(message)
        held = await store.held_messages(conn, conversation.id)
        step = decide_step(
            Facts(
                proved=sender.proof is not None,
                customer_known=sender.customer_id is not None,
                code_outstanding=digits is not None and await self._codes.outstanding(conn, conversation.id),
                holding=bool(held),
                is_code=digits is not None,
                needs_code_channel=message.channel in ("email", "voice"),
            )
        )
        _taken.labels(message.channel, step.value).inc()
        hides = step in (Step.TRY_CODE, Step.REFUSE_CODE)
        incoming = Incoming(
            message_id=new_id("msg"),
            channel=message.channel,
            text=HIDDEN if hides else mask_beginning(message.text, MAX_TEXT_CHARS),
            received_at=self._clock.now(),
            locale=message.locale,
            thread_ref=message.thread_ref,
            source_message_id=message.source_id[:200],
        )
        case = Case(conversation, incoming, message, sender, digits or "")
        conversation_id = await self._do(conn, step, case)
        await thread_store.save_source(conn, message.source, message.source_id, incoming.message_id, conversation_id)
        return Landed(incoming.message_id, conversation_id, repeated=False)

    async def _do(self, conn: db.Connection, step: Step, case: Case) -> str:
        """Carry the step out; returns in which conversation the message now stands."""
        conversation, incoming, sender = case.conversation, case.incoming, case.sender
        match step:
            case Step.PUBLISH | Step.PUBLISH_AS_VISITOR:
                context = await store.load_context(conn, conversation.id)
                await self._intake.publish(
                    conn,
                    conversation,
                    incoming,
                    proof=sender.proof,
                    history=context.history,
                    session_until=sender.until,
                )
            case Step.HOLD:
                await store.add_message(conn, conversation.id, incoming, seq=None, held=True)
                await self._ask_for_code(conn, case)
            case Step.REFUSE_CODE:
                await store.add_message(conn, conversation.id, incoming, seq=None)
                await self._say(conn, case, code_refused(conversation.locale))
            case Step.TRY_CODE:
                return await self._try_code(conn, case)
            case _:
                assert_never(step)
        return conversation.id

    async def _conversation_for(
        self, conn: db.Connection, message: FromChannel, sender: Sender, hint: str | None
    ) -> Conversation:
        """Return the locked conversation: the proved customer's active one, else the thread's own, else a new one."""
        if sender.customer_id and sender.proof:
            await store.lock_customer(conn, sender.customer_id)
            found = await store.active_conversation(conn, sender.customer_id, self._lifetimes.carry_on_s, hint)
            owner, customer_id = sender.customer_id, sender.customer_id
        else:
            refs = [message.thread_ref, *message.other_refs]
            thread = await thread_store.find_thread(conn, message.channel, refs, message.identity)
            found = thread.conversation_id if thread else None
            owner = VISITOR_PREFIX + derived_id(message.channel, message.thread_ref, message.identity)
            customer_id = None
        conversation = await store.lock_conversation(conn, found, owner) if found else None
        if conversation is None:
            conversation = new_conversation(new_id("conv"), owner, customer_id, message.channel, message.locale)
            await store.open_conversation(conn, conversation, sender.until)
        await thread_store.save_thread(conn, self._thread(message, conversation.id, sender))
        return conversation

    def _thread(self, message: FromChannel, conversation_id: str, sender: Sender) -> Thread:
        # A login or a signature speaks for one message only; what a code proved is written where the code was right.
        known = sender.customer_id if sender.proof else None
        return Thread(
            message.channel, message.thread_ref, message.identity, conversation_id, known, subject=message.subject
        )

    async def _ask_for_code(self, conn: db.Connection, case: Case) -> None:
        customer_id, locale = case.sender.customer_id, case.conversation.locale
        assert customer_id is not None
        asked = await self._codes.request(
            conn,
            customer_id=customer_id,
            bucket=bucket_of(customer_id, proved=False),
            conversation_id=case.conversation.id,
            purpose="sign_in",
            again=False,
        )
        # The mail to the address on file says it all where the sender reads that very mail.
        if asked == "requested" and case.message.channel != "email":
            await self._say(conn, case, code_asked(locale))
        elif asked == "used_up":
            await self._say(conn, case, codes_used_up(locale))

    async def _say(self, conn: db.Connection, case: Case, text: str) -> None:
        """Say something ourselves, on the sender's channel."""
        message, incoming, conversation_id = case.message, case.incoming, case.conversation.id
        line = Delivery(
            f"{incoming.message_id}.reply", message.channel, message.identity, message.subject or "", text, 0
        )
        await store.add_system_line(conn, conversation_id, line, message.thread_ref, incoming.message_id)
        reachable = message.identity and not message.identity.startswith(LOGIN_IDENTITY)
        if message.channel != "chat" and reachable:
            await thread_store.add_delivery(conn, line, conversation_id)

    async def _try_code(self, conn: db.Connection, case: Case) -> str:
        """One try; a right code lets what waited go on, else the conversation hears that a code was confirmed."""
        conversation, customer_id = case.conversation, case.sender.customer_id
        assert customer_id is not None
        bucket = bucket_of(customer_id, proved=conversation.customer_id is not None)
        if not await self._codes.try_code(conn, bucket=bucket, conversation_id=conversation.id, typed=case.digits):
            await store.add_message(conn, conversation.id, case.incoming, seq=None)
            await self._say(conn, case, code_refused(conversation.locale))
            return conversation.id
        until = self._clock.now() + timedelta(seconds=self._lifetimes.verified_thread_s)
        proof: ProofName = case.sender.proof or "otp"
        target = await self._settle(conn, conversation, customer_id)
        thread = self._thread(case.message, target.id, case.sender)
        await thread_store.save_thread(
            conn, replace(thread, customer_id=customer_id, verified_by=proof, verified_until=until)
        )
        waiting = await store.held_messages(conn, target.id)
        if waiting:
            await store.add_message(conn, target.id, case.incoming, seq=None, session_until=until)
            await self._release(conn, target, waiting, proof)
        else:
            context = await store.load_context(conn, target.id)
            resumed = replace(case.incoming, resumed_code=True)
            await self._intake.publish(conn, target, resumed, proof=proof, history=context.history, session_until=until)
        return target.id

    async def _release(
        self, conn: db.Connection, conversation: Conversation, waiting: list[Incoming], proof: ProofName
    ) -> None:
        """Let what waited go on by itself, in the order it came."""
        for one in waiting:
            context = await store.load_context(conn, conversation.id)
            seq = await self._intake.publish(conn, conversation, one, proof=proof, history=context.history, held=True)
            conversation = replace(conversation, last_seq=seq)

    async def _settle(self, conn: db.Connection, conversation: Conversation, customer_id: str) -> Conversation:
        """Return where the proved customer goes on: the active conversation takes the thread in, or this one is it."""
        if conversation.customer_id is None:
            await store.lock_customer(conn, customer_id)
            active = await store.active_conversation(conn, customer_id, self._lifetimes.carry_on_s, None)
            target = await store.lock_conversation(conn, active, customer_id) if active else None
            if target is not None:
                await store.move_messages(conn, conversation.id, target.id)
                await thread_store.move_sources(conn, conversation.id, target.id)
                return await self._intake.confirm(conn, target)
            await store.give_to_customer(conn, conversation.id, customer_id)
        return await self._intake.confirm(conn, conversation)
