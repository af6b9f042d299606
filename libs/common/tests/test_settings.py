"""Development powers end at development."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from common.settings import BusSettings, refuse_stand_ins


@pytest.mark.parametrize("keys_dir", [Path("/srv/checkout/.run/keys"), Path(".run/keys")])
def test_keys_of_a_development_stack_are_refused_in_production(keys_dir: Path) -> None:
    with pytest.raises(ValidationError, match="PROFILE=dev"):
        BusSettings(kafka_bootstrap="kafka:9092", profile="prod", keys_dir=keys_dir)
    assert BusSettings(kafka_bootstrap="kafka:9092", profile="dev", keys_dir=keys_dir).keys_dir == keys_dir


@pytest.mark.parametrize("value", ["http://sandbox:8080/commerce", "https://login.sandbox.local", "sandbox"])
def test_whatever_names_the_sandbox_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="commerce_url"):
        refuse_stand_ins([("port", 8080), ("commerce_url", value)])
    refuse_stand_ins([("commerce_url", "https://orders.shop.example")])
