"""What has been returned of an order so far: the provider's list and our own rows, each refund counted once."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from common.money import from_minor
from toolgateway.core.actions import Action


@dataclass(frozen=True)
class Refunded:
    """A refund at the provider, failed ones left out; ``key`` is ours or None."""

    key: str | None
    line_id: str | None
    minor: int


@dataclass(frozen=True)
class MoneyFacts:
    """What the provider says of an order's payment; minor units."""

    currency: str
    captured_minor: int
    refunded_minor: int
    disputed: bool
    refunds: tuple[Refunded, ...]

    def line_refunded(self, line_id: str, rows: Iterable[Action], own_key: str | None = None) -> Decimal:
        """Return what was or is being refunded for a line, the row ``own_key`` left out."""
        listed = sum(r.minor for r in self.refunds if r.line_id == line_id and (r.key is None or r.key != own_key))
        ours = sum(row.minor_units or 0 for row in self._unlisted(rows, own_key) if row.line_id == line_id)
        return from_minor(listed + ours, self.currency)

    def rest(self, rows: Iterable[Action], own_key: str | None = None, *, past_dispute: bool = False) -> Decimal:
        """Return what of the whole payment may still be refunded: captured − refunded − disputed (R18).

        ``past_dispute`` leaves the dispute to a rule of its own, whose answer says more than "nothing is left".
        """
        if self.disputed and not past_dispute:
            return Decimal(0)
        listed = sum(r.minor for r in self.refunds)
        own = sum(r.minor for r in self.refunds if own_key is not None and r.key == own_key)
        ours = sum(row.minor_units or 0 for row in self._unlisted(rows, own_key))
        # Either number may lag behind the other: the larger one is the safe one.
        gone = max(listed, self.refunded_minor) - own + ours
        return from_minor(max(0, self.captured_minor - gone), self.currency)

    def _unlisted(self, rows: Iterable[Action], own_key: str | None) -> list[Action]:
        """Our refunds that may have moved money but don't stand in the provider's list (yet)."""
        listed = {r.key for r in self.refunds}
        return [
            row
            for row in rows
            if row.kind == "refund" and row.status in ("pending", "succeeded") and row.key not in listed | {own_key}
        ]
