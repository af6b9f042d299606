"""What the ledger says, and what people decide about its rows."""

from typing import Annotated, Any

from pydantic import Field

from common.events.model import ActionKind, ActionStatus, AwareDatetime, Event, Id


class ActionChanged(Event):
    """``ledger.actions.v1``: one status change of one ledger row.

    ``amount`` is in the currency's wire form. ``inline`` is true when the caller of the tool API got this very change
    as its HTTP answer, so that nobody else needs to tell the customer. ``cause`` says what moved the row.
    """

    key: Id
    version: int
    kind: ActionKind
    customer_id: Id
    conversation_id: str | None = None
    order_id: str | None = None
    line_id: str | None = None
    amount: str | None = None
    currency: str | None = None
    status: ActionStatus
    previous_status: ActionStatus | None = None
    verdict: str
    policy_version: str
    policy_reason: str
    approved_by: str | None = None
    reference: str | None = None
    attempts: int = 0
    changed_at: AwareDatetime
    cause: str
    inline: bool = False


class ApprovalRequested(Event):
    """``approvals.requested.v1``: the row exactly as it will run, and the order's facts beside it."""

    key: Id
    version: int
    digest: str
    kind: ActionKind
    customer_id: Id
    conversation_id: str | None = None
    order_id: str | None = None
    line_id: str | None = None
    amount: str | None = None
    currency: str | None = None
    args: dict[str, Any]
    order: dict[str, Any]
    policy_version: str
    policy_reason: str
    requested_at: AwareDatetime
    expires_at: AwareDatetime
    queue: str = "approvals"
    requested_by: str | None = None


class ApprovalDecided(Event):
    """``approvals.decided.v1``: a staff program's decision; anything but ``approve`` or ``reject`` approves nothing."""

    key: Id
    version: int
    digest: Annotated[str, Field(min_length=1, max_length=200)]
    decision: str | None = None
    note: str = ""
    credential: Annotated[str, Field(min_length=1, max_length=8_192)]
