"""A circuit breaker: after a few failures in a row a provider rests, then single probes find out whether it is back."""

from dataclasses import dataclass, field

from common.clock import Clock


@dataclass
class Breaker:
    """Closed until ``threshold`` failures in a row; then open, with one probe let through every ``rest_s`` seconds."""

    clock: Clock
    threshold: int = 3
    rest_s: float = 5.0
    _failures: int = field(default=0, init=False)
    _open_until: float = field(default=0.0, init=False)

    @property
    def is_open(self) -> bool:
        return self._failures >= self.threshold

    def allows(self) -> bool:
        """Say whether a call may go out now; while open, a yes starts the next rest, so that probes don't pile up."""
        if not self.is_open:
            return True
        now = self.clock.monotonic()
        if now < self._open_until:
            return False
        self._open_until = now + self.rest_s
        return True

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1
        if self.is_open:
            self._open_until = self.clock.monotonic() + self.rest_s
