"""What a person gets with a handoff: facts only, and the rules for queue, priority and the next step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.core.facts import keep_newest
from agent.core.state import Memory
from agent.core.unheard import name_lost
from common.events.handoffs import HandoffReason, Priority, Queue

Json = dict[str, Any]
_TOPIC_QUEUES: dict[str, Queue] = {
    "legal": "legal",
    "security": "security",
    "account_security": "security",
    "safety": "safety",
}
_MONEY_INTENTS = frozenset({"refund", "billing_dispute", "cancel_order"})
# What the store's account system says of a customer.
CUSTOMER_FIELDS = ("name", "tier", "lifetime_value", "open_tickets")
_SHOWN_ACTION = ("key", "kind", "status", "order_id", "line_id", "amount", "currency", "reference", "reason")


@dataclass(frozen=True, slots=True)
class Case:
    """What is known when the conversation goes over; ``topic`` is the sensitive one, if any."""

    reason: HandoffReason
    detail: str
    language: str
    intent: str
    customer_id: str | None
    topic: str | None = None
    for_leads: bool = False
    # The remembered rows are the ledger's own, read for this very packet; else they are a copy that may be old.
    rows_current: bool = False
    # Whether somebody was there when it was opened, and what the customer was told to wait (core/hours.py).
    staffing: Json = field(default_factory=dict)


def queue_of(case: Case, memory: Memory) -> Queue:
    """Return whose queue it is: the sensitive topic's own, the leads', the enterprise desk, billing, else general."""
    if case.topic in _TOPIC_QUEUES:
        return _TOPIC_QUEUES[case.topic]
    if case.for_leads:
        return "leads"
    if is_enterprise(memory):
        return "vip"
    if case.reason == "policy" or case.intent in _MONEY_INTENTS:
        return "billing"
    return "general"


def priority_of(case: Case, memory: Memory) -> Priority:
    """Return how fast somebody should look: danger and theft first, then law, big customers and the upset."""
    if case.topic in ("safety", "security", "account_security"):
        return "critical"
    if case.topic == "legal" or case.reason == "upset" or is_enterprise(memory) or _first(memory, "failed"):
        return "high"
    return "standard"


def is_enterprise(memory: Memory) -> bool:
    return (memory.customer or {}).get("tier") == "enterprise"


def next_step(case: Case, memory: Memory) -> str:
    """Return what the facts say should be done next; the first rule that applies wins."""
    stolen = case.topic in ("security", "account_security")
    unheard = name_lost(memory)
    failed, pending, waiting = (_first(memory, s) for s in ("failed", "pending", "awaiting_approval"))
    rules = (
        (case.topic == "safety", "Call the customer first; make sure nobody is in danger, then look at the item."),
        (stolen, "Verify the customer by a second channel and lock the account before anything else."),
        (case.topic == "legal", "Make no promise; pass to the legal desk with the transcript."),
        (unheard, f"Look in the ledger for {unheard}: nobody heard how it ended. Do nothing twice."),
        (not case.rows_current, "Look at the ledger first: it could not be read just now, these actions may be old."),
        (failed, f"Check {failed} at the provider: it failed. Pay again only with proof that nothing moved."),
        (pending, f"Wait for {pending}: its outcome is not known yet. Do not pay again."),
        (waiting, f"Decide {waiting}: it waits for approval."),
        (case.reason == "policy", "Judge the request: it is above what the agent may decide."),
        (case.reason == "upset", "Answer personally and soon; see what was attempted."),
        (case.reason == "asked", "Greet the customer by name and go on from the transcript; do not ask again."),
    )
    return next((text for holds, text in rules if holds), "Read the transcript and finish what was attempted.")


def customer_of(case: Case, memory: Memory) -> Json:
    """Return who the customer is; ``not_loaded`` names what the store's systems didn't tell, not even its absence."""
    known = memory.customer or {}
    missing = [field for field in CUSTOMER_FIELDS if known.get(field) is None]
    return {
        "customer_id": case.customer_id,
        "name": known.get("name"),
        "tier": known.get("tier"),
        "lifetime_value": known.get("lifetime_value"),
        # A visitor has no record that could be missing.
        "not_loaded": missing if case.customer_id is not None else [],
    }


def build_packet(case: Case, memory: Memory, transcript: list[Json], verified_fields: Sequence[str] = ()) -> Json:
    """Return the packet with exactly the keys the contract names."""
    actions = [{field: row.get(field) for field in _SHOWN_ACTION} for row in memory.actions.values()]
    return {
        "customer": customer_of(case, memory),
        "language": case.language,
        "reason": {"code": case.reason, "detail": case.detail, "topic": case.topic, "intent": case.intent}
        | {"rows_current": case.rows_current}
        | case.staffing,
        "orders": list(memory.orders.values()),
        "actions": actions,
        "pending_approvals": [a for a in actions if a["status"] == "awaiting_approval"],
        "attempted": memory.attempted,
        "verified_fields": list(verified_fields),
        "sentiment": memory.sentiment,
        "open_tickets": (memory.customer or {}).get("open_tickets") or [],
        "next_step": next_step(case, memory),
        "transcript": transcript,
        "model_summary": None,
    }


def with_rows(packet: Json, rows: list[Json], unheard: Sequence[Json] = ()) -> Json:
    """Return the packet of an open handoff with rows that moved after it was opened, and the step that follows.

    ``unheard`` are the conversation's writes whose answer was lost.
    """
    memory = Memory(actions={row["key"]: row for row in packet["actions"]}, unheard=list(unheard))
    keep_newest(({field: row.get(field) for field in _SHOWN_ACTION} for row in rows), memory)
    actions = list(memory.actions.values())
    why = packet["reason"]
    case = Case(
        why["code"],
        why["detail"],
        packet["language"],
        why["intent"],
        packet["customer"]["customer_id"],
        topic=why.get("topic"),
        rows_current=bool(why.get("rows_current")),
    )
    return packet | {
        "actions": actions,
        "pending_approvals": [row for row in actions if row["status"] == "awaiting_approval"],
        "next_step": next_step(case, memory),
    }


def _first(memory: Memory, status: str) -> str | None:
    return next((key for key, row in memory.actions.items() if row.get("status") == status), None)
