"""How long to leave a dependency alone that just failed."""

from dataclasses import dataclass

# A dependency that is down for an hour is asked once in five minutes, so that it can come up in peace.
_LONGEST_S = 300.0


@dataclass(frozen=True)
class Backoff:
    """Consecutive failures of one job, and the pause they ask for."""

    failures: int = 0

    def after(self, ok: bool) -> "Backoff":  # noqa: FBT001 - the one thing that happened
        """Return the state after one more run."""
        return Backoff(0 if ok else self.failures + 1)

    def pause_s(self, every_s: float) -> float:
        """Return the seconds until the next run: the period, doubled for each failure in a row."""
        return every_s if self.failures == 0 else min(every_s * 2.0 ** min(self.failures, 20), max(_LONGEST_S, every_s))
