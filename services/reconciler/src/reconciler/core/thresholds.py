"""When a pending row may be touched: only once nobody can still be working on it (RELIABILITY R7)."""

from dataclasses import dataclass

from common.errors import Refused


@dataclass(frozen=True)
class Limits:
    """How long a live worker may be busy with one row: every try of the provider, then its claim running out.

    ``run_claim_s`` is how long an agent's claim on a conversation lives: a turn that has just lost its worker is
    another worker's to take up, before it is ours.
    """

    provider_timeout_s: float
    tries: int
    claim_ttl_s: float
    run_claim_s: float = 0.0

    @property
    def longest_s(self) -> float:
        """The age below which a pending row can still have a live worker."""
        return max(self.provider_timeout_s * self.tries + self.claim_ttl_s, self.run_claim_s)


def check_threshold(pending_after_s: float, limits: Limits) -> None:
    """Raise Refused when the reconciler would reach for rows that somebody may still be paying."""
    if pending_after_s < limits.longest_s:
        raise Refused(
            f"RECONCILER_PENDING_AFTER_S is {pending_after_s:g}, but a live worker may take {limits.longest_s:g} s "
            f"({limits.provider_timeout_s:g} s × {limits.tries} tries + a claim of {limits.claim_ttl_s:g} s; "
            f"a run's claim lives {limits.run_claim_s:g} s)"
        )
