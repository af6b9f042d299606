"""What approvals reads from its environment, with the prefix ``APPROVALS_``."""

from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from common.settings import BusSettings


class Settings(BusSettings):
    """Where approvals listens and whom it trusts; times in seconds."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    database_url: str = Field(validation_alias="APPROVALS_DATABASE_URL")
    host: str = Field("127.0.0.1", validation_alias="APPROVALS_HOST")
    port: int = Field(8083, ge=0, le=65_535, validation_alias="APPROVALS_PORT")
    staff_jwks_url: str = Field(validation_alias="APPROVALS_STAFF_JWKS_URL")
    staff_issuer: str = Field("https://staff.sandbox.local", validation_alias="APPROVALS_STAFF_ISSUER")
    toolgateway_url: str = Field(validation_alias="APPROVALS_TOOLGATEWAY_URL")
    agent_url: str = Field(validation_alias="APPROVALS_AGENT_URL")
    # A person who claimed a handoff and went silent gives it back to the queue after this.
    claim_lease_s: int = Field(1_800, ge=60, validation_alias="APPROVALS_CLAIM_LEASE_S")
    # What an approver may decide when their token names no ceiling (CONTRACT: up to 500.00).
    default_ceiling: Decimal = Field(Decimal("500.00"), validation_alias="APPROVALS_DEFAULT_CEILING")

    @model_validator(mode="after")
    def _stand_ins_end_at_development(self) -> Self:
        if self.profile != "dev" and any("sandbox" in url for url in (self.staff_issuer, self.staff_jwks_url)):
            raise ValueError("the sandbox is a development stand-in; it needs PROFILE=dev")
        return self
