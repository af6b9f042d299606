"""What a gateway outside development refuses to start with."""

from typing import Any

import pytest
from pydantic import ValidationError

from gateway.settings import Settings

PRODUCTION: dict[str, Any] = {
    "kafka_bootstrap": "kafka:9093",
    "profile": "prod",
    "database_url": "postgresql://gateway@postgres/till",
    "login_jwks_url": "https://login.example.com/jwks.json",
    "login_issuer": "https://login.example.com",
    "hook_secret": "0123456789abcdef",
    "commerce_url": "https://store.example.com/api",
    "mail_url": "https://mail.example.com/send",
}


def test_a_whole_production_environment_is_accepted() -> None:
    assert Settings(**PRODUCTION).profile == "prod"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("login_issuer", ""),
        ("login_issuer", "https://login.sandbox.local"),
        ("login_jwks_url", "http://sandbox:9/login/jwks.json"),
        ("login_jwks_url", "http://127.0.0.1:9/login/jwks.json"),
        ("commerce_url", "http://localhost:9/commerce"),
        ("commerce_url", "http://sandbox/commerce"),
        ("mail_url", "http://127.1.2.3:9/mail"),
    ],
)
def test_a_stand_in_is_refused_unless_in_development(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings(**PRODUCTION | {name: value})
    assert Settings(**PRODUCTION | {name: value, "profile": "dev"}).profile == "dev"
