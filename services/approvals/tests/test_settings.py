"""What approvals outside development refuses to start with."""

from typing import Any

import pytest
from pydantic import ValidationError

from approvals.settings import Settings

PRODUCTION: dict[str, Any] = {
    "kafka_bootstrap": "kafka:9093",
    "profile": "prod",
    "database_url": "postgresql://approvals@postgres/till",
    "staff_jwks_url": "https://staff.example.com/jwks.json",
    "staff_issuer": "https://staff.example.com",
    "toolgateway_url": "http://toolgateway:8080",
    "agent_url": "http://agent-fixed:8080",
}


def test_a_whole_production_environment_is_accepted() -> None:
    assert Settings(**PRODUCTION).profile == "prod"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("staff_issuer", ""),
        ("staff_issuer", "https://staff.sandbox.local"),
        ("staff_jwks_url", "http://sandbox:9/staff-login/jwks.json"),
        ("staff_jwks_url", "http://127.0.0.1:9/staff-login/jwks.json"),
        ("toolgateway_url", "http://sandbox:9"),
    ],
)
def test_a_stand_in_is_refused_unless_in_development(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings(**PRODUCTION | {name: value})
    assert Settings(**PRODUCTION | {name: value, "profile": "dev"}).profile == "dev"
