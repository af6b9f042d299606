"""The model gateway: one question in, one whole turn out, whichever provider could answer within the budget."""

from common.models.breaker import Breaker
from common.models.costs import Prices, cost_usd
from common.models.errors import BudgetSpent, ModelFault, ModelRefused, ModelsDown, TokensSpent
from common.models.gateway import ModelGateway, Provider, RetryPlan
from common.models.hearing import Hearer
from common.models.metering import Meter, account, metered, require_room
from common.models.quotas import LocalQuotas, Quotas, RedisQuotas, Unlimited
from common.models.turns import ModelRequest, ModelTurn, Priority, Size, ToolCall, Usage

__all__ = [
    "Breaker",
    "BudgetSpent",
    "Hearer",
    "LocalQuotas",
    "Meter",
    "ModelFault",
    "ModelGateway",
    "ModelRefused",
    "ModelRequest",
    "ModelTurn",
    "ModelsDown",
    "Prices",
    "Priority",
    "Provider",
    "Quotas",
    "RedisQuotas",
    "RetryPlan",
    "Size",
    "TokensSpent",
    "ToolCall",
    "Unlimited",
    "Usage",
    "account",
    "cost_usd",
    "metered",
    "require_room",
]
