"""The one base of all events and the field types they share."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

Channel = Literal["chat", "email", "whatsapp", "voice"]
Language = Literal["en", "es", "fr", "de"]
Route = Literal["fixed", "rag", "agent", "human"]
ActionKind = Literal["refund", "cancel", "address_change", "return_label", "account_change"]
ActionStatus = Literal["pending", "awaiting_approval", "succeeded", "rejected", "failed"]
# PostgreSQL text can't hold U+0000, so an event that carries one could never be stored: it is malformed here.
_CLEAN = r"^[^\x00]*$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_CLEAN)]
Text = Annotated[str, StringConstraints(max_length=20_000, pattern=_CLEAN)]


class Event(BaseModel):
    """A frozen fact; a field it doesn't know is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


__all__ = ["ActionKind", "ActionStatus", "AwareDatetime", "Channel", "Event", "Id", "Language", "Route", "Text"]
