"""What a conversation remembers between steps: everything a second worker needs to go on where the first one died."""

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = dict[str, Any]
GuardName = Literal["clean", "flagged", "down"]
_GUARD_RANK: dict[str, int] = {"clean": 0, "down": 1, "flagged": 2}


def worse_guard(one: GuardName, other: GuardName) -> GuardName:
    """Return the verdict that tightens more; a text once flagged stays flagged whatever is read after it."""
    return one if _GUARD_RANK[one] >= _GUARD_RANK[other] else other


class Unjudged(BaseModel):
    """A text that the model reads or has read and that the guard hasn't answered for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    where: Literal["customer", "tool_result"]
    text: str


class SavedTurn(BaseModel):
    """One finished model turn as saved: ``calls`` are ``{"id","name","input"}``, ids already made unique.

    ``text`` is all of it; ``unsaid`` what of it was still held back when the turn ended, None for the whole.
    ``continued`` says that its writer went on where another one broke off.
    """

    model_config = ConfigDict(extra="ignore")

    text: str
    calls: list[Json] = []
    stop_reason: str
    unsaid: str | None = None
    continued: bool = False


class RunProgress(BaseModel):
    """The checkpoint of the message being answered."""

    model_config = ConfigDict(extra="ignore")

    message_id: str
    # The owner version it was saved under: under another one a person was here in between.
    owner_version: int | None = None
    # When work on it began (ISO, UTC): the turn's time budget goes on counting in the worker that takes over.
    started_at: str | None = None
    # The message itself, then assistant and tool-result turns, as content blocks; whole rounds only.
    rounds: list[Json] = []
    guard: GuardName | None = None
    guard_reasons: list[str] = []
    turn: SavedTurn | None = None
    results: dict[str, Json] = {}
    model_calls: int = 0
    # What models used for this message, the guard's calls and tries that broke off included; dollars at list prices.
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    # Of the instructions that a model was asked with last; None while none was.
    prompt_version: str | None = None
    seen_calls: dict[str, int] = {}
    failed_calls: int = 0
    invented_in_a_row: int = 0
    broken_turns: int = 0
    tool_successes: int = 0
    # Writes of this message that came to nothing since the last one that got under way.
    vain_writes: int = 0
    mended: bool = False
    next_seq: int = 2
    # Sentences the customer has already got of this message's reply, in order, and how many of them belong to turns
    # that stand in ``rounds``; the others are of a turn that is being written, or was when its writer died.
    said: list[str] = []
    said_in_rounds: int = 0
    # Rows that this message moved and that no `action` has told the customer of yet.
    untold: list[Json] = []
    citations: list[Json] = []
    # How sure the router was of the wish behind a held write when it was uttered, and what the guard said of it then;
    # the "yes" or the code by itself says nothing.
    wish_confidence: float | None = None
    wish_guard: GuardName = "clean"
    # The write, in its canonical form, that this message confirmed; another message has to confirm it anew.
    confirmed_call: str | None = None
    # hand_to_person was called, and why.
    hand_reason: str | None = None
    # A tool of this message answered "handoff".
    above_ceiling: bool = False
    limit_hit: str | None = None
    # A write of this message was sent, and no row of it could be found.
    outcome_unknown: bool = False
    # Row changes of this message: a turn that moved something is a resolution.
    moved_rows: int = 0
    moved_keys: list[str] = []
    # Those of them whose end the ledger's topic has told.
    told_keys: list[str] = []
    # Rows that a tool answered in this message, moved by it or not: the ledger's own word, given while it is answered.
    answered_keys: list[str] = []


class Memory(BaseModel):
    """What carries over from message to message."""

    model_config = ConfigDict(extra="ignore")

    customer: Json | None = None
    orders: dict[str, Json] = {}
    actions: dict[str, Json] = {}
    attempted: list[Json] = []
    failed_calls: int = 0
    idle_turns: int = 0
    attempts: int = 0
    turns: int = 0
    agent_seconds: float = 0.0
    # What models have used for this conversation, and how much of it before a person gave it back to the agent.
    tokens: int = 0
    tokens_before: int = 0
    cost_usd: Decimal = Decimal(0)
    # Some text of this conversation was flagged.
    flagged: bool = False
    # Message ids of the customer's texts in the model's window that were put to the guard, and every text it owes an
    # answer for.
    heard: list[str] = []
    unjudged: list[Unjudged] = []
    sentiment: float = 0.0
    # A write that waits for the customer's "yes" (voice) or for a one-time code:
    # {"name","args","for","confidence","guard"}.
    held_call: Json | None = None
    # Writes whose answer was lost, {"kind","order_id","line_id"}: how they end is told by the ledger's topic, or by a
    # person (core/unheard.py).
    unheard: list[Json] = []
    # Links that the store's systems or our own earlier words gave the customer; a reply may hold no other.
    links: list[str] = []


class ConversationState(BaseModel):
    """``support.conversations.run_state``."""

    model_config = ConfigDict(extra="ignore")

    v: int = 1
    memory: Memory = Field(default_factory=Memory)
    run: RunProgress | None = None

    def run_for(self, message_id: str) -> RunProgress:
        """Return the checkpoint of this message, a fresh one when the saved one belongs to an earlier message."""
        if self.run is None or self.run.message_id != message_id:
            self.run = RunProgress(message_id=message_id)
        return self.run
