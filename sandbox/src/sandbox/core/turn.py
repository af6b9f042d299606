"""One turn of a model and one conversation as a model sees it, the same for both wires."""

from dataclasses import dataclass, field
from typing import Any, Literal

Persona = Literal["helpful", "obedient", "liar", "looper", "chaotic"]
Json = dict[str, Any]


@dataclass(frozen=True)
class ToolUse:
    """A tool the model asks for; ``raw_input`` is argument text that isn't JSON, used instead of ``input``."""

    name: str
    input: Any
    id: str | None = None
    raw_input: str | None = None


@dataclass(frozen=True)
class Turn:
    """What the model does next; ``error``, ``cut_after`` and ``raw`` are the ways a turn goes wrong on the wire.

    ``error`` is an HTTP status, ``cut_after`` a number of SSE events after which the connection ends, ``raw`` bytes
    sent instead of a well-formed answer. ``pace_ms`` is the pause before each event of a stream.
    """

    text: str = ""
    tools: tuple[ToolUse, ...] = ()
    error: int | None = None
    cut_after: int | None = None
    raw: str | None = None
    pace_ms: int = 0
    usage: Json = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether the client can't have got a whole turn from this."""
        return self.error is not None or self.cut_after is not None or self.raw is not None


@dataclass(frozen=True)
class ToolResult:
    """A result the conversation holds: which call it answers, its text, and the JSON in it (None when it isn't)."""

    tool: str
    input: Any
    text: str
    data: Any


@dataclass(frozen=True)
class Tool:
    """A tool on offer: its name and the JSON Schema of its arguments."""

    name: str
    schema: Json

    def choices(self, argument: str) -> tuple[str, ...]:
        """Return the values an argument may take, () when any may."""
        properties = self.schema.get("properties")
        described = properties.get(argument) if isinstance(properties, dict) else None
        values = described.get("enum") if isinstance(described, dict) else None
        return tuple(str(value) for value in values) if isinstance(values, list) else ()


@dataclass(frozen=True)
class Said:
    """One text of the conversation."""

    who: Literal["customer", "assistant"]
    text: str


@dataclass(frozen=True)
class Conversation:
    """A request as a model reads it: instructions, tools, texts in order, and the steps since the customer spoke.

    ``results`` are the tool results of this run, ``earlier`` those of runs before it; ``notes`` texts of the program
    itself, passages and corrections included; ``depth`` how many model turns the run has had; ``user`` the caller's
    opaque end-user id, "" when none was sent.
    """

    system: str
    tools: tuple[Tool, ...]
    said: tuple[Said, ...]
    results: tuple[ToolResult, ...] = ()
    earlier: tuple[ToolResult, ...] = ()
    notes: tuple[str, ...] = ()
    depth: int = 0
    user: str = ""

    @property
    def customer(self) -> tuple[str, ...]:
        """Every text of the customer, oldest first."""
        return tuple(said.text for said in self.said if said.who == "customer")

    @property
    def last(self) -> str:
        """The customer's newest text."""
        return self.customer[-1] if self.customer else ""

    def tool(self, name: str) -> Tool | None:
        """Return a tool on offer by name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def result_of(self, name: str) -> ToolResult | None:
        """Return this run's newest result of a tool."""
        return next((result for result in reversed(self.results) if result.tool == name), None)
