"""What the tool gateway reads from its environment, with the prefix ``TOOLGATEWAY_``; times in seconds."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import SettingsConfigDict

from common.settings import BusSettings
from toolgateway.policy import packaged_policy
from toolgateway.runner import Patience


def _env(name: str, *others: str) -> AliasChoices:
    return AliasChoices(f"TOOLGATEWAY_{name}", *others)


class Settings(BusSettings):
    """One frozen value; ``patience`` is what the money path makes of it."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    host: str = Field("127.0.0.1", validation_alias=_env("HOST"))
    port: int = Field(8083, ge=0, le=65_535, validation_alias=_env("PORT"))
    database_url: str = Field(validation_alias=_env("DATABASE_URL"))
    # Four connections carry two cores' worth of commits; more only wait for each other's.
    pool_size: int = Field(8, ge=2, le=50, validation_alias=_env("POOL_SIZE"))

    commerce_url: str = Field(validation_alias=_env("COMMERCE_URL"))
    commerce_timeout_s: float = Field(3.0, gt=0, validation_alias=_env("COMMERCE_TIMEOUT_S"))
    reads_per_s: float = Field(500.0, gt=0, validation_alias=_env("READS_PER_S"))
    order_id_pattern: str = Field(r"[0-9]{6,12}", validation_alias=_env("ORDER_ID_PATTERN"))

    payments_provider: Literal["sandbox", "stripe"] = Field("sandbox", validation_alias=_env("PAYMENTS_PROVIDER"))
    # Empty: the provider's own public address (Stripe).
    payments_url: str = Field("", validation_alias=_env("PAYMENTS_URL"))
    payments_api_key: str = Field("", validation_alias=_env("PAYMENTS_API_KEY"))
    payments_webhook_secret: str = Field("", validation_alias=_env("PAYMENTS_WEBHOOK_SECRET"))
    payments_timeout_s: float = Field(5.0, gt=0, validation_alias=_env("PAYMENTS_TIMEOUT_S"))
    payments_tries: int = Field(3, ge=1, le=10, validation_alias=_env("PAYMENTS_TRIES"))
    # Stripe keeps keys for at least 24 hours; half of that is the oldest we send one again (R4).
    payments_key_retention_s: float = Field(86_400.0, gt=0, validation_alias=_env("PAYMENTS_KEY_RETENTION_S"))
    payments_settle_s: float = Field(60.0, ge=0, validation_alias=_env("PAYMENTS_SETTLE_S"))
    # Stripe allows a hundred reads and a hundred writes a second; a refund is two of the one and one of the other.
    payments_per_s: float = Field(150.0, gt=0, validation_alias=_env("PAYMENTS_PER_S"))
    # How long a caller waits for a payment before it reads "being processed"; an action turn has eight seconds in all.
    inline_s: float = Field(6.0, gt=0, validation_alias=_env("INLINE_S"))

    policy_file: Path = Field(packaged_policy(), validation_alias=_env("POLICY_FILE"))
    policy_candidate_file: Path | None = Field(None, validation_alias=_env("POLICY_CANDIDATE_FILE"))
    policy_candidate_percent: int = Field(5, ge=0, le=100, validation_alias=_env("POLICY_CANDIDATE_PERCENT"))
    approvals_deadline_s: float = Field(
        4 * 3_600.0, gt=0, validation_alias=_env("APPROVALS_DEADLINE_S", "APPROVALS_DEADLINE_S")
    )
    approvals_url: str = Field(validation_alias=_env("APPROVALS_URL"))
    staff_jwks_url: str = Field("", validation_alias=_env("STAFF_JWKS_URL"))
    staff_issuer: str = Field("https://staff.sandbox.local", validation_alias=_env("STAFF_ISSUER"))
    help_center_url: str = Field("", validation_alias=_env("HELP_CENTER_URL"))

    @property
    def patience(self) -> Patience:
        """The times of the money path. A claim outlives every call made under it by a second."""
        work_s = self.payments_timeout_s * self.payments_tries
        return Patience(
            timeout_s=self.payments_timeout_s,
            tries=self.payments_tries,
            claim_s=work_s + 1.0,
            key_retention_s=self.payments_key_retention_s,
            settle_s=self.payments_settle_s,
        )
