"""The sandbox's settings, all under the prefix ``SANDBOX_``."""

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Where the sandbox listens, keeps its data and sends the payment provider's webhooks."""

    model_config = SettingsConfigDict(env_prefix="SANDBOX_", frozen=True)

    host: str = "127.0.0.1"
    port: int = 8090
    data_dir: Path = Path(".run/sandbox")
    # Public halves of login.pem and stafflogin.pem are served from here; without it both key sets are empty.
    keys_dir: Path | None = None
    webhook_url: str | None = None
    webhook_secret: str = "dev-webhook-secret"  # noqa: S105 - for development; the stack sets its own
    # Real providers forget idempotency keys after a day (Stripe: 24 h at least).
    key_retention_s: int = 24 * 3600
    # How long a lost answer hangs when the fault names no delay: longer than any sensible client timeout.
    hold_ms: int = 30_000
