"""Which faults exist, and which calls of which stand-in each can hit."""

from typing import Literal

Target = Literal["payments", "orders", "shipping", "accounts", "model", "model2", "guard"]
FaultKind = Literal[
    "timeout_after_effect", "timeout_before_effect", "error_500", "error_429", "refuse", "slow", "down",
    "conflict_409", "stored_500", "param_mismatch", "late_failure", "dispute", "webhook_twice", "webhook_early",
    "lookup_lag",
]  # fmt: skip

# What a read can suffer; on the payment provider only an outage reaches reads, so that a fault meant for the next
# refund isn't used up by a look-up that happens to come first.
ON_READ: frozenset[FaultKind] = frozenset({"down", "slow", "error_500", "error_429"})
ON_PAYMENT_READ: frozenset[FaultKind] = frozenset({"down"})
ON_WRITE: frozenset[FaultKind] = ON_READ | {
    "timeout_before_effect", "timeout_after_effect", "refuse", "conflict_409", "stored_500", "param_mismatch",
}  # fmt: skip
# Those that change what becomes of a refund rather than the answer of the call.
ON_REFUND: tuple[FaultKind, ...] = ("late_failure", "dispute", "webhook_twice", "webhook_early", "lookup_lag")
ON_MODEL: frozenset[FaultKind] = ON_READ | {"timeout_before_effect", "timeout_after_effect", "refuse"}
ON_GUARD: frozenset[FaultKind] = ON_READ | {"timeout_before_effect"}

_ALLOWED: dict[str, frozenset[FaultKind]] = {
    "payments": ON_WRITE | frozenset(ON_REFUND),
    "orders": ON_WRITE,
    "shipping": ON_WRITE,
    "accounts": ON_WRITE,
    "model": ON_MODEL,
    "model2": ON_MODEL,
    "guard": ON_GUARD,
}


def can_suffer(target: Target, kind: FaultKind) -> bool:
    """Say whether this stand-in knows this fault."""
    return kind in _ALLOWED[target]
