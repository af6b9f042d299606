"""The reply check: what a reply claims, and whether the ledger, the orders and the handoff bear it out."""

from agent.core.claims.check import check_reply, check_sentence
from agent.core.claims.facts import Action, Claim, Facts, Line, Order, ReplyCheck, SentenceCheck
from agent.core.claims.opinion import Opinion, Reader
from agent.core.claims.segments import Segment
from agent.core.claims.sentences import SentenceStream, split_ready, split_sentences
from agent.core.claims.templates import templated_truth

__all__ = [
    "Action", "Claim", "Facts", "Line", "Opinion", "Order", "Reader", "ReplyCheck", "Segment", "SentenceCheck",
    "SentenceStream", "check_reply", "check_sentence", "split_ready", "split_sentences", "templated_truth",
]  # fmt: skip
