"""Puts a streamed turn together; arguments stay text until the block is whole, so half a call can't look like one."""

from dataclasses import dataclass, field
from typing import Self

from common.models.errors import ModelFault
from common.models.hearing import Hearer
from common.models.metering import account
from common.models.turns import ModelTurn, ToolCall, Usage
from common.storable import storable


@dataclass
class _Block:
    id: str
    name: str
    parts: list[str] = field(default_factory=list)
    whole: bool = False


@dataclass
class Assembly:
    """Collects text, tool blocks and usage in stream order; ``finish`` refuses a stream that was cut off.

    Use it as a context around the stream and ``finish``: what a call used that breaks off in there, for whatever
    reason, is booked, since no turn will tell of it.
    ``hearer`` is told of each piece of text before the first tool block, and of that block.
    """

    provider: str
    model: str
    hearer: Hearer | None = None
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    _text: list[str] = field(default_factory=list)
    _blocks: dict[int, _Block] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            account(self.provider, self.model, self.usage)

    def add_text(self, text: str) -> None:
        if not (text := storable(text)):
            return
        self._text.append(text)
        if self.hearer is not None and not self._blocks:
            self.hearer.hear(text)

    def open_call(self, index: int, call_id: str, name: str) -> None:
        self._tell_of_tool()
        self._blocks[index] = _Block(call_id, name)

    def name_call(self, index: int, call_id: str | None, name: str | None) -> None:
        """Open call ``index`` or complete its id and name (OpenAI's wire sends them with the first piece)."""
        self._tell_of_tool()
        block = self._blocks.setdefault(index, _Block("", ""))
        block.id, block.name = call_id or block.id, name or block.name

    def add_input(self, index: int, part: str) -> None:
        if index in self._blocks:
            self._blocks[index].parts.append(part)

    def close_block(self, index: int) -> None:
        if index in self._blocks:
            self._blocks[index].whole = True

    def close_all(self) -> None:
        for block in self._blocks.values():
            block.whole = True

    def _tell_of_tool(self) -> None:
        if self.hearer is not None and not self._blocks:
            self.hearer.hear_tool()

    def finish(self) -> ModelTurn:
        """Return the turn; raises ModelFault when the stream ended without saying why (a clean early EOF)."""
        if self.stop_reason is None:
            raise ModelFault("the stream was cut off")
        # A block that never closed can't be trusted even when its text parses; its raw input is spoilt on purpose.
        # In a name the sign that nothing can store is replaced: left out, it might make a tool's name of what is none.
        calls = tuple(
            ToolCall(
                storable(b.id), storable(b.name, "\ufffd"), "".join(b.parts) if b.whole else "".join(b.parts) + "\x00"
            )
            for _, b in sorted(self._blocks.items())
        )
        return ModelTurn("".join(self._text), calls, self.stop_reason, self.usage, self.provider, self.model)
