"""What every service reads from its environment; each service adds its own frozen class with its own prefix."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator
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

    @model_validator(mode="after")
    def _dev_powers_end_at_development(self) -> Self:
        if self.profile != "dev":
            refuse_stand_ins(self)
        return self


def refuse_stand_ins(settings: Iterable[tuple[str, object]]) -> None:
    """Raise ValueError for a setting that names the sandbox or a key that ``make up`` made (SPEC §15)."""
    for name, value in settings:
        if isinstance(value, str) and "sandbox" in value:
            raise ValueError(f"{name} names the sandbox, a stand-in for development; it needs PROFILE=dev")
        if isinstance(value, Path) and ".run" in value.parts:
            raise ValueError(f"{name} lies where make up keeps its keys; it needs PROFILE=dev")
