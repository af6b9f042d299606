"""A circuit breaker: after a few failures in a row a provider rests, then single probes find out whether it is back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from common.clock import Clock


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an open breaker has to offer: a probe may go in ``rests_s`` seconds, or one is out and its answer near."""

    rests_s: float
    probing: bool = False


def worth_waiting_s(outlooks: Sequence[Outlook], room_s: float) -> float | None:
    """Return how long to wait before asking again, when nobody could be asked; None: it isn't worth it.

    ``room_s`` is what the caller can spare. A probe that is out is waited for as long as that, since its outcome ends
    the wait early; else the next probe must fit.
    """
    if room_s <= 0:
        return None
    next_s = min((o.rests_s for o in outlooks), default=None)
    if next_s is not None and next_s <= room_s:
        return next_s
    return room_s if any(o.probing for o in outlooks) else None


@dataclass
class Breaker:
    """Closed until ``threshold`` failures in a row; then open, with one probe let through every ``rest_s`` seconds."""

    clock: Clock
    threshold: int = 3
    rest_s: float = 5.0
    _failures: int = field(default=0, init=False)
    _open_until: float = field(default=0.0, init=False)
    _probing: bool = field(default=False, init=False)

    @property
    def is_open(self) -> bool:
        return self._failures >= self.threshold

    @property
    def outlook(self) -> Outlook:
        """What an open breaker offers next."""
        return Outlook(max(0.0, self._open_until - self.clock.monotonic()), self._probing)

    def allows(self) -> bool:
        """Say whether a call may go out now; while open, a yes starts the next rest, so that probes don't pile up."""
        if not self.is_open:
            return True
        now = self.clock.monotonic()
        if now < self._open_until:
            return False
        self._open_until, self._probing = now + self.rest_s, True
        return True

    def succeeded(self) -> None:
        self._failures, self._probing = 0, False

    def revived(self) -> None:
        """The probe gets an answer: others may go, but the next failure opens it again."""
        if self.is_open:
            self._failures, self._probing = self.threshold - 1, False

    def failed(self, *, probe: bool = False) -> None:
        """Book a failure. One of a call from before the rest neither speaks for a probe that is out nor prolongs it."""
        self._failures += 1
        now = self.clock.monotonic()
        if self.is_open and (probe or (not self._probing and now >= self._open_until)):
            self._open_until, self._probing = now + self.rest_s, False

    def dropped(self) -> None:
        """The probe was given up by its caller and says nothing: the next one may go at once."""
        if self._probing:
            self._open_until, self._probing = self.clock.monotonic(), False
