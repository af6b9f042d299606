"""``python -m toolgateway.decide``: the refund policy on JSON Lines, the very code the service runs (CONTRACT)."""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TextIO

from common.errors import Malformed
from common.money import BadAmount, UnknownCurrency, parse_amount
from toolgateway.core.orders import Order
from toolgateway.core.policy import Policy
from toolgateway.core.refunds import RefundAsk, RefundFacts, decide_refund
from toolgateway.policy import load_policy, packaged_policy


def main() -> None:
    """Answer every line of standard input, in order."""
    policy = load_policy(packaged_policy())
    for answer in answers(sys.stdin, policy):
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")


def answers(lines: TextIO | list[str], policy: Policy) -> Iterator[dict[str, Any]]:
    """Yield one answer a line; a line that can't be judged gives ``{"id", "error"}`` and the rest goes on."""
    for line in lines:
        case: Any = None
        try:
            case = json.loads(line)
            yield _answer(case, policy)
        # Whatever one line holds, the next one is still answered.
        except Exception as e:  # noqa: BLE001
            found = case.get("id") if isinstance(case, dict) else None
            yield {"id": found, "error": f"{type(e).__name__}: {e}"[:300]}


def _answer(case: dict[str, Any], policy: Policy) -> dict[str, Any]:
    if case.get("kind") != "refund":
        raise Malformed("kind must be refund")
    args, given = case["args"], case["facts"]
    order = Order.model_validate({"order_id": args.get("order_id"), "customer_id": "", **given["order"]})
    if order.order_id != args.get("order_id"):
        raise Malformed("the facts are about another order")
    line_id = args.get("line_id")
    ask = RefundAsk(line_id=line_id, amount=_amount(args.get("amount"), order), reason=args.get("reason"))
    judged = decide_refund(ask, _facts(given, order, line_id), policy)
    return {"id": case.get("id"), "verdict": judged.verdict, "reason": judged.reason, "policy_version": policy.version}


def _facts(given: dict[str, Any], order: Order, line_id: Any) -> RefundFacts:
    refunded = _refunded(given.get("refunded"), order)
    total = None if refunded is None else sum(refunded.values(), Decimal(0))
    count, score, disputed = given.get("refunds_30d"), given.get("fraud_score"), given.get("disputed")
    return RefundFacts(
        currency=order.currency,
        order_status=order.status,
        line_paid=order.paid_for(line_id) if isinstance(line_id, str) else None,
        line_refunded=None if refunded is None else refunded.get(line_id, Decimal(0)),
        order_rest=None if total is None else order.paid_total() - total,
        refunds_in_window=count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None,
        sum_in_window=_amount(given.get("refund_sum_30d"), order),
        fraud_score=_number(score),
        disputed=disputed if isinstance(disputed, bool) else None,
        guard=given.get("guard"),
        intent_confidence=_number(given.get("intent_confidence")),
    )


def _refunded(given: Any, order: Order) -> dict[str, Decimal] | None:
    """Read what was refunded a line; one amount that can't be read makes the whole unknown."""
    if not isinstance(given, dict):
        return None
    amounts = {line: _amount(text, order) for line, text in given.items()}
    known = {line: amount for line, amount in amounts.items() if amount is not None}
    return known if len(known) == len(amounts) else None


def _amount(text: Any, order: Order) -> Decimal | None:
    try:
        return parse_amount(text, order.currency)
    except (BadAmount, UnknownCurrency):
        return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


if __name__ == "__main__":
    main()
