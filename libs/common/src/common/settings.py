"""What every service reads from its environment; each service adds its own frozen class with its own prefix.

A service's own setting is read under its prefix and no other name: a bare ``PORT`` or ``DATABASE_URL`` that a platform
sets for somebody else configures nobody. The settings shared by all stand here, each with its full name.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


def prefixed(prefix: str) -> SettingsConfigDict:
    """Return the configuration of a service's settings: frozen, own variables under ``prefix``.

    ``populate_by_name`` lets code name a shared field; from the environment it adds only names with the prefix.
    """
    return SettingsConfigDict(env_prefix=prefix, frozen=True, extra="ignore", populate_by_name=True)


class BusSettings(BaseSettings):
    """Where the shared servers are. ``profile`` is ``dev`` only where ``make up`` runs things; dev powers need it."""

    model_config = prefixed("")

    kafka_bootstrap: str = Field(validation_alias="KAFKA_BOOTSTRAP")
    # Where the broker asks for a client certificate: the folder of ca.crt, user.crt and user.key.
    kafka_tls_dir: Path | None = Field(None, validation_alias="KAFKA_TLS_DIR")
    redis_url: str = Field("", validation_alias="REDIS_URL")
    # Tests on a given server keep to topics of their own (SPEC §15).
    topic_prefix: str = Field("", validation_alias="TOPIC_PREFIX")
    profile: Literal["dev", "prod"] = Field("prod", validation_alias="PROFILE")
    keys_dir: Path = Field(Path("/etc/trusted-till/keys"), validation_alias="KEYS_DIR")
    # A stable name lets a restarted consumer take its partitions back at once instead of after the session timeout.
    instance_id: str = Field("", validation_alias="INSTANCE_ID")

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


def refuse_this_machine(**addresses: str) -> None:
    """Raise ValueError for an outside system at an address of this machine: there is nothing but a stand-in there."""
    for name, url in addresses.items():
        if _is_this_machine((urlsplit(url).hostname or "").rstrip(".")):
            raise ValueError(f"{name} is on this machine, where only a stand-in can be; it needs PROFILE=dev")


def refuse_open(**addresses: str) -> None:
    """Raise ValueError for an address that what is secret, or believed, would travel to in the open."""
    for name, url in addresses.items():
        if urlsplit(url).scheme != "https":
            raise ValueError(f"{name} is not https; it needs PROFILE=dev")


def refuse_empty(**values: str) -> None:
    """Raise ValueError for a setting that may be empty in development only."""
    for name, value in values.items():
        if not value.strip():
            raise ValueError(f"{name} is required; only PROFILE=dev may do without it")


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
