"""Who is calling: a signed-in customer or a visitor, as a value."""

import re
from dataclasses import dataclass
from datetime import datetime

VISITOR_PREFIX = "visitor:"
# A name that could be mistaken for a visitor's, or that a log or a header can't hold, is nobody's.
_CUSTOMER_ID = re.compile(r"[^\x00-\x20\x7f-\x9f\ud800-\udfff]{1,120}")


@dataclass(frozen=True, slots=True)
class Caller:
    """``owner`` scopes every row; ``customer_id`` is None for a visitor; ``until`` is when the login ends."""

    owner: str
    customer_id: str | None
    until: datetime

    @property
    def visitor(self) -> bool:
        return self.customer_id is None


def customer(customer_id: object, until: datetime) -> Caller | None:
    """Return the caller a login's subject names, or None where it can't be a customer's id."""
    if not isinstance(customer_id, str) or _CUSTOMER_ID.fullmatch(customer_id) is None:
        return None
    if customer_id.startswith(VISITOR_PREFIX):
        return None
    return Caller(customer_id, customer_id, until)


def visitor(visitor_id: str, until: datetime) -> Caller:
    """Return the caller a visitor token names."""
    return Caller(VISITOR_PREFIX + visitor_id, None, until)
