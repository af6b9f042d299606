"""What the tool gateway reads from its environment, with the prefix ``TOOLGATEWAY_``; times in seconds."""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, model_validator

from common.settings import BusSettings, prefixed, refuse_empty, refuse_open, refuse_this_machine
from toolgateway.policy import packaged_policy
from toolgateway.runner import Patience

# As the gateway asks of its hooks' secret: 16 characters of a generated secret are beyond guessing.
_SECRET_CHARS = 16


class Settings(BusSettings):
    """One frozen value; ``patience`` is what the money path makes of it."""

    model_config = prefixed("TOOLGATEWAY_")

    host: str = "127.0.0.1"
    port: int = Field(8083, ge=0, le=65_535)
    database_url: str
    # Four connections carry two cores' worth of commits; more only wait for each other's.
    pool_size: int = Field(8, ge=2, le=50)

    commerce_url: str
    commerce_timeout_s: float = Field(3.0, gt=0)
    reads_per_s: float = Field(500.0, gt=0)
    order_id_pattern: str = r"[0-9]{6,12}"
    # Carriers' hosts, separated by commas: a tracking link to any other isn't shown. Empty: any host.
    tracking_hosts: str = ""

    payments_provider: Literal["sandbox", "stripe"] = "sandbox"
    # Empty: the provider's own public address (Stripe).
    payments_url: str = ""
    payments_api_key: str = ""
    payments_webhook_secret: str = ""
    payments_timeout_s: float = Field(5.0, gt=0)
    payments_tries: int = Field(3, ge=1, le=10)
    # Stripe keeps keys for at least 24 hours; half of that is the oldest we send one again (R4).
    payments_key_retention_s: float = Field(86_400.0, gt=0)
    payments_settle_s: float = Field(60.0, ge=0)
    # Stripe allows a hundred reads and a hundred writes a second; a refund is two of the one and one of the other.
    payments_per_s: float = Field(150.0, gt=0)
    # How long a caller waits for a payment before it reads "being processed"; an action turn has eight seconds in all.
    inline_s: float = Field(6.0, gt=0)

    policy_file: Path = packaged_policy()
    policy_candidate_file: Path | None = None
    policy_candidate_percent: int = Field(5, ge=0, le=100)
    # The contract names it without this service's prefix; the prefixed name wins.
    approvals_deadline_s: float = Field(
        4 * 3_600.0, gt=0, validation_alias=AliasChoices("TOOLGATEWAY_APPROVALS_DEADLINE_S", "APPROVALS_DEADLINE_S")
    )
    approvals_url: str
    staff_jwks_url: str = ""
    staff_issuer: str = "https://staff.sandbox.local"
    help_center_url: str = ""

    @model_validator(mode="after")
    def _fit_to_move_money(self) -> Self:
        """Outside development every check of a caller and every credential is there, and no stand-in is."""
        if self.profile == "dev":
            return self
        refuse_empty(
            payments_api_key=self.payments_api_key,
            payments_webhook_secret=self.payments_webhook_secret,
            staff_jwks_url=self.staff_jwks_url,
            staff_issuer=self.staff_issuer,
            help_center_url=self.help_center_url,
        )
        if len(self.payments_webhook_secret) < _SECRET_CHARS:
            raise ValueError(f"payments_webhook_secret is shorter than {_SECRET_CHARS} characters: it can be guessed")
        outside = {"commerce_url": self.commerce_url, "staff_jwks_url": self.staff_jwks_url}
        if self.payments_url:
            outside["payments_url"] = self.payments_url
        refuse_this_machine(**outside)
        # The other two carry the payment credential and the keys that staff tokens are believed by.
        refuse_open(**{name: url for name, url in outside.items() if name != "commerce_url"})
        return self

    @property
    def link_hosts(self) -> tuple[str, ...]:
        """The hosts that tracking links may lead to."""
        return tuple(host.strip() for host in self.tracking_hosts.split(",") if host.strip())

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
