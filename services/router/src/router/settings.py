"""What the router reads from its environment."""

from pathlib import Path
from typing import Literal

from pydantic_settings import BaseSettings, SettingsConfigDict

from router.adapters.heads import MODEL_DIR


class Settings(BaseSettings):
    """``ROUTER_*``; the bus is configured by ``common.settings.BusSettings``."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_", frozen=True, extra="ignore", protected_namespaces=())

    host: str = "127.0.0.1"
    port: int = 0
    # "llm" asks a small model for each message; it costs money and 500 ms, and falls back to "local" when it fails.
    classifier: Literal["local", "llm"] = "local"
    llm_model: str = "claude-haiku-5-5"
    llm_timeout_s: float = 3.0
    model_dir: Path = MODEL_DIR
    # 1,024 texts of 18 kB vectors are 18 MB.
    cached_texts: int = 1_024
    # A batch is one encoder call: 64 messages take about 60 ms, within the first-event budget of a second.
    batch_messages: int = 64
