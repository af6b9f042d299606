"""The reconciler never reaches for a row that a live worker may still be paying."""

import pytest

from common.errors import Refused
from reconciler.core.backoff import Backoff
from reconciler.core.thresholds import Limits, check_threshold


@pytest.mark.parametrize(("pending_after_s", "refused"), [(300, False), (40, False), (39.9, True), (1, True)])
def test_a_threshold_below_the_longest_live_work_is_refused(pending_after_s: float, refused: bool) -> None:
    limits = Limits(provider_timeout_s=10, tries=3, claim_ttl_s=10)
    if refused:
        with pytest.raises(Refused, match="40 s"):
            check_threshold(pending_after_s, limits)
    else:
        check_threshold(pending_after_s, limits)


def test_pauses_double_while_a_dependency_is_down_and_end_at_five_minutes() -> None:
    backoff, pauses = Backoff(), []
    for _ in range(6):
        backoff = backoff.after(ok=False)
        pauses.append(backoff.pause_s(30))
    assert pauses == [60, 120, 240, 300, 300, 300]
    assert backoff.after(ok=True).pause_s(30) == 30


def test_a_period_longer_than_five_minutes_is_never_shortened_by_a_failure() -> None:
    assert Backoff(failures=3).pause_s(900) == 900
