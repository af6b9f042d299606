"""What reaches the customer, as ordered events of one message."""

from typing import Annotated, Any, Literal

from pydantic import Field

from common.events.model import Channel, Event, Id


class ReplyEvent(Event):
    """``support.replies.v1``: event ``seq`` (from 1, without gaps) of a message that has exactly one writer.

    ``data`` is ``{"text"}`` for status and token, the action's columns for action, and for done
    ``{"message_id","route","handoff","handoff_reason"?,"citations","reply"}``.
    """

    conversation_id: Id
    message_id: Id
    channel: Channel
    thread_ref: str | None = None
    owner_version: Annotated[int, Field(ge=0)]
    seq: Annotated[int, Field(ge=1)]
    event: Literal["status", "action", "token", "done"]
    data: dict[str, Any]
    # The tool gateway writes none today (topics.py); its name stays readable, as the specification has it.
    writer: Literal["agent", "toolgateway", "approvals"] = "agent"
    proactive: bool = False
    customer_id: str | None = None
