"""What the gateway reads from its environment, once; units are in the names."""

from typing import Self

from pydantic import AliasChoices, Field, model_validator

from common.settings import BusSettings, prefixed, refuse_empty, refuse_this_machine


class Settings(BusSettings):
    """Variables ``GATEWAY_…``, beside the shared ones of ``BusSettings``."""

    model_config = prefixed("GATEWAY_")

    database_url: str
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65_535)

    login_jwks_url: str
    login_issuer: str = ""
    login_audience: str = "support"
    hook_secret: str = Field(min_length=16, validation_alias=AliasChoices("GATEWAY_HOOK_SECRET", "HOOK_SECRET"))

    commerce_url: str
    mail_url: str
    # Answers who has a conversation now; without it the last known status is told.
    agent_url: str = ""

    messages_per_10s: int = Field(20, ge=1)
    visitors_per_10s: int = Field(30, ge=1)
    visitor_token_s: int = Field(1_800, ge=60)
    # Tokens on topics live ten minutes at most (SPEC §9).
    assertion_s: int = Field(600, ge=30, le=600)
    heartbeat_s: float = Field(15.0, gt=0)
    database_pool: int = Field(8, ge=2)

    code_s: int = Field(600, ge=30)
    code_tries_per_h: int = Field(5, ge=1)
    codes_per_h: int = Field(3, ge=1)
    # How long a thread stays its sender's after a right code, and how long that code counts as step-up.
    verified_thread_s: int = Field(86_400, ge=60)
    step_up_s: int = Field(3_600, ge=60)
    # A conversation this quiet is no longer carried on by another channel.
    carry_on_s: int = Field(86_400, ge=60)

    @model_validator(mode="after")
    def _the_login_is_a_real_one(self) -> Self:
        # Named otherwise than the kernel's own check: a validator of the same name would replace that one.
        if self.profile == "dev":
            if not self.login_issuer:
                object.__setattr__(self, "login_issuer", "https://login.sandbox.local")
            return self
        refuse_empty(login_issuer=self.login_issuer)
        refuse_this_machine(login_jwks_url=self.login_jwks_url, commerce_url=self.commerce_url, mail_url=self.mail_url)
        return self
