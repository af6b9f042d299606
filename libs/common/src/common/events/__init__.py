"""Everything that crosses a topic, one frozen model each; unknown fields are ignored, so old code reads new events."""

from common.events.accounts import AccountChanged, Addressee
from common.events.actions import ActionChanged, ApprovalDecided, ApprovalRequested
from common.events.handoffs import HandoffOpened
from common.events.messages import CustomerMessage, HistoryTurn, InboundMessage, WorkItem
from common.events.replies import ReplyEvent

__all__ = [
    "AccountChanged",
    "ActionChanged",
    "Addressee",
    "ApprovalDecided",
    "ApprovalRequested",
    "CustomerMessage",
    "HandoffOpened",
    "HistoryTurn",
    "InboundMessage",
    "ReplyEvent",
    "WorkItem",
]
