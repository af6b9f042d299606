"""What the reconciler reads from its environment, with the prefix ``RECONCILER_``."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from common.settings import BusSettings


class Settings(BusSettings):
    """How often to look and how old is old; times in seconds."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    # Only looks into outboxes: the role may read their ages and nothing that people wrote.
    database_url: str = Field(validation_alias="RECONCILER_DATABASE_URL")
    host: str = Field("127.0.0.1", validation_alias="RECONCILER_HOST")
    port: int = Field(8085, ge=0, le=65_535, validation_alias="RECONCILER_PORT")
    toolgateway_url: str = Field(validation_alias="RECONCILER_TOOLGATEWAY_URL")
    agent_url: str = Field(validation_alias="RECONCILER_AGENT_URL")
    # Five minutes (SPEC §10): far beyond any call that is still under way.
    pending_after_s: float = Field(300.0, gt=0, validation_alias="RECONCILER_PENDING_AFTER_S")
    every_s: float = Field(30.0, gt=0, validation_alias="RECONCILER_EVERY_S")
    outbox_late_s: float = Field(30.0, gt=0, validation_alias="RECONCILER_OUTBOX_LATE_S")
    batch: int = Field(100, ge=1, le=1_000, validation_alias="RECONCILER_BATCH")
