"""Server-sent events on the wire: one stored event, two spellings (message stream and conversation stream)."""

import json
from dataclasses import dataclass, field
from typing import Any

# Made once: `json.dumps` makes a new one at each call with other than the stock separators.
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LINE_ENDS = (("\u0085", "\\u0085"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
# Whose words an event carries, by the service that wrote it.
AUTHORS = {"agent": "agent", "approvals": "staff", "toolgateway": "system", "gateway": "system"}


def compact(data: dict[str, Any]) -> str:
    """Return an event's data as it is stored and sent: JSON on one line."""
    return _compact(data)


@dataclass(slots=True)
class StoredEvent:
    """One row of ``events``; each spelling is encoded once, however many clients read it.

    ``body`` is the data as `compact` writes it, where it was at hand.
    """

    conversation_id: str
    message_id: str
    seq: int
    position: int
    event: str
    data: dict[str, Any]
    writer: str
    body: str = field(default="", repr=False, compare=False)
    _of_message: bytes = field(default=b"", repr=False, compare=False)
    _of_conversation: bytes = field(default=b"", repr=False, compare=False)

    def message_frame(self) -> bytes:
        """The event as its message's stream carries it: ``id`` is the event's number within the message."""
        if not self._of_message:
            self._of_message = _frame(self.seq, self.event, self.body or compact(self.data))
        return self._of_message

    def conversation_frame(self) -> bytes:
        """The event as the conversation's stream carries it: ``id`` is its position, data names message and author."""
        if not self._of_conversation:
            author = AUTHORS.get(self.writer, "system")
            data = {**self.data, "message_id": self.message_id, "from": author}
            self._of_conversation = _frame(self.position, self.event, compact(data))
        return self._of_conversation


def _frame(event_id: int, event: str, body: str) -> bytes:
    # JSON on one line: a newline inside the text is escaped, so no text can forge a field or a frame.
    # The standard splits lines at CR and LF only, but many a client's line splitter knows these three as well.
    for sign, escaped in _LINE_ENDS:
        body = body.replace(sign, escaped)
    return f"id: {event_id}\nevent: {event}\ndata: {body}\n\n".encode("utf-8", "replace")
