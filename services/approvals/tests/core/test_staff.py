"""What a token makes of somebody."""

from decimal import Decimal

import pytest

from approvals.core.staff import staff_from_claims
from common.errors import Refused

DEFAULT = Decimal("500.00")


@pytest.mark.parametrize(
    ("claims", "ceiling"),
    [
        ({"role": "approver"}, Decimal("500.00")),
        ({"role": "approver", "ceiling": "120.50"}, Decimal("120.50")),
        ({"role": "lead"}, None),
        ({"role": "lead", "ceiling": "1.00"}, None),
        ({"role": "viewer", "ceiling": "900.00"}, Decimal(0)),
    ],
)
def test_role_and_ceiling_are_read(claims: dict[str, str], ceiling: Decimal | None) -> None:
    assert staff_from_claims({"sub": "dana", **claims}, DEFAULT).ceiling == ceiling


@pytest.mark.parametrize(
    "claims", [{}, {"role": "owner"}, {"role": "approver", "ceiling": "much"}, {"role": "approver", "ceiling": "NaN"},
               {"role": "approver", "ceiling": "-1"}, {"role": "approver", "ceiling": "Infinity"}, {"role": ["lead"]}],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(Refused):
        staff_from_claims({"sub": "dana", **claims}, DEFAULT)
