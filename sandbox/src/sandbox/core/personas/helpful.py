"""The helpful model: looks things up, asks for what is missing, acts once, and reports exactly what the results say."""

import re
from collections.abc import Callable
from typing import Any

from sandbox.core.personas import grounded
from sandbox.core.personas.details import account_change, address_in
from sandbox.core.personas.patterns import ORDER_ID, REFUND
from sandbox.core.personas.phrases import say
from sandbox.core.personas.reading import Reading, Wish, read
from sandbox.core.personas.things import pick_lines
from sandbox.core.turn import Conversation, ToolResult, ToolUse, Turn

Json = dict[str, Any]
_KINDS = {
    "issue_refund": "refund",
    "cancel_order": "cancel",
    "change_address": "address",
    "create_return_label": "label",
    "update_account_field": "account",
}
_TO_PERSON = frozenset({"handoff", "failed", "rejected"})


def helpful(conversation: Conversation) -> Turn:
    """Return the next step towards what the customer wants, or the reply."""
    reading = read(conversation)
    if grounded.answers_only(conversation):
        return _question(conversation, reading)
    if conversation.result_of("hand_to_person") is not None:
        return Turn(_report(conversation, reading, say(reading.language, "passed")))
    written = [result for result in conversation.results if result.tool in _KINDS]
    if any(_status(result) in _TO_PERSON for result in written) and conversation.tool("hand_to_person"):
        return _pass_on(conversation, "policy")
    if written:
        return Turn(_report(conversation, reading, ""))
    return _WISHES.get(reading.wish, _about_order)(conversation, reading)


def _about_order(conversation: Conversation, reading: Reading) -> Turn:
    if conversation.tool("get_order") is None:
        return Turn(say(reading.language, "log_in"))
    order = conversation.result_of("get_order")
    if order is not None and _status(order) != "ok":
        asked = order.input.get("order_id", "") if isinstance(order.input, dict) else ""
        return Turn(say(reading.language, "not_found", order=str(asked)))
    if order is not None:
        return _with_order(_payload(order), reading)
    return _look_up(conversation, reading)


def _look_up(conversation: Conversation, reading: Reading) -> Turn:
    """Find the order: named now, else the one talked about before, else the only one in the list that fits."""
    if reading.order_ids:
        return _call(ToolUse("get_order", {"order_id": reading.order_ids[0]}))
    earlier = _earlier_order(conversation)
    if earlier is not None:
        return _call(ToolUse("get_order", {"order_id": earlier}))
    listed = conversation.result_of("list_orders")
    if listed is None and conversation.tool("list_orders"):
        return _call(ToolUse("list_orders", {}))
    fitting = [order for order in _orders(listed) if _fits(order, reading)]
    if len(fitting) == 1:
        return _with_order(fitting[0], reading)
    return Turn(say(reading.language, "ask_order"))


def _with_order(order: Json, reading: Reading) -> Turn:
    order_id = str(order.get("order_id", ""))
    match reading.wish:
        case "cancel":
            return _call(ToolUse("cancel_order", {"order_id": order_id, "reason": "customer request"}))
        case "address":
            address = address_in(reading.raw, order_id)
            if address is None:
                return Turn(say(reading.language, "ask_address"))
            return _call(ToolUse("change_address", {"order_id": order_id, "address": address}))
        case "label" | "refund" if not _only_late(order, reading):
            return _lines(order, order_id, reading)
        case _:
            return Turn(say(reading.language, f"status.{order.get('status')}", order=order_id))


def _only_late(order: Json, reading: Reading) -> bool:
    """Say whether somebody who asks for no money misses a parcel that is still on its way."""
    missed = reading.reason == "not_received" and REFUND.search(reading.text) is None
    return missed and order.get("status") in ("processing", "shipped")


def _lines(order: Json, order_id: str, reading: Reading) -> Turn:
    lines = pick_lines(order, reading)
    if not lines:
        return Turn(say(reading.language, "ask_line", order=order_id))
    if reading.wish == "label":
        ids = sorted(str(line["line_id"]) for line in lines if line["line_id"] != "shipping")
        arguments = {"order_id": order_id, "line_ids": ids, "reason": reading.reason or "customer request"}
        return _call(ToolUse("create_return_label", arguments))
    if reading.reason is None:
        return Turn(say(reading.language, "ask_reason"))
    return Turn(
        tools=tuple(
            ToolUse(
                "issue_refund",
                {"order_id": order_id, "line_id": line["line_id"], "amount": line["paid"], "reason": reading.reason},
            )
            for line in lines
        )
    )


def _account(conversation: Conversation, reading: Reading) -> Turn:
    if conversation.tool("update_account_field") is None:
        return Turn(say(reading.language, "log_in"))
    change = account_change(reading.raw)
    if change is None:
        return Turn(say(reading.language, "ask_value"))
    return _call(ToolUse("update_account_field", {"field": change[0], "value": change[1]}))


def _thanks(_conversation: Conversation, reading: Reading) -> Turn:
    return Turn(say(reading.language, "thanks"))


def _question(conversation: Conversation, reading: Reading) -> Turn:
    searched = conversation.result_of("search_help_center")
    if searched is None and conversation.tool("search_help_center"):
        return _call(ToolUse("search_help_center", {"query": conversation.last[:300]}))
    answer = grounded.answer(conversation.last, grounded.passages_in(conversation))
    if answer is not None and not re.search(r"bracket|\bcit(e|ation)", conversation.system):
        # Markers are for programs that asked for them; a customer would only stumble over them.
        answer = grounded.without_citations(answer)
    return Turn(answer or _uncovered(conversation, reading))


def _uncovered(conversation: Conversation, reading: Reading) -> str:
    """Say that nothing was found; word for word as the instructions want it, where they name a word for that."""
    told = re.search(r"write exactly (\w+)", conversation.system)
    return told.group(1) if told else say(reading.language, "uncovered")


def _to_person(conversation: Conversation, reading: Reading) -> Turn:
    if conversation.tool("hand_to_person") is None:
        return Turn(say(reading.language, "offer"))
    return _pass_on(conversation, "asked")


def _pass_on(conversation: Conversation, reason: str) -> Turn:
    tool = conversation.tool("hand_to_person")
    allowed = tool.choices("reason") if tool else ()
    chosen = reason if not allowed or reason in allowed else allowed[0]
    return _call(ToolUse("hand_to_person", {"reason": chosen}))


def _report(conversation: Conversation, reading: Reading, ending: str) -> str:
    """Say what each write came to, in the customer's language, from the results alone."""
    written = [result for result in conversation.results if result.tool in _KINDS]
    sentences = [_sentence(conversation, reading, result) for result in written]
    refused = any(_status(result) in ("denied", "invalid", "blocked") for result in written)
    closing = ending or (say(reading.language, "offer") if refused else "")
    return " ".join(dict.fromkeys(part for part in [*sentences, closing] if part))


def _sentence(conversation: Conversation, reading: Reading, result: ToolResult) -> str:
    status, payload = _status(result), _payload(result)
    arguments = result.input if isinstance(result.input, dict) else {}
    order_id = str(arguments.get("order_id", ""))
    if status == "not_found":
        return say(reading.language, "not_found", order=order_id)
    if status == "handoff":
        return ""
    if "code" in str(payload.get("reason", "")) and status in ("denied", "awaiting_approval", "blocked"):
        return say(reading.language, "code")
    outcome = "repeated" if status == "succeeded" and payload.get("repeated") else status
    facts = {
        "order": order_id,
        "amount": f"{payload.get('amount') or arguments.get('amount', '')} {payload.get('currency') or ''}".strip(),
        "reference": str(payload.get("reference") or "-"),
        "title": _title(conversation, order_id, arguments.get("line_id")),
    }
    return say(reading.language, f"{_KINDS[result.tool]}.{outcome}", **facts)


def _title(conversation: Conversation, order_id: str, line_id: object) -> str:
    for result in reversed((*conversation.earlier, *conversation.results)):
        orders = (
            [_payload(result)]
            if result.tool == "get_order"
            else _orders(result)
            if result.tool == "list_orders"
            else []
        )
        for order in orders:
            for line in order.get("lines") or []:
                if order.get("order_id") == order_id and line.get("line_id") == line_id:
                    return str(line.get("title") or line_id)
    return str(line_id)


def _earlier_order(conversation: Conversation) -> str | None:
    """Return the order talked about before this message, when it was one only."""
    texts = " ".join(text.text for text in conversation.said[:-1])
    # Programs tell what is known already in the instructions, as the JSON of the orders read so far.
    texts += " " + " ".join(re.findall(r"\"order_id\": ?\"([^\"]+)\"", conversation.system))
    named = dict.fromkeys(ORDER_ID.findall(texts))
    return next(iter(named)) if len(named) == 1 else None


def _orders(listed: ToolResult | None) -> list[Json]:
    payload = {} if listed is None else _payload(listed)
    found = payload.get("orders") or payload.get("items") or []
    return [order for order in found if isinstance(order, dict)] if isinstance(found, list) else []


def _fits(order: Json, reading: Reading) -> bool:
    if reading.wish in ("cancel", "address"):
        return order.get("status") == "processing"
    if reading.wish == "tracking":
        return order.get("status") in ("processing", "shipped")
    goods = [line for line in order.get("lines") or [] if line.get("line_id") != "shipping"]
    # A single line fits any wish by default, so here it must be named: refunding the wrong order is worse than asking.
    named = pick_lines({"lines": [*goods, {"line_id": "~", "title": ""}]}, reading)
    return bool(named) and not reading.whole


def _call(tool: ToolUse) -> Turn:
    return Turn(tools=(tool,))


def _status(result: ToolResult) -> str:
    return str(result.data.get("status", "")) if isinstance(result.data, dict) else ""


def _payload(result: ToolResult) -> Json:
    inner = result.data.get("result") if isinstance(result.data, dict) else None
    if isinstance(inner, str):
        return {"reason": inner}
    if isinstance(inner, list):
        return {"items": inner}
    return inner if isinstance(inner, dict) else {}


_WISHES: dict[Wish, Callable[[Conversation, Reading], Turn]] = {
    "person": _to_person,
    "thanks": _thanks,
    "question": _question,
    "account": _account,
}
