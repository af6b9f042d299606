"""The chaotic model: random tool calls, many of them malformed, the same ones for the same conversation."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from sandbox.core.personas.wicked import liar
from sandbox.core.turn import Conversation, ToolUse, Turn

Json = dict[str, Any]
_ORDERS = (
    "4417028",
    "4417029",
    "5520001",
    "4417030",
    "9999999",
    "4417028\n",
    "#1001",
    "\u0664\u0664\u0661\u0667\u0660\u0662\u0668",
    "../4417028",
    4417028,
    None,
)
_LINES = ("L1", "L2", "L3", "shipping", "L99", "", "L1; drop table actions")
_AMOUNTS = (
    "64.00",
    "900.00",
    "250.00",
    "-5.00",
    "1e3",
    "0.00",
    "NaN",
    "64",
    "1,000.00",
    64,
    "100.01",
    "\uff16\uff14.00",
)
_REASONS = ("damaged", "late", "because", "not_received", "")
_INVENTED = ("drop_tables", "issue_refund_now", "transfer_funds", "Issue_Refund", "python", "")


class Dice:
    """Numbers drawn from a hash of the conversation: no randomness, so a failing run can be run again."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._thrown = 0

    def throw(self, sides: int) -> int:
        """Return 0 … sides - 1."""
        self._thrown += 1
        digest = hashlib.sha256(f"{self._seed}:{self._thrown}".encode()).digest()
        return int.from_bytes(digest[:6], "big") % sides

    def pick(self, options: tuple[Any, ...]) -> Any:
        """Return one of the options."""
        return options[self.throw(len(options))]


def chaotic(conversation: Conversation) -> Turn:
    """Return some turn: tool calls good and bad, invented tools, broken JSON, twins, twin ids, now and then a lie."""
    dice = Dice(json.dumps([conversation.user, conversation.customer, conversation.depth, len(conversation.notes)]))
    if not conversation.tools or dice.throw(6) == 0:
        return liar(conversation)
    turns: tuple[Callable[[Dice], Turn], ...] = (_one, _one, _parallel, _twins, _broken, _invented, _same_ids)
    return dice.pick(turns)(dice)  # type: ignore[no-any-return]


def _one(dice: Dice) -> Turn:
    return Turn(tools=(_tool(dice),))


def _parallel(dice: Dice) -> Turn:
    return Turn("Let me do all of that at once.", tuple(_tool(dice) for _ in range(2 + dice.throw(4))))


def _twins(dice: Dice) -> Turn:
    tool = _tool(dice)
    return Turn(tools=(tool, tool))


def _broken(dice: Dice) -> Turn:
    tool = _tool(dice)
    text = json.dumps(tool.input)
    raw = dice.pick(
        (text[: len(text) // 2], text + "}", "{'order_id': 4417028}", "", '{"order_id":"4417028","order_id":"5520001"}')
    )
    return Turn(tools=(ToolUse(tool.name, tool.input, raw_input=raw),))


def _invented(dice: Dice) -> Turn:
    return Turn(tools=(ToolUse(dice.pick(_INVENTED), {"order_id": "4417028", "amount": "900.00", "approved": True}),))


def _same_ids(dice: Dice) -> Turn:
    return Turn(tools=tuple(ToolUse(tool.name, tool.input, id="toolu_same") for tool in (_tool(dice), _tool(dice))))


def _tool(dice: Dice) -> ToolUse:
    order = dice.pick(_ORDERS)
    refund = {
        "order_id": order, "line_id": dice.pick(_LINES), "amount": dice.pick(_AMOUNTS), "reason": dice.pick(_REASONS),
    }  # fmt: skip
    extra: Json = dice.pick(({}, {}, {"customer_id": "C-2002"}, {"verified": True}, {"idempotency_key": "mine"}))
    address = {"line1": "1 Elsewhere", "city": "Nowhere", "postal_code": "00000", "country": "US"}
    options: tuple[ToolUse, ...] = (
        ToolUse("issue_refund", {**refund, **extra}),
        ToolUse("issue_refund", refund),
        ToolUse("get_order", {"order_id": order, **extra}),
        ToolUse("list_orders", extra),
        ToolUse("cancel_order", {"order_id": order, "reason": "why not"}),
        ToolUse("change_address", {"order_id": order, "address": dice.pick((address, "x", None, []))}),
        ToolUse(
            "create_return_label", {"order_id": order, "line_ids": dice.pick((["L1"], [], "L1")), "reason": "late"}
        ),
        ToolUse("update_account_field", {"field": dice.pick(("email", "tier")), "value": "thief@example.com"}),
        ToolUse("search_help_center", {"query": "refund"}),
        ToolUse("issue_refund", dice.pick(("all of it", [1, 2], None, 900))),
    )
    chosen: ToolUse = dice.pick(options)
    return chosen
