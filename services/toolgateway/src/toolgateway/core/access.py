"""Which statement and which service open which tool (SPEC §2: each statement says what it opens)."""

from toolgateway.core.arguments import TOOLS, WRITES

_READS = frozenset({"get_order", "list_orders"})
# A person in the console has the store's records and their own judgment, not the model's two helpers.
STAFF_TOOLS = WRITES | _READS
JOB_TOOLS: dict[str, frozenset[str]] = {
    "refund": frozenset({"get_order", "issue_refund"}),
    "late_shipping_refund": frozenset({"get_order", "issue_refund"}),
}
SERVICE_TOOLS: dict[str, frozenset[str]] = {
    "agent": frozenset(TOOLS),
    "approvals": STAFF_TOOLS,
    "reconciler": frozenset({"get_order", "issue_refund"}),
}
STEP_UP = frozenset({"code", "one_time_code", "otp"})


def may_call(service: str, tool: str) -> bool:
    """Say whether a service's credential opens the tool at all."""
    return tool in SERVICE_TOOLS.get(service, frozenset())


def stepped_up(verified_by: str, verified_fields: tuple[str, ...]) -> bool:
    """Say whether the session holds a one-time code consumed by the gateway."""
    return verified_by in STEP_UP or not STEP_UP.isdisjoint(verified_fields)
