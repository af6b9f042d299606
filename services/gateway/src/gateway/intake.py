"""How a customer's message becomes a fact: its row, its key and its event in one transaction (SPEC §3, R8, R11)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from common import db
from common.clock import Clock
from common.guard.masking import mask
from common.ids import derived_id
from common.outbox import Outgoing, enqueue_all
from common.statements import Signer
from common.topics import MESSAGES
from gateway.adapters import store
from gateway.adapters.chats import Chats, Taking
from gateway.adapters.code_store import CodeBook, bucket_of
from gateway.adapters.events import Events
from gateway.adapters.store import Keyed
from gateway.assertions import Assertions
from gateway.core.callers import Caller
from gateway.core.codes import HIDDEN, typed_code
from gateway.core.conversations import Conversation, Incoming, ProofName, Turn, customer_message
from gateway.core.frames import StoredEvent
from gateway.core.rejections import Rejected, not_found
from gateway.core.replies import Finished, Kept, Plan
from gateway.core.requests import NewMessage
from gateway.core.texts import code_refused


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that was taken now or before; ``answered`` are events the gateway itself wrote with it."""

    message_id: str
    fresh: bool
    answered: tuple[StoredEvent, ...] = ()


class Intake:
    """Takes messages of signed-in customers and visitors, and publishes those of other channels."""

    def __init__(
        self,
        pool: db.Database,
        chats: Chats,
        events: Events,
        signer: Signer,
        codes: CodeBook,
        *,
        clock: Clock,
        assertion_s: int,
        step_up_s: int,
    ) -> None:
        self.pool, self.codes, self.clock = pool, codes, clock
        self._chats, self._events = chats, events
        self._assertions, self._step_up_s = Assertions(signer, assertion_s), step_up_s

    async def take_chat(
        self, caller: Caller, conversation_id: str, key: str, new: NewMessage, message_id: str
    ) -> Taken:
        """Take one message of a chat as ``message_id``, or find the one its key already made.

        Rejected 404 or 422 stores nothing.
        """
        text, keyed = mask(new.text), Keyed(caller.owner, key, new.body_hash)
        standing = await self._chats.load_standing(conversation_id, caller.owner, key)
        if standing is None:
            raise not_found()
        seen, context = standing
        if context.known is not None:
            return _attach(context.known, new.body_hash)
        incoming = Incoming(message_id, "chat", text, self.clock.now(), new.locale)
        digits = typed_code(new.text)
        if digits is None and await self._take_at_once(seen, incoming, caller, context.history, keyed):
            return Taken(message_id, fresh=True)
        return await self._take_in_turn(caller, conversation_id, keyed, digits, incoming)

    async def _take_at_once(
        self, seen: Conversation, incoming: Incoming, caller: Caller, history: tuple[Turn, ...], keyed: Keyed
    ) -> bool:
        """Hope that nobody else writes in the conversation now: one statement, no lock held between two."""
        proof: ProofName | None = None if caller.visitor else "login"
        event = self._event(seen, incoming, proof, history)
        until = None if caller.visitor else caller.until
        return await self._chats.take_message(Taking.of(seen, incoming, keyed, until, event))

    async def _take_in_turn(
        self, caller: Caller, conversation_id: str, keyed: Keyed, digits: str | None, incoming: Incoming
    ) -> Taken:
        async def work(conn: db.Connection) -> Taken:
            conversation = await store.lock_conversation(conn, conversation_id, caller.owner)
            if conversation is None:
                raise not_found()
            context = await store.load_context(conn, conversation_id, caller.owner, keyed.key)
            if context.known is not None:
                return _attach(context.known, keyed.body_hash)
            # Its turn is now: the messages before it were received earlier.
            arrived = replace(incoming, received_at=self.clock.now())
            if digits and caller.customer_id and await self.codes.outstanding(conn, conversation_id):
                return await self._try_chat_code(conn, conversation, caller, keyed, replace(arrived, text=digits))
            await self.publish(
                conn, conversation, arrived, proof=None if caller.visitor else "login", history=context.history,
                keyed=keyed, session_until=None if caller.visitor else caller.until,
            )  # fmt: skip
            return Taken(arrived.message_id, fresh=True)

        return await db.in_transaction(self.pool, work)

    async def _try_chat_code(
        self, conn: db.Connection, conversation: Conversation, caller: Caller, keyed: Keyed, typed: Incoming
    ) -> Taken:
        """A signed-in customer's six digits while a code is outstanding: one try, counted before it is compared."""
        assert caller.customer_id is not None
        bucket = bucket_of(caller.customer_id, proved=True)
        right = await self.codes.try_code(conn, bucket=bucket, conversation_id=conversation.id, typed=typed.text)
        incoming = replace(typed, text=HIDDEN, locale=None, resumed_code=right)
        if not right:
            await store.add_message(conn, conversation.id, incoming, seq=None, keyed=keyed)
            answer = own_answer(incoming.message_id, code_refused(conversation.locale))
            saved = await self._events.write(conn, conversation.id, answer)
            return Taken(incoming.message_id, fresh=True, answered=tuple(saved.events))
        conversation = await self.confirm(conn, conversation)
        context = await store.load_context(conn, conversation.id)
        await self.publish(
            conn,
            conversation,
            incoming,
            proof="login",
            history=context.history,
            keyed=keyed,
            session_until=caller.until,
        )
        return Taken(incoming.message_id, fresh=True)

    async def confirm(self, conn: db.Connection, conversation: Conversation) -> Conversation:
        """Record in the locked conversation that a code was right, and return it as it is now."""
        await store.step_up(conn, conversation.id, self.clock.now() + timedelta(seconds=self._step_up_s))
        confirmed = await store.lock_conversation(conn, conversation.id, None)
        assert confirmed is not None
        return confirmed

    async def publish(
        self,
        conn: db.Connection,
        conversation: Conversation,
        incoming: Incoming,
        *,
        proof: ProofName | None,
        history: tuple[Turn, ...],
        keyed: Keyed | None = None,
        session_until: datetime | None = None,
        held: bool = False,
    ) -> int:
        """Give the message its number and its event, in the caller's transaction with the conversation locked.

        Without a proof it goes out as a visitor's. Returns the number.
        """
        seq = conversation.last_seq + 1
        if held:
            await store.release_message(conn, conversation.id, incoming.message_id, seq)
        else:
            await store.add_message(conn, conversation.id, incoming, seq=seq, keyed=keyed, session_until=session_until)
        await enqueue_all(conn, [self._event(conversation, incoming, proof, history)])
        return seq

    def _event(
        self, conversation: Conversation, incoming: Incoming, proof: ProofName | None, history: tuple[Turn, ...]
    ) -> Outgoing:
        now = self.clock.now()
        assertion = self._assertions.current(conversation, incoming.channel, proof, now) if proof else None
        event = customer_message(conversation, incoming, conversation.last_seq + 1, history, assertion)
        event_id = derived_id(MESSAGES.name, incoming.message_id)
        return Outgoing(MESSAGES, conversation.id, event, occurred_at=incoming.received_at, event_id=event_id)

    def assertion(self, conversation: Conversation, channel: str, proof: ProofName) -> str:
        """Sign anew who the customer of this conversation is, and how that was verified."""
        return self._assertions.fresh(conversation, channel, proof, self.clock.now())


def _attach(known: tuple[bytes, str], body_hash: bytes) -> Taken:
    if known[0] != body_hash:
        raise Rejected(
            422,
            "Idempotency-Key reused",
            "This key already belongs to another message; send a new message with a new key.",
        )
    return Taken(known[1], fresh=False)


def own_answer(message_id: str, text: str) -> Plan:
    """The answer the gateway gives itself: to a code that didn't work."""
    done = {"message_id": message_id, "route": "fixed", "handoff": False, "citations": [], "reply": text}
    steps: tuple[tuple[str, dict[str, Any]], ...] = (
        ("status", {"text": text}),
        ("token", {"text": text}),
        ("done", done),
    )
    return Plan(
        events=tuple(Kept(message_id, n, event, data, "gateway", 0) for n, (event, data) in enumerate(steps, 1)),
        finished=(Finished(message_id, "system", "chat", None, text, None),),
        owner_version=0,
        status=None,
        open_agent_turn=None,
        dropped=0,
    )
