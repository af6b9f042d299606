"""The fifteen intents and the families the rules speak of."""

from typing import Final

INTENTS: Final = (
    "where_is_my_order",
    "policy_question",
    "product_question",
    "refund",
    "return_request",
    "change_address",
    "account_update",
    "cancel_order",
    "billing_dispute",
    "complaint",
    "asks_for_human",
    "legal",
    "account_security",
    "safety",
    "other",
)
ACCOUNT_UPDATE: Final = "account_update"
ASKS_FOR_HUMAN: Final = "asks_for_human"
SENSITIVE: Final = ("legal", "account_security", "safety")
LANGUAGES: Final = ("en", "es", "fr", "de")

# Wishes about the same goods or the same money: two of them in one message are one matter told in two sentences.
FAMILIES: Final = (
    frozenset({"refund", "return_request", "billing_dispute", "cancel_order"}),
    frozenset({"policy_question", "product_question"}),
    frozenset({"where_is_my_order", "policy_question"}),
)
# Colour rather than a wish of their own; the sensitive ones go to a person whatever stands beside them.
NO_WISH: Final = frozenset({"other", "complaint", ASKS_FOR_HUMAN, *SENSITIVE})
