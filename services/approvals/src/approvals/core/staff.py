"""Who a staff member is, from the token their login issued and from our own table."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, cast

from common.errors import Refused

Role = Literal["viewer", "approver", "lead"]
# From the least to the most that a role may do.
RANK: dict[str, int] = {"viewer": 0, "approver": 1, "lead": 2}


@dataclass(frozen=True)
class Staff:
    """A signed-in staff member; ``ceiling`` is None where there is no limit (a lead)."""

    staff: str
    role: Role
    ceiling: Decimal | None

    @property
    def may_decide(self) -> bool:
        """A viewer looks and decides nothing."""
        return self.role != "viewer"


def staff_from_claims(claims: dict[str, Any], default_ceiling: Decimal) -> Staff:
    """Read role and ceiling from a verified token; raises Refused where they make no sense."""
    role = claims.get("role")
    if not isinstance(role, str) or role not in RANK:
        raise Refused("the token names no role we know")
    return Staff(claims["sub"], cast(Role, role), _ceiling(role, claims.get("ceiling"), default_ceiling))


def _ceiling(role: str, said: object, default: Decimal) -> Decimal | None:
    if role == "lead":
        return None
    if role == "viewer":
        return Decimal(0)
    if said is None:
        return default
    try:
        ceiling = Decimal(str(said))
    except InvalidOperation:
        raise Refused("the token's ceiling is no amount") from None
    if not ceiling.is_finite() or ceiling < 0:
        raise Refused("the token's ceiling is no amount")
    return ceiling
