"""What is asked of a model and what it answered, in a form that no provider owns.

Messages are kept as Anthropic's content blocks, the richer shape of the two; the other adapter translates.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from common.storable import is_storable

Size = Literal["large", "small"]
Priority = Literal["live", "email", "evals"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call: ``system`` and ``tools`` are the fixed part, which providers cache; ``messages`` are content blocks."""

    system: str
    messages: tuple[Json, ...]
    tools: tuple[Json, ...] = ()
    size: Size = "large"
    max_tokens: int = 1_024
    # Set when a tool may not be called any more although the history still holds tool blocks.
    tools_allowed: bool = True
    # Instructions that change from message to message; they follow the cached part and don't spoil it.
    context: str = ""
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; ``input_tokens`` leaves out what was read from or written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool block exactly as it came: ``raw_input`` is the text of its arguments, not yet believed to be JSON."""

    id: str
    name: str
    raw_input: str

    def strict_input(self) -> Json | None:
        """Return the arguments when they are one whole JSON object with each key once, else None (R16).

        What no database can store (U+0000, half of a surrogate pair, a number too large to be one) is malformed too.
        """
        try:
            value = json.loads(
                self.raw_input or "{}",
                object_pairs_hook=_unique_keys,
                parse_constant=_no_constant,
                parse_float=_finite,
            )
            return value if isinstance(value, dict) and is_storable(value) else None
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """A finished turn; ``stop_reason`` is never absent, for a stream without one was cut off and is no turn."""

    text: str
    calls: tuple[ToolCall, ...]
    stop_reason: str
    usage: Usage
    provider: str
    model: str
    tries: int = 1
    waited_s: float = field(default=0.0, compare=False)

    @property
    def wants_tools(self) -> bool:
        return self.stop_reason == "tool_use" and bool(self.calls)


def _unique_keys(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number without bounds is not JSON")
    return number


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
