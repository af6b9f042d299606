"""What the reconciler reads from its environment, with the prefix ``RECONCILER_``."""

from pydantic import Field

from common.settings import BusSettings, prefixed


class Settings(BusSettings):
    """How often to look and how old is old; times in seconds."""

    model_config = prefixed("RECONCILER_")

    # Only looks into outboxes: the role may read their ages and nothing that people wrote.
    database_url: str
    host: str = "127.0.0.1"
    port: int = Field(8085, ge=0, le=65_535)
    toolgateway_url: str
    agent_url: str
    # Five minutes (SPEC §10): far beyond any call that is still under way.
    pending_after_s: float = Field(300.0, gt=0)
    every_s: float = Field(30.0, gt=0)
    outbox_late_s: float = Field(30.0, gt=0)
    # Provider and ledger are compared this often (SPEC §15): asked for at every period, done by whoever comes first.
    compare_every_s: float = Field(86_400.0, ge=60, le=31 * 86_400.0)
    batch: int = Field(100, ge=1, le=1_000)
