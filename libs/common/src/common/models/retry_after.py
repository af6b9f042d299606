"""Reading a Retry-After header that may be hostile, malformed or a date."""

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Nobody sleeps longer than this inside a turn; past it the other provider is the better answer.
CAP_S = 10.0


def retry_after_s(header: str | None, now: datetime | None = None) -> float | None:
    """Return seconds from 0 to CAP_S, or None when the header says nothing usable (BB-LLM-17)."""
    if not header:
        return None
    try:
        wait = float(header)
    except ValueError:
        try:
            wait = (parsedate_to_datetime(header) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return None
    if not math.isfinite(wait) or wait < 0:
        return None
    return min(wait, CAP_S)
