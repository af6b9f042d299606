"""What a payment provider allows: never more back than came in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Payment:
    """One order's payment in minor units of its currency."""

    currency: str
    captured_minor: int
    refunded_minor: int
    disputed_minor: int
    disputed: bool

    @property
    def refundable_minor(self) -> int:
        """What may still be given back."""
        return max(0, self.captured_minor - self.refunded_minor - self.disputed_minor)


@dataclass(frozen=True)
class Declined:
    """A final no of the provider: a machine-readable code and a sentence."""

    code: str
    message: str


def check_refund(payment: Payment | None, amount_minor: int, currency: str) -> Declined | None:
    """Return why the provider won't make this refund, or None when it will."""
    if payment is None:
        return Declined("payment_missing", "there is no payment for this order")
    if currency != payment.currency:
        return Declined("currency_mismatch", f"the payment was made in {payment.currency}")
    if payment.disputed:
        return Declined("charge_disputed", "the payment has been charged back")
    if amount_minor > payment.refundable_minor:
        return Declined("amount_too_large", "the amount is more than what is left of the payment")
    return None
