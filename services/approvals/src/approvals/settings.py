"""What approvals reads from its environment, with the prefix ``APPROVALS_``."""

from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator

from common.settings import BusSettings, prefixed, refuse_empty, refuse_this_machine


class Settings(BusSettings):
    """Where approvals listens and whom it trusts; times in seconds."""

    model_config = prefixed("APPROVALS_")

    database_url: str
    host: str = "127.0.0.1"
    port: int = Field(8083, ge=0, le=65_535)
    staff_jwks_url: str
    staff_issuer: str = "https://staff.sandbox.local"
    toolgateway_url: str
    agent_url: str
    # A person who claimed a handoff and went silent gives it back to the queue after this.
    claim_lease_s: int = Field(1_800, ge=60)
    # What an approver may decide when their token names no ceiling (CONTRACT: up to 500.00).
    default_ceiling: Decimal = Decimal("500.00")

    @model_validator(mode="after")
    def _stand_ins_end_at_development(self) -> Self:
        if self.profile != "dev":
            refuse_empty(staff_issuer=self.staff_issuer)
            refuse_this_machine(staff_jwks_url=self.staff_jwks_url)
        return self
