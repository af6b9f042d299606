"""The few switches that hold until changed: the persona and the provider's habit with keys."""

from typing import cast, get_args

from sandbox.adapters.answers import KeyMode
from sandbox.adapters.database import Database
from sandbox.core.turn import Persona


class Choices:
    """Named values with defaults."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def persona(self) -> Persona:
        """Return who answers when no script does."""
        return cast("Persona", self._get("persona", get_args(Persona)))

    def set_persona(self, persona: Persona) -> None:
        """Choose who answers."""
        self._set("persona", persona)

    def key_mode(self) -> KeyMode:
        """Return how the payment provider treats idempotency keys."""
        return cast("KeyMode", self._get("key_mode", get_args(KeyMode)))

    def set_key_mode(self, mode: KeyMode) -> None:
        """Choose how the payment provider treats idempotency keys."""
        self._set("key_mode", mode)

    def _get(self, name: str, allowed: tuple[str, ...]) -> str:
        row = self._database.row("select value from choices where name = ?", name)
        return row["value"] if row and row["value"] in allowed else allowed[0]

    def _set(self, name: str, value: str) -> None:
        self._database.run("insert or replace into choices (name, value) values (?, ?)", name, value)
