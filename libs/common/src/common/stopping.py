"""How long a stop may take, as one budget: what a part gets is what the whole leaves it."""

import time

# From SIGTERM to the end, whatever is still going on: what isn't finished then is somebody else's to take over.
GRACE_S = 20.0
# Open requests and streams; a client that is cut off asks again.
HTTP_GRACE_S = 3.0
# The producer's last records, pooled connections.
CLOSING_S = 2.0
# Handlers, runs and payments under way, all of them together.
WORK_GRACE_S = GRACE_S - HTTP_GRACE_S - CLOSING_S


class Deadline:
    """Seconds shared by steps that come one after another."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return what is left, never less than nothing."""
        return max(0.0, self._ends_at - time.monotonic())
