"""Every topic, declared once: who writes it, who reads it, what keys it and how long it is kept."""

from dataclasses import dataclass

# Topics that carry a session, a staff token or an address are kept no longer than a bad night's repair (SPEC §9).
_TOKEN_HOURS = 24
_WEEK_HOURS = 24 * 7
_MONTH_HOURS = 24 * 30


@dataclass(frozen=True)
class Topic:
    """One Kafka topic and its dead-letter twin; ``key`` names the field that orders its records."""

    name: str
    key: str
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    retention_h: int
    partitions: int = 6

    @property
    def segment_h(self) -> int:
        """How long one file of the log is written to; a record goes with its file, so this much after its retention.

        The broker's own default is a week, which would keep a token's 24 hours for eight days where little is written.
        """
        return max(1, self.retention_h // 24)

    @property
    def dlq(self) -> str:
        """The name of the topic that takes what no reader could."""
        return f"{self.name}.dlq"


CHANNEL_INBOUND = Topic("channel.inbound.v1", "thread_ref", ("adapters",), ("gateway",), _TOKEN_HOURS)
MESSAGES = Topic("support.messages.v1", "conversation_id", ("gateway",), ("router",), _TOKEN_HOURS)
WORK_FIXED = Topic("support.work.fixed.v1", "conversation_id", ("router",), ("agent-fixed",), _TOKEN_HOURS)
WORK_RAG = Topic("support.work.rag.v1", "conversation_id", ("router",), ("agent-rag",), _TOKEN_HOURS)
WORK_AGENT = Topic("support.work.agent.v1", "conversation_id", ("router",), ("agent-loop",), _TOKEN_HOURS)
WORK_HUMAN = Topic("support.work.human.v1", "conversation_id", ("router",), ("agent-fixed",), _TOKEN_HOURS)
# SPEC lets the tool gateway write here, too. It doesn't: a ledger row knows neither the conversation's owner nor its
# thread, so the agent service tells what the ledger decides (docs/decisions/0003), and one writer less can speak.
REPLIES = Topic(
    "support.replies.v1",
    "conversation_id",
    ("agent", "approvals"),
    ("gateway", "agent-fixed", "adapters"),
    _WEEK_HOURS,
)
HANDOFFS = Topic("support.handoffs.v1", "conversation_id", ("agent",), ("approvals",), _MONTH_HOURS)
APPROVALS_REQUESTED = Topic("approvals.requested.v1", "key", ("toolgateway",), ("approvals", "staff"), _MONTH_HOURS)
APPROVALS_DECIDED = Topic("approvals.decided.v1", "key", ("staff",), ("toolgateway",), _TOKEN_HOURS)
LEDGER_ACTIONS = Topic("ledger.actions.v1", "key", ("toolgateway",), ("agent-fixed", "approvals"), _MONTH_HOURS)
ACCOUNTS_CHANGED = Topic("accounts.changed.v1", "key", ("toolgateway",), ("gateway",), _TOKEN_HOURS)

ALL = (
    CHANNEL_INBOUND,
    MESSAGES,
    WORK_FIXED,
    WORK_RAG,
    WORK_AGENT,
    WORK_HUMAN,
    REPLIES,
    HANDOFFS,
    APPROVALS_REQUESTED,
    APPROVALS_DECIDED,
    LEDGER_ACTIONS,
    ACCOUNTS_CHANGED,
)
WORK_BY_ROUTE = {"fixed": WORK_FIXED, "rag": WORK_RAG, "agent": WORK_AGENT, "human": WORK_HUMAN}
BY_NAME = {topic.name: topic for topic in ALL}
