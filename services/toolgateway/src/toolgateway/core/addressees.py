"""Who has to hear that an email or phone changed: whoever was reached there before (SPEC §3)."""

import re
from typing import Any, Literal

from common.events.accounts import MAX_ADDRESS_CHARS, Addressee
from toolgateway.core.orders import Customer

# A changed name or delivery address opens no way to the account; these two do.
_TOLD = ("email", "phone")
_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}")


def is_told(kind: str, args: dict[str, Any]) -> bool:
    """Say whether such a change is told to an old address at all."""
    return kind == "account_change" and args.get("field") in _TOLD


def old_addresses(field: str, new_value: object, before: Customer) -> tuple[Addressee, ...]:
    """Return where the change of ``field`` to ``new_value`` is told; nowhere when it changes nothing.

    A changed email goes to the old email. A changed phone goes to the old number and to the email on file, since a
    number that was given up may be a stranger's by now. Where the old value was empty, the other one is told.
    """
    email, phone = _of("email", before.email), _of("whatsapp", before.phone)
    old = before.email if field == "email" else before.phone
    if old == new_value:
        return ()
    if field == "email":
        return email or phone
    return phone + email


def language_tag(locale: str | None) -> str | None:
    """Return a store's language tag where it is one."""
    return locale if locale and _TAG.fullmatch(locale) else None


def _of(channel: Literal["email", "whatsapp"], address: str | None) -> tuple[Addressee, ...]:
    text = (address or "").strip()
    # What can't be an address must not hold up the change for ever: nobody was reached there.
    usable = 0 < len(text) <= MAX_ADDRESS_CHARS and text.isprintable()
    return (Addressee(channel=channel, address=text),) if usable else ()
