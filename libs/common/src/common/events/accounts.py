"""What changed in a customer's account, for whoever has to tell them."""

from typing import Annotated, Literal

from pydantic import Field

from common.events.model import AwareDatetime, Event, Id

# The longest an e-mail address can be (RFC 5321: 64 + @ + 255).
MAX_ADDRESS_CHARS = 320


class Addressee(Event):
    """Where somebody was reached before the change: an e-mail address, or a number that takes messages."""

    channel: Literal["email", "whatsapp"]
    address: Annotated[str, Field(min_length=1, max_length=MAX_ADDRESS_CHARS, pattern=r"^[^\x00]*$")]


class AccountChanged(Event):
    """``accounts.changed.v1``: an email or phone that succeeded in changing, and the old addresses to tell it to.

    ``key`` and ``version`` name the ledger row's change. ``locale`` is a language tag of the customer's, absent where
    nobody knows one. The new value isn't here: whoever holds the old address need not learn it.
    """

    key: Id
    version: Annotated[int, Field(ge=1)]
    customer_id: Id
    conversation_id: str | None = None
    field: Literal["email", "phone"]
    tell: Annotated[tuple[Addressee, ...], Field(min_length=1)]
    locale: str | None = None
    changed_at: AwareDatetime
