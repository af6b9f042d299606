"""What the gateway reads from its environment, once; units are in the names."""

from typing import Self

from pydantic import AliasChoices, Field, model_validator
from pydantic_settings import SettingsConfigDict

from common.settings import BusSettings


class Settings(BusSettings):
    """Variables ``GATEWAY_…``, beside the shared ones of ``BusSettings``."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    database_url: str = Field(validation_alias=AliasChoices("GATEWAY_DATABASE_URL"))
    host: str = Field("127.0.0.1", validation_alias="GATEWAY_HOST")
    port: int = Field(8080, ge=0, le=65_535, validation_alias="GATEWAY_PORT")

    login_jwks_url: str = Field(validation_alias="GATEWAY_LOGIN_JWKS_URL")
    login_issuer: str = Field("", validation_alias="GATEWAY_LOGIN_ISSUER")
    login_audience: str = Field("support", validation_alias="GATEWAY_LOGIN_AUDIENCE")
    hook_secret: str = Field(min_length=16, validation_alias=AliasChoices("GATEWAY_HOOK_SECRET", "HOOK_SECRET"))

    commerce_url: str = Field(validation_alias="GATEWAY_COMMERCE_URL")
    mail_url: str = Field(validation_alias="GATEWAY_MAIL_URL")
    # Answers who has a conversation now; without it the last known status is told.
    agent_url: str = Field("", validation_alias="GATEWAY_AGENT_URL")

    messages_per_10s: int = Field(20, ge=1, validation_alias="GATEWAY_MESSAGES_PER_10S")
    visitors_per_10s: int = Field(30, ge=1, validation_alias="GATEWAY_VISITORS_PER_10S")
    visitor_token_s: int = Field(1_800, ge=60, validation_alias="GATEWAY_VISITOR_TOKEN_S")
    # Tokens on topics live ten minutes at most (SPEC §9).
    assertion_s: int = Field(600, ge=30, le=600, validation_alias="GATEWAY_ASSERTION_S")
    heartbeat_s: float = Field(15.0, gt=0, validation_alias="GATEWAY_HEARTBEAT_S")
    database_pool: int = Field(8, ge=2, validation_alias="GATEWAY_DATABASE_POOL")

    code_s: int = Field(600, ge=30, validation_alias="GATEWAY_CODE_S")
    code_tries_per_h: int = Field(5, ge=1, validation_alias="GATEWAY_CODE_TRIES_PER_H")
    codes_per_h: int = Field(3, ge=1, validation_alias="GATEWAY_CODES_PER_H")
    # How long a thread stays its sender's after a right code, and how long that code counts as step-up.
    verified_thread_s: int = Field(86_400, ge=60, validation_alias="GATEWAY_VERIFIED_THREAD_S")
    step_up_s: int = Field(3_600, ge=60, validation_alias="GATEWAY_STEP_UP_S")
    # A conversation this quiet is no longer carried on by another channel.
    carry_on_s: int = Field(86_400, ge=60, validation_alias="GATEWAY_CARRY_ON_S")

    @model_validator(mode="after")
    def _dev_powers_end_at_development(self) -> Self:
        if self.profile == "dev":
            if not self.login_issuer:
                object.__setattr__(self, "login_issuer", "https://login.sandbox.local")
            return self
        if not self.login_issuer:
            raise ValueError("GATEWAY_LOGIN_ISSUER is required")
        urls = (self.login_issuer, self.login_jwks_url, self.commerce_url, self.mail_url)
        if any("sandbox" in url for url in urls):
            raise ValueError("the sandbox is a development stand-in; it needs PROFILE=dev")
        return self
