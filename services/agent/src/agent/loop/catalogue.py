"""The tools the model sees, as the tool gateway publishes them, with a compiled validator for each."""

from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator

from agent.adapters.toolgateway import Toolgateway
from agent.core.limits import Limits
from agent.core.prompt import bundle_version, system_prompt

Json = dict[str, Any]


@dataclass(frozen=True)
class Bundle:
    """One version of what the model is told: prompt, tools and models together."""

    version: str
    system: str
    tools: tuple[Json, ...]
    schemas: dict[str, Any]


@dataclass
class Catalogue:
    """Fetches the tool list once and keeps it: the cached part of the prompt must not change under a running model."""

    source: Toolgateway
    limits: Limits
    models: tuple[str, ...]
    _bundle: Bundle | None = field(default=None, init=False)

    async def bundle(self, source: Toolgateway | None = None) -> Bundle:
        """Return the bundle, by ``source`` where its caller's time is short.

        Raises Transient or OutcomeUnknown while the tool gateway doesn't answer for the first time.
        """
        if self._bundle is None:
            tools = tuple(await (source or self.source).list_tools())
            system = system_prompt(self.limits)
            schemas = {tool["name"]: Draft202012Validator(tool["input_schema"]) for tool in tools}
            self._bundle = Bundle(bundle_version(system, tools, self.models), system, tools, schemas)
        return self._bundle
