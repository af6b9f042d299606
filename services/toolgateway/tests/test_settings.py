"""What a tool gateway outside development refuses to start with: it moves money."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from toolgateway.settings import Settings

PRODUCTION: dict[str, Any] = {
    "kafka_bootstrap": "kafka:9093",
    "profile": "prod",
    "keys_dir": Path("/etc/trusted-till/keys"),
    "database_url": "postgresql://ledger@postgres/till",
    "commerce_url": "https://store.example.com/api",
    "payments_provider": "stripe",
    "payments_api_key": "rk_live_0123456789",
    "payments_webhook_secret": "whsec_0123456789abcdef",
    "approvals_url": "http://approvals:8080",
    "staff_jwks_url": "https://staff.example.com/.well-known/jwks.json",
    "staff_issuer": "https://staff.example.com",
    "help_center_url": "http://agent-rag:8080/v1/help-center/search",
}


def test_a_whole_production_environment_is_accepted() -> None:
    assert Settings(**PRODUCTION).payments_provider == "stripe"
    assert Settings(**PRODUCTION, payments_url="https://relay.example.com").payments_url


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payments_api_key", ""),
        ("payments_api_key", "  "),
        ("payments_webhook_secret", ""),
        ("payments_webhook_secret", "short"),
        ("staff_jwks_url", ""),
        ("staff_jwks_url", "http://staff.example.com/jwks.json"),
        ("staff_jwks_url", "https://127.0.0.1:9/staff-login/jwks.json"),
        ("staff_jwks_url", "https://sandbox:9/staff-login/jwks.json"),
        ("staff_issuer", ""),
        ("staff_issuer", "https://staff.sandbox.local"),
        ("help_center_url", ""),
        ("payments_provider", "sandbox"),
        ("payments_url", "http://payments.example.com"),
        ("payments_url", "http://127.0.0.1:40123/payments"),
        ("payments_url", "https://[::1]:40123/payments"),
        ("commerce_url", "http://localhost:40123/commerce"),
        ("commerce_url", "http://sandbox/commerce"),
        ("commerce_url", "http://0.0.0.0:40123/commerce"),
        ("keys_dir", Path("/srv/till/.run/keys")),
    ],
)
def test_what_would_move_money_unchecked_is_refused_unless_in_development(name: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings(**PRODUCTION | {name: value})
    assert getattr(Settings(**PRODUCTION | {name: value, "profile": "dev"}), name) == value


@pytest.mark.parametrize("name", ["payments_provider", "staff_issuer"])
def test_a_default_of_developments_is_refused_as_well(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings(**{key: value for key, value in PRODUCTION.items() if key != name})
