"""What a call costs, from a price list that is a setting and not a fact of the code."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from common.models.turns import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars a million tokens; the cache is written at 1.25 and read at 0.1 times the input price."""

    input_usd: Decimal
    output_usd: Decimal

    def of(self, usage: Usage) -> Decimal:
        weighed = (
            Decimal(usage.input_tokens)
            + usage.cache_write_tokens * Decimal("1.25")
            + usage.cache_read_tokens * Decimal("0.1")
        )
        return (weighed * self.input_usd + usage.output_tokens * self.output_usd) / _MILLION


# List prices by family; a model that isn't listed costs as the dearest does, so that a surprise shows up as cost.
LIST_PRICES: Mapping[str, Prices] = {
    "claude-haiku": Prices(Decimal(1), Decimal(5)),
    "claude-sonnet": Prices(Decimal(3), Decimal(15)),
    "gpt": Prices(Decimal("2.5"), Decimal(10)),
}
_DEAREST = max(LIST_PRICES.values(), key=lambda prices: prices.output_usd)


def cost_usd(model: str, usage: Usage, prices: Mapping[str, Prices] = LIST_PRICES) -> Decimal:
    """Return the dollars one call cost, by the longest listed prefix of the model's name."""
    for prefix in sorted(prices, key=len, reverse=True):
        if model.startswith(prefix):
            return prices[prefix].of(usage)
    return _DEAREST.of(usage)
