"""What customers write, on its way from a channel to the worker that answers."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from common.events.model import AwareDatetime, Channel, Event, Id, Language, Route, Text


class Credential(Event):
    """What an adapter knows of the sender: a login token, or the channel's own name for them."""

    kind: Literal["session_token", "channel_identity"]
    value: Annotated[str, Field(min_length=1, max_length=8_192)]


class InboundMessage(Event):
    """``channel.inbound.v1``: a message from an adapter outside."""

    channel: Literal["email", "whatsapp", "voice", "chat"]
    message_id: Id
    credential: Credential
    text: Text
    locale: str | None = None
    thread_ref: Id
    sent_at: AwareDatetime | None = None


class HistoryTurn(Event):
    """One earlier turn; ``us`` is whoever answered, agent or person."""

    sender: Annotated[Literal["customer", "us"], Field(alias="from")]
    text: str

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class CustomerMessage(Event):
    """``support.messages.v1``: one customer message, masked, with the session the gateway vouches for.

    ``seq`` counts the conversation's messages from 1. ``assertion`` is the signed session statement and is absent
    for a visitor; ``resumed_code`` says that a right one-time code was just consumed and ``text`` hides it.
    """

    conversation_id: Id
    message_id: Id
    seq: Annotated[int, Field(ge=1)]
    text: Text
    channel: Channel
    thread_ref: str | None = None
    locale: str | None = None
    customer_id: Id | None = None
    assertion: str | None = None
    visitor: bool = False
    history: tuple[HistoryTurn, ...] = ()
    open_agent_turn: bool = False
    received_at: AwareDatetime
    read_back: bool = False
    resumed_code: bool = False


class WorkItem(Event):
    """``support.work.*.v1``: the message and what the router made of it; ``sentiment`` runs from −1 to 1."""

    message: CustomerMessage
    route: Route
    intent: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    probabilities: dict[str, float] = Field(default_factory=dict)
    language: Language
    sentiment: Annotated[float, Field(ge=-1, le=1)] = 0.0
    flags: tuple[str, ...] = ()
