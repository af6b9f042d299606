"""What every service reads from its environment; each service adds its own frozen class with its own prefix."""

from pathlib import Path
from typing import Literal

from pydantic_settings import BaseSettings, SettingsConfigDict


class BusSettings(BaseSettings):
    """Where the shared servers are. ``profile`` is ``dev`` only where ``make up`` runs things; dev powers need it."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    kafka_bootstrap: str
    # Where the broker asks for a client certificate: the folder of ca.crt, user.crt and user.key.
    kafka_tls_dir: Path | None = None
    redis_url: str = ""
    # Tests on a given server keep to topics of their own (SPEC §15).
    topic_prefix: str = ""
    profile: Literal["dev", "prod"] = "prod"
    keys_dir: Path = Path("/etc/trusted-till/keys")
    # A stable name lets a restarted consumer take its partitions back at once instead of after the session timeout.
    instance_id: str = ""
