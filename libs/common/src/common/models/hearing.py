"""The port through which somebody follows a turn while it streams, instead of waiting for the whole of it."""

from collections.abc import Callable
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


class FirstSign:
    """Hears on behalf of another, if there is one, and tells of the first thing that comes."""

    def __init__(self, hearer: Hearer | None, tell: Callable[[], None]) -> None:
        self._hearer, self._tell, self._told = hearer, tell, False

    async def begin(self, request: ModelRequest) -> ModelRequest:
        return request if self._hearer is None else await self._hearer.begin(request)

    def hear(self, text: str) -> None:
        self._first()
        if self._hearer is not None:
            self._hearer.hear(text)

    def hear_tool(self) -> None:
        self._first()
        if self._hearer is not None:
            self._hearer.hear_tool()

    def _first(self) -> None:
        if not self._told:
            self._told = True
            self._tell()
