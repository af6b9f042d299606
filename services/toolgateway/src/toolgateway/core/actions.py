"""A ledger row as a frozen value, and what is told of it."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from common.events import ActionChanged, ApprovalRequested
from common.events.model import ActionKind
from common.money import format_amount
from toolgateway.core.transitions import Status


@dataclass(frozen=True)
class Action:
    """One row of ``ledger.actions``; amounts in the currency's units, times aware."""

    key: str
    fact: str
    n: int
    generation: int
    kind: ActionKind
    customer_id: str
    conversation_id: str | None
    order_id: str | None
    line_id: str | None
    amount: Decimal | None
    currency: str | None
    minor_units: int | None
    args: dict[str, Any]
    request: str
    status: Status
    verdict: str
    policy_version: str
    policy_reason: str
    approved_by: str | None
    external_ref: str | None
    attempts: int
    created_at: datetime
    updated_at: datetime
    version: int
    cause: str
    requested_by: str
    requested_staff: str | None
    facts: dict[str, Any]
    digest: str
    context: dict[str, Any] = field(default_factory=dict)
    leads_only: bool = False
    expires_at: datetime | None = None
    approved_digest: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    decided_note: str | None = None
    claim_until: datetime | None = None
    first_tried_at: datetime | None = None
    last_error: str | None = None
    same_errors: int = 0
    same_error_since: datetime | None = None
    reserved_hour: datetime | None = None

    @property
    def amount_text(self) -> str | None:
        """The amount in its wire form."""
        if self.amount is None or self.currency is None:
            return None
        return format_amount(self.amount, self.currency)


def tool_result(action: Action, *, repeated: bool, reason: str | None = None) -> dict[str, Any]:
    """Return a write's result: what the row says, never what was asked for."""
    return {
        "key": action.key,
        "kind": action.kind,
        "order_id": action.order_id,
        "line_id": action.line_id,
        "status": action.status,
        "amount": action.amount_text,
        "currency": action.currency,
        "reference": action.external_ref,
        "reason": reason or (action.last_error if action.status == "failed" else None) or action.policy_reason,
        "repeated": repeated,
        "changed_at": action.updated_at.isoformat(),
    }


def ledger_columns(action: Action) -> dict[str, Any]:
    """Return the columns auditors and services read, plus ``version`` and what a decision needs."""
    return {
        "key": action.key,
        "kind": action.kind,
        "customer_id": action.customer_id,
        "conversation_id": action.conversation_id,
        # Which message asked for it: a worker that lost the answer knows its own row by this.
        "message_id": action.context.get("message_id"),
        "order_id": action.order_id,
        "line_id": action.line_id,
        "amount": action.amount_text,
        "currency": action.currency,
        "args": action.args,
        "status": action.status,
        "verdict": action.verdict,
        "policy_version": action.policy_version,
        "policy_reason": action.policy_reason,
        "approved_by": action.approved_by,
        "external_ref": action.external_ref,
        "reference": action.external_ref,
        "attempts": action.attempts,
        "created_at": action.created_at.isoformat(),
        "updated_at": action.updated_at.isoformat(),
        "version": action.version,
        "cause": action.cause,
        "last_error": action.last_error,
        "digest": action.digest,
        "queue": "leads" if action.leads_only else "approvals",
        "requested_by": action.requested_staff,
        "expires_at": action.expires_at.isoformat() if action.expires_at else None,
        "order": action.facts.get("order", {}),
        "facts": action.facts,
    }


def changed_event(action: Action, previous: Status | None, *, inline: bool) -> ActionChanged:
    """Return the event of the change that made ``action`` what it is."""
    return ActionChanged.model_construct(
        key=action.key,
        version=action.version,
        kind=action.kind,
        customer_id=action.customer_id,
        conversation_id=action.conversation_id,
        order_id=action.order_id,
        line_id=action.line_id,
        amount=action.amount_text,
        currency=action.currency,
        status=action.status,
        previous_status=previous,
        verdict=action.verdict,
        policy_version=action.policy_version,
        policy_reason=action.policy_reason,
        approved_by=action.approved_by,
        reference=action.external_ref,
        attempts=action.attempts,
        changed_at=action.updated_at,
        cause=action.cause,
        inline=inline,
    )


def approval_event(action: Action) -> ApprovalRequested:
    """Return the request for a decision on a waiting row, exactly as it will run."""
    assert action.expires_at is not None, "the database lets no row wait without a deadline"
    return ApprovalRequested.model_construct(
        key=action.key,
        version=action.version,
        digest=action.digest,
        kind=action.kind,
        customer_id=action.customer_id,
        conversation_id=action.conversation_id,
        order_id=action.order_id,
        line_id=action.line_id,
        amount=action.amount_text,
        currency=action.currency,
        args=action.args,
        order=action.facts.get("order", {}),
        policy_version=action.policy_version,
        policy_reason=action.policy_reason,
        requested_at=action.updated_at,
        expires_at=action.expires_at,
        queue="leads" if action.leads_only else "approvals",
        requested_by=action.requested_staff,
    )
