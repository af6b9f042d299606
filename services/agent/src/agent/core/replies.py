"""The events of one message's reply, numbered from 1 and addressed to where the customer is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common.events import CustomerMessage, ReplyEvent
from common.events.model import Channel, Route
from common.ids import derived_id

Json = dict[str, Any]
_ACTION_FIELDS = ("order_id", "line_id", "amount", "currency", "reference")


@dataclass(frozen=True, slots=True)
class Address:
    """Which message is answered, where to, and under which owner version the words are spoken (R14)."""

    conversation_id: str
    message_id: str
    channel: Channel
    thread_ref: str | None
    customer_id: str | None
    owner_version: int
    proactive: bool = False

    @classmethod
    def of(cls, message: CustomerMessage, owner_version: int) -> "Address":
        return cls(
            message.conversation_id,
            message.message_id,
            message.channel,
            message.thread_ref,
            message.customer_id,
            owner_version,
        )

    def status(self, text: str) -> ReplyEvent:
        """The first event, at once."""
        return self._event(1, "status", {"text": text})

    def action(self, seq: int, row: Json) -> ReplyEvent:
        """One change of a ledger row; ``row`` has at least key, kind and status."""
        data = {"type": row["kind"], "status": row["status"], "key": row["key"], "order_id": row.get("order_id")}
        data |= {field: row[field] for field in _ACTION_FIELDS if row.get(field) is not None}
        return self._event(seq, "action", data)

    def actions(self, first_seq: int, rows: Sequence[Json]) -> list[ReplyEvent]:
        """One action a changed row."""
        return [self.action(first_seq + n, row) for n, row in enumerate(rows)]

    def token(self, seq: int, text: str) -> ReplyEvent:
        return self._event(seq, "token", {"text": text})

    def done(
        self,
        seq: int,
        route: Route,
        reply: str,
        *,
        handoff_reason: str | None = None,
        handoff: bool = False,
        citations: list[Json] | None = None,
    ) -> ReplyEvent:
        """The last event; ``reply`` is the whole text."""
        data: Json = {
            "message_id": self.message_id,
            "route": route,
            "handoff": handoff or handoff_reason is not None,
            "citations": citations or [],
            "reply": reply,
        }
        if handoff_reason is not None:
            data["handoff_reason"] = handoff_reason
        return self._event(seq, "done", data)

    def spoken(
        self,
        first_seq: int,
        route: Route,
        sentences: Sequence[str],
        *,
        handoff_reason: str | None = None,
        citations: list[Json] | None = None,
        said: Sequence[str] = (),
    ) -> list[ReplyEvent]:
        """One token a sentence, then done, whose reply begins with what was ``said`` before."""
        reply = " ".join([*said, *sentences])
        return [
            *self.tokens(first_seq, sentences, said),
            self.done(first_seq + len(sentences), route, reply, handoff_reason=handoff_reason, citations=citations),
        ]

    def tokens(self, first_seq: int, sentences: Sequence[str], said: Sequence[str] = ()) -> list[ReplyEvent]:
        """One token a sentence; each but the reply's first begins with the blank that joins it to the one before."""
        joined = [f" {sentence}" if n or said else sentence for n, sentence in enumerate(sentences)]
        return [self.token(first_seq + n, piece) for n, piece in enumerate(joined)]

    def _event(self, seq: int, event: Any, data: Json) -> ReplyEvent:
        return ReplyEvent(
            conversation_id=self.conversation_id,
            message_id=self.message_id,
            channel=self.channel,
            thread_ref=self.thread_ref,
            owner_version=self.owner_version,
            seq=seq,
            event=event,
            data=data,
            proactive=self.proactive,
            customer_id=self.customer_id,
        )


def reply_event_id(event: ReplyEvent) -> str:
    """The same event has the same id however often a step is repeated."""
    return derived_id("reply", event.message_id, str(event.seq))


def cut_short(address: Address, next_seq: int, untold: Sequence[Json], said: Sequence[str]) -> list[ReplyEvent]:
    """How a message ends that a person took over: what was done is shown and what was said stands, nothing is new."""
    done = address.done(next_seq + len(untold), "human", " ".join(said), handoff=True)
    return [*address.actions(next_seq, untold), done]


def by_person(address: Address) -> list[ReplyEvent]:
    """What a message gets while a person owns the conversation, after its status: nothing but the end (CONTRACT)."""
    return [address.done(2, "human", "", handoff=True)]
