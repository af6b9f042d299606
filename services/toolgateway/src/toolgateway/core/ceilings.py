"""Who may decide what: roles, ceilings, and nobody on their own request."""

from dataclasses import dataclass
from decimal import Decimal

from toolgateway.core.policy import Policy

# An approver without a ceiling of their own decides up to this, in US dollars (CONTRACT).
DEFAULT_CEILING = Decimal("500.00")


@dataclass(frozen=True)
class Person:
    """A member of staff; ``ceiling`` is in US dollars, None where the role says it all."""

    staff: str
    role: str
    ceiling: Decimal | None = None


@dataclass(frozen=True)
class Decidable:
    """The part of a waiting row that says who may decide it."""

    amount: Decimal | None
    currency: str | None
    leads_only: bool
    requested_by: str | None


def own_ceiling(person: Person, currency: str | None, policy: Policy) -> Decimal | None:
    """Return the person's ceiling in ``currency``: None without limit, zero for nothing at all."""
    if person.role == "lead":
        return None
    if person.role != "approver":
        return Decimal(0)
    if currency is None:
        return DEFAULT_CEILING
    base = person.ceiling if person.ceiling is not None else DEFAULT_CEILING
    # A currency without limits has no scale either: only a lead decides there.
    return policy.scaled_ceiling(base, currency) or Decimal(0)


def why_not(person: Person, row: Decidable, policy: Policy) -> str | None:
    """Return the reason why this person may not decide this row, or None when they may."""
    if person.role not in ("approver", "lead"):
        return "your role decides nothing"
    if row.requested_by == person.staff:
        return "nobody decides their own request"
    if row.leads_only and person.role != "lead":
        return "only a lead decides this"
    ceiling = own_ceiling(person, row.currency, policy)
    if ceiling is not None and row.amount is not None and row.amount > ceiling:
        return "the amount is above your ceiling"
    return None
