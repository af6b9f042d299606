"""The exception type is the verdict on a message or a call.

    Verdict
    ├── Refused         a valid "no": it becomes an answer or an event, never a retry
    │   └── BadStatement   a signed statement that doesn't hold
    ├── Malformed       the input can't be read: dead letter, or a 4xx
    ├── Forgotten       what it speaks of was erased: taken, and nothing of it kept
    ├── Transient       try again, a bounded number of times
    └── OutcomeUnknown  the effect may have happened: never retried blindly

Anything else that is raised is a bug: the process crashes and commits nothing.
"""


class Verdict(Exception):  # noqa: N818 - the names say what was decided, not that something broke
    """Root of the tree above; ``str(verdict)`` is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Refused(Verdict):
    """A valid request that the rules answer with no."""


class Malformed(Verdict):
    """Input that doesn't have the shape its contract promises."""


class Forgotten(Verdict):
    """An event about a conversation that was erased came late (docs/decisions/0010)."""


class Transient(Verdict):
    """A dependency failed before anything happened; trying again is safe."""


class OutcomeUnknown(Verdict):
    """A remote effect was asked for and its answer was lost (RELIABILITY R3)."""
