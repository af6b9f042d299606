"""The model server's controls: scripts, the persona, and what the models were sent."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, model_validator

from sandbox.adapters.calls import Calls
from sandbox.adapters.choices import Choices
from sandbox.adapters.scripts import Scripts
from sandbox.core.turn import Persona
from sandbox.routes.bodies import Body

_ITEMS_PER_WRITE = 100


class ScriptedTool(Body):
    """One tool use of a scripted turn; ``input`` may be any JSON, however wrong."""

    name: str
    input: Any = None
    id: str | None = None


class ScriptedTurn(Body):
    """One scripted turn; ``error`` beside a text breaks the stream in the middle, ``pace_ms`` slows it down."""

    tool_use: list[ScriptedTool] | None = Field(default=None, max_length=100)
    text: str | None = None
    error: int | None = Field(default=None, ge=400, le=599)
    cut_after: int | None = Field(default=None, ge=0, le=1_000_000)
    raw: str | None = None
    pace_ms: int | None = Field(default=None, ge=0, le=10_000)
    usage: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ScriptedTurn":
        if all(part is None for part in (self.tool_use, self.text, self.error, self.cut_after, self.raw)):
            raise ValueError("a turn needs tool_use, text, error, cut_after or raw")
        return self


class Match(Body):
    """Which conversations a script is for."""

    text_contains: str


class Script(Body):
    """``POST /_sandbox/model/scripts``."""

    match: Match
    turns: list[ScriptedTurn] = Field(min_length=1, max_length=1000)
    repeat: bool = False


class PersonaBody(Body):
    """``PUT /_sandbox/model/persona``."""

    persona: Persona


class ModelControls:
    """Handlers over the scripts, the persona and the log of calls."""

    def __init__(self, scripts: Scripts, choices: Choices, calls: Calls) -> None:
        self._scripts = scripts
        self._choices = choices
        self._calls = calls

    async def add_script(self, body: Script) -> dict[str, Any]:
        """Add a script; the newest unused match wins."""
        turns = [turn.model_dump(exclude_none=True) for turn in body.turns]
        return {"id": self._scripts.add(body.match.text_contains, turns, repeats=body.repeat)}

    async def clear_scripts(self) -> Response:
        """Forget all scripts."""
        self._scripts.clear()
        return Response(status_code=204)

    async def get_persona(self) -> dict[str, Persona]:
        """Return who answers when no script does."""
        return {"persona": self._choices.persona()}

    async def put_persona(self, body: PersonaBody) -> dict[str, Persona]:
        """Choose who answers when no script does."""
        self._choices.set_persona(body.persona)
        return {"persona": body.persona}

    async def list_calls(self, limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000) -> StreamingResponse:
        """Return request bodies with provider and time, newest first."""
        return StreamingResponse(_array(self._calls.newest_first(limit)), media_type="application/json")


def router(controls: ModelControls) -> APIRouter:
    """Return the routes under ``/_sandbox/model``."""
    routes = APIRouter(prefix="/_sandbox/model", tags=["controls"])
    routes.post("/scripts", status_code=201)(controls.add_script)
    routes.delete("/scripts", status_code=204, response_class=Response)(controls.clear_scripts)
    routes.get("/persona")(controls.get_persona)
    routes.put("/persona")(controls.put_persona)
    routes.get("/calls")(controls.list_calls)
    return routes


def _array(items: Iterator[str]) -> Iterator[str]:
    yield "["
    separator = ""
    while chunk := list(islice(items, _ITEMS_PER_WRITE)):
        yield separator + ",".join(chunk)
        separator = ","
    yield "]"
