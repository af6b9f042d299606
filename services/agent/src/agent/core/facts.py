"""What tool results leave behind in a conversation's memory, and the facts that words are held against."""

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from agent.core.claims.facts import Action, Facts, Line, Order
from agent.core.state import Memory, RunProgress

Json = dict[str, Any]
KIND_OF_TOOL = {
    "issue_refund": "refund",
    "cancel_order": "cancel",
    "change_address": "address_change",
    "create_return_label": "return_label",
    "update_account_field": "account_change",
}
FINAL = frozenset({"succeeded", "rejected", "failed"})
ROW_STATUSES = FINAL | {"pending", "awaiting_approval"}
_FAILED_STATUSES = frozenset({"invalid", "not_found", "error", "blocked"})
_UNDER_WAY = frozenset({"pending", "awaiting_approval", "succeeded"})
_HOW_FAR = {"awaiting_approval": 1, "pending": 2} | dict.fromkeys(FINAL, 3)
_KEPT_ORDERS = 12
_KEPT_OF_ROW = ("key", "kind", "status", "order_id", "line_id", "currency", "approved_by", "version")


def row_of(name: str, args: Json, answer: Json) -> Json | None:
    """Return the ledger row that a write's answer speaks of, or None when it made none (deny, handoff, invalid)."""
    result = answer.get("result") or {}
    # A wish that an existing row doesn't meet is answered "handoff" with that row in the result (R1).
    status = result.get("status") or answer["status"]
    if status not in ROW_STATUSES or not result.get("key"):
        return None
    return {
        "key": result["key"],
        "kind": KIND_OF_TOOL[name],
        "status": status,
        "order_id": result.get("order_id") or args.get("order_id"),
        "line_id": result.get("line_id") or args.get("line_id"),
        "amount": result.get("amount"),
        "currency": result.get("currency"),
        "reference": result.get("reference"),
        "reason": result.get("reason"),
    }


def remember_answer(name: str, args: Json, answer: Json, memory: Memory, run: RunProgress) -> Json | None:
    """Book one tool answer into memory and checkpoint; returns the ledger row if it changed what we knew."""
    status = answer["status"]
    run.tool_successes += status == "ok" or status in ROW_STATUSES
    if status in _FAILED_STATUSES:
        run.failed_calls += 1
    elif status == "ok" or status in ROW_STATUSES:
        # Only failures in a row say that we are stuck.
        run.failed_calls = memory.failed_calls = 0
    run.above_ceiling = run.above_ceiling or status == "handoff"
    if name in KIND_OF_TOOL:
        if status == "failed":
            # A definite refusal ends the row; what to do about it is a person's to say, never a model's (SPEC §6).
            run.hand_reason = run.hand_reason or "policy"
        if status in _UNDER_WAY:
            memory.attempts = run.vain_writes = 0
        elif not _waits_for_code(name, args, memory):
            memory.attempts += 1
            run.vain_writes += 1
        memory.attempted.append({"tool": name, "args": args, "status": status, "reason": _reason(answer)})
        del memory.attempted[:-20]
        row = row_of(name, args, answer)
        if row is None:
            return None
        known = memory.actions.get(row["key"])
        memory.actions[row["key"]] = row
        run.answered_keys.append(row["key"])
        if known is not None and known.get("status") == row["status"]:
            return None
        run.moved_rows += 1
        run.moved_keys.append(row["key"])
        return row
    if status == "ok":
        _remember_orders(name, answer.get("result"), memory)
    return None


def _waits_for_code(name: str, args: Json, memory: Memory) -> bool:
    """A write that waits for the customer's one-time code hasn't come to nothing."""
    held = memory.held_call
    return held is not None and held["for"] == "code" and (held["name"], held["args"]) == (name, args)


def facts_of(memory: Memory, *, handoff: bool = False) -> Facts:
    """Return what this conversation may truthfully speak of."""
    return Facts(
        actions=tuple(
            Action(
                key=row["key"],
                kind=row["kind"],
                status=row["status"],
                order_id=row.get("order_id"),
                line_id=row.get("line_id"),
                amount=_decimal(row.get("amount")),
                currency=row.get("currency"),
                reference=row.get("reference"),
                approved_by=row.get("approved_by"),
            )
            for row in memory.actions.values()
        ),
        orders=tuple(Order(order_id=k, status=str(o.get("status") or "")) for k, o in memory.orders.items()),
        lines=tuple(_lines(memory)),
        handoff=handoff,
    )


def facts_now(memory: Memory, run: RunProgress, *, current: bool) -> Facts:
    """Return what may be spoken of at this moment; ``current`` says that the ledger has just been read.

    Without that a remembered row proves nothing any more. What a tool of this very message answered as final is the
    ledger's own result (R17) and may still be told; what was open may have been settled since, and no deed can be
    denied.
    """
    if current:
        return facts_of(memory)
    told = {key: memory.actions[key] for key in run.answered_keys if key in memory.actions}
    final = {key: row for key, row in told.items() if row.get("status") in FINAL}
    return facts_of(memory.model_copy(update={"actions": final})).model_copy(update={"complete": False})


def _lines(memory: Memory) -> Iterator[Line]:
    for order_id, order in memory.orders.items():
        lines = order.get("lines")
        for line in lines if isinstance(lines, list) else []:
            if isinstance(line, dict) and line.get("line_id") and line.get("title"):
                yield Line(order_id=order_id, line_id=str(line["line_id"]), title=str(line["title"]))


def merge_ledger(rows: list[Json], memory: Memory) -> None:
    """Take the ledger's own rows over what was remembered: they may have moved while the customer was away."""
    for row in rows:
        known = memory.actions.get(row["key"], {})
        if _is_older(row, known):
            continue
        kept = {f: row.get(f) for f in _KEPT_OF_ROW} | {"reason": known.get("reason") or row.get("policy_reason")}
        amount, reference = row.get("amount"), row.get("external_ref") or row.get("reference")
        memory.actions[row["key"]] = (
            known | kept | {"amount": None if amount is None else str(amount), "reference": reference}
        )


def keep_newest(rows: Iterable[Json], memory: Memory) -> list[Json]:
    """Put a run's copies of rows where none that is newer was saved meanwhile; returns each row as it stands now."""
    now = []
    for row in rows:
        if not _is_older(row, memory.actions.get(row["key"], {})):
            memory.actions[row["key"]] = row
        now.append(memory.actions[row["key"]])
    return now


def book_own_row(row: Json, memory: Memory, run: RunProgress) -> None:
    """Book a row of the ledger that this message moved without our having got the answer; nobody has told of it."""
    merge_ledger([row], memory)
    if row["key"] not in run.moved_keys:
        run.moved_rows += 1
        run.moved_keys.append(row["key"])
    run.answered_keys.append(row["key"])
    run.untold.append(memory.actions[row["key"]])


def book_told_row(row: Json, memory: Memory, run: RunProgress) -> None:
    """Book a row that this message moved and whose end the ledger's topic has told by now: it is no news to show."""
    merge_ledger([row], memory)
    if row["key"] not in run.moved_keys:
        run.moved_rows += 1
        run.moved_keys.append(row["key"])
    run.answered_keys.append(row["key"])
    run.told_keys.append(row["key"])


def _is_older(row: Json, known: Json) -> bool:
    """Say whether a copy of a row was made before the one we have.

    A final row never opens again and an approved one never waits again; else a copy with its version, which is the
    ledger's own, is held newer than a tool's answer, which has none.
    """
    if row.get("version") and known.get("version"):
        return bool(row["version"] < known["version"])
    made, had = (_HOW_FAR.get(str(r.get("status")), 0) for r in (row, known))
    return made < had or (made == had and bool(known.get("version")))


def _remember_orders(name: str, result: Any, memory: Memory) -> None:
    if not isinstance(result, dict):
        return
    orders = result.get("orders", result.get("items", [])) if name == "list_orders" else [result]
    for order in orders if isinstance(orders, list) else []:
        if isinstance(order, dict) and isinstance(order.get("order_id"), str):
            memory.orders.pop(order["order_id"], None)
            memory.orders[order["order_id"]] = order
    for oldest in list(memory.orders)[:-_KEPT_ORDERS]:
        del memory.orders[oldest]


def _reason(answer: Json) -> str | None:
    result = answer.get("result")
    return str(result["reason"]) if isinstance(result, dict) and result.get("reason") else None


def _decimal(value: object) -> Decimal | None:
    try:
        return Decimal(str(value)) if value is not None else None
    except InvalidOperation:
        return None
