"""A conversation that goes to a person, with the facts."""

from typing import Any, Literal

from common.events.model import AwareDatetime, Channel, Event, Id, Language

HandoffReason = Literal["asked", "sensitive", "budget", "policy", "stuck", "upset", "long"]
Priority = Literal["standard", "high", "critical"]
Queue = Literal["general", "billing", "legal", "security", "safety", "leads", "vip"]


class HandoffOpened(Event):
    """``support.handoffs.v1``: the packet's keys are ``customer language reason orders actions pending_approvals
    attempted verified_fields sentiment open_tickets next_step transcript model_summary``.
    """

    handoff_id: Id
    conversation_id: Id
    customer_id: Id | None = None
    channel: Channel
    thread_ref: str | None = None
    language: Language
    owner_version: int
    reason: HandoffReason
    priority: Priority
    queue: Queue
    packet: dict[str, Any]
    opened_at: AwareDatetime
