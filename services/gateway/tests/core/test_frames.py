"""What a client reads off the wire."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.frames import StoredEvent


@given(st.text())
def test_no_text_can_forge_a_field_or_a_frame(text: str) -> None:
    event = StoredEvent("c", "m", 3, 9, "token", {"text": text}, "agent")
    for frame, number in ((event.message_frame(), 3), (event.conversation_frame(), 9)):
        decoded = frame.decode()
        assert decoded.endswith("\n\n")
        lines = decoded[:-2].splitlines()
        assert [line.split(": ", 1)[0] for line in lines] == ["id", "event", "data"]
        assert lines[0] == f"id: {number}"
        assert json.loads(lines[2][6:])["text"] == text


def test_a_conversations_stream_names_message_and_author() -> None:
    frame = StoredEvent("c", "m", 1, 5, "done", {"reply": "hi", "from": "forged"}, "approvals").conversation_frame()
    data = json.loads(frame.decode().split("data: ")[1])
    assert (data["message_id"], data["from"]) == ("m", "staff")
