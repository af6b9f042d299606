"""A conversation and its messages as values, and what is said of them on `support.messages.v1`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from common.events import CustomerMessage, HistoryTurn

ChannelName = Literal["chat", "email", "whatsapp", "voice"]
ProofName = Literal["login", "otp", "whatsapp_hook"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One row of ``conversations``, locked or not."""

    id: str
    owner: str
    customer_id: str | None
    channel: ChannelName
    locale: str | None
    status: str
    owner_version: int
    open_agent_turn: bool
    last_seq: int
    step_up_until: datetime | None

    def verified_fields(self, proof: ProofName, now: datetime) -> tuple[str, ...]:
        """What a session statement lists as proved: the way in, and a one-time code while it counts."""
        stepped_up = self.step_up_until is not None and self.step_up_until > now
        return (proof, "otp") if stepped_up and proof != "otp" else (proof,)


def new_conversation(
    conversation_id: str, owner: str, customer_id: str | None, channel: ChannelName, locale: str | None
) -> Conversation:
    """Return a conversation that nobody has written in yet."""
    return Conversation(
        id=conversation_id,
        owner=owner,
        customer_id=customer_id,
        channel=channel,
        locale=locale,
        status="active",
        owner_version=0,
        open_agent_turn=False,
        last_seq=0,
        step_up_until=None,
    )


@dataclass(frozen=True, slots=True)
class Incoming:
    """A customer's message as any channel brings it; the text is masked already."""

    message_id: str
    channel: ChannelName
    text: str
    received_at: datetime
    locale: str | None = None
    thread_ref: str | None = None
    source_message_id: str | None = None
    resumed_code: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier line of the conversation."""

    from_customer: bool
    text: str


def customer_message(
    conversation: Conversation, incoming: Incoming, seq: int, history: Sequence[Turn], assertion: str | None
) -> CustomerMessage:
    """Return the event of one message; without an assertion nobody downstream may think of a customer."""
    known = assertion is not None
    return CustomerMessage(
        conversation_id=conversation.id,
        message_id=incoming.message_id,
        seq=seq,
        text=incoming.text,
        channel=incoming.channel,
        thread_ref=incoming.thread_ref,
        locale=incoming.locale or conversation.locale,
        customer_id=conversation.customer_id if known else None,
        assertion=assertion,
        visitor=not known,
        history=tuple(HistoryTurn(sender="customer" if t.from_customer else "us", text=t.text) for t in history),
        open_agent_turn=conversation.open_agent_turn,
        received_at=incoming.received_at,
        # A number heard on the phone is read back before anything changes (SPEC §14).
        read_back=incoming.channel == "voice",
        resumed_code=incoming.resumed_code,
    )
