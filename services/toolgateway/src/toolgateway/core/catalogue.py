"""What the model is shown of the tools: names, descriptions and closed JSON schemas, in Anthropic's shape."""

from typing import Any

from toolgateway.core.arguments import TOOLS, WRITES

DESCRIPTIONS = {
    "get_order": "Look up one order of the signed-in customer: status, dates, address, tracking link and lines "
    "with what was paid for each. An order that isn't theirs is answered as not found.",
    "list_orders": "List the signed-in customer's orders, newest first, with status and lines.",
    "issue_refund": "Ask for a refund of one line of an order. `amount` is text with exactly the currency's decimals, "
    'for example "64.00" ("6400" in JPY), at most what was paid for the line. `reason` is the customer\'s own: '
    "damaged, not_received, late or wrong_item; any other reason is denied. Code decides whether the refund is made, "
    "waits for a person's approval, or is denied; report only what the result says.",
    "cancel_order": "Ask to cancel a whole order that hasn't been shipped. The store returns what was paid.",
    "change_address": "Ask to send an order that hasn't been shipped to another address.",
    "create_return_label": "Make a return label for lines of a delivered order inside the return window.",
    "update_account_field": "Change one field of the customer's own account: email, name, phone (text) or address "
    "(object). Needs a one-time code, which is asked for by itself.",
    "search_help_center": "Search the store's help articles for its policies.",
    "hand_to_person": "Hand the conversation to a person, with the reason in a few words.",
}


def tool_catalogue() -> list[dict[str, Any]]:
    """Return every tool as ``{"name", "description", "writes", "input_schema"}``."""
    return [
        {
            "name": name,
            "description": DESCRIPTIONS[name],
            "writes": name in WRITES,
            "input_schema": _without_titles(model.model_json_schema()),
        }
        for name, model in TOOLS.items()
    ]


def _without_titles(schema: Any) -> Any:
    """Drop what pydantic writes for people reading its schemas; each word is paid for with every model call."""
    if isinstance(schema, dict):
        return {
            name: _without_titles(value)
            for name, value in schema.items()
            if not (name == "title" and isinstance(value, str))
            and not (name == "description" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    return schema
