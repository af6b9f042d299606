"""The port through which somebody follows a turn while it streams, instead of waiting for the whole of it."""

from typing import Protocol

from common.models.turns import ModelRequest


class Hearer(Protocol):
    """Follows one question through all its tries, at whichever provider; only the last try becomes the turn.

    What it hears isn't a turn yet: the stream may break off, and text may be followed by a tool call.
    """

    async def begin(self, request: ModelRequest) -> ModelRequest:
        """Forget what an earlier try said and return the request to send now; called before every try."""
        ...

    def hear(self, text: str) -> None:
        """Take the next piece of text. Raises to end the call when nobody needs its answer any more."""
        ...

    def hear_tool(self) -> None:
        """The turn calls a tool: what was heard before stands in front of a result."""
        ...
