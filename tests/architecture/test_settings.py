"""A service's own setting is read under its prefix, and under no other name but those the contract gives."""

import ast
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import pytest
from pydantic import AliasChoices, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

import approvals.settings
import gateway.settings
import reconciler.settings
import router.settings
import toolgateway.settings
from agent.settings import AgentSettings
from common.settings import BusSettings

SERVICES: dict[str, type[BaseSettings]] = {
    "GATEWAY_": gateway.settings.Settings,
    "TOOLGATEWAY_": toolgateway.settings.Settings,
    "APPROVALS_": approvals.settings.Settings,
    "RECONCILER_": reconciler.settings.Settings,
    "AGENT_": AgentSettings,
    "ROUTER_": router.settings.Settings,
}
# Named without a prefix by the contract.
CONTRACT = {"HOOK_SECRET", "APPROVALS_DEADLINE_S"}
SHARED = {name.upper() for name in BusSettings.model_fields}
# Whatever type a field has, one of these would be taken for a value of it, and shows that it was read.
POISONS = ("7", "/poison", "poison")
OWN = [
    (prefix, name)
    for prefix, settings in SERVICES.items()
    for name in settings.model_fields
    if name not in BusSettings.model_fields
]


def required(prefix: str, settings: type[BaseSettings]) -> dict[str, str]:
    """The least environment a service starts with in development."""
    given = {"PROFILE": "dev", "KAFKA_BOOTSTRAP": "kafka:9092"}
    for name, field in settings.model_fields.items():
        if field.is_required() and name not in BusSettings.model_fields:
            given[f"{prefix}{name}".upper()] = "1" * 20 if name.endswith("secret") else "8080"
    return given


def built(settings: type[BaseSettings], environment: dict[str, str]) -> BaseSettings:
    with patch.dict(os.environ, environment, clear=True):
        return settings()


def names_read(settings: type[BaseSettings], prefix: str, name: str) -> Iterable[str]:
    alias = settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [str(alias) if alias else f"{prefix}{name}".upper()]


def reads_bare(prefix: str, name: str, settings: type[BaseSettings]) -> bool:
    """Say whether the field takes its value from a variable of its bare name."""
    plain = built(settings, required(prefix, settings))
    for poison in POISONS:
        try:
            if built(settings, required(prefix, settings) | {name.upper(): poison}) != plain:
                return True
        except ValidationError:
            return True
    return False


@pytest.mark.parametrize(("prefix", "name"), OWN, ids=[f"{prefix}{name}".upper() for prefix, name in OWN])
def test_a_bare_name_configures_nobody(prefix: str, name: str) -> None:
    assert name.upper() in CONTRACT or not reads_bare(prefix, name, SERVICES[prefix])
    for variable in names_read(SERVICES[prefix], prefix, name):
        assert variable.startswith(prefix) or variable in CONTRACT, variable


@pytest.mark.parametrize("prefix", SERVICES)
def test_a_bare_name_is_no_substitute_for_a_required_one(prefix: str) -> None:
    settings = SERVICES[prefix]
    for variable in required(prefix, settings).keys() - SHARED:
        lacking = {k: v for k, v in required(prefix, settings).items() if k != variable}
        bare = variable.removeprefix(prefix)
        if bare not in CONTRACT:
            with pytest.raises(ValidationError, match=bare.lower()):
                built(settings, lacking | {bare: "8080"})


@pytest.mark.parametrize("prefix", SERVICES)
def test_the_prefixed_names_and_the_shared_ones_are_read(prefix: str) -> None:
    settings = SERVICES[prefix]
    port = built(settings, required(prefix, settings) | {f"{prefix}PORT": "4711", "TOPIC_PREFIX": "t."})
    assert port.model_dump()["port"] == 4711
    assert port.model_dump().get("topic_prefix", "t.") == "t."


def test_the_check_sees_a_class_that_reads_bare_names() -> None:
    """Proved by a planted one: an alias beside populate_by_name, and no prefix."""

    class Planted(BusSettings):
        model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True, env_prefix="")
        port: int = 1

    assert reads_bare("PLANTED_", "port", Planted)


def names_used(package: Path) -> set[str]:
    """Every attribute that some module takes from settings, and that the settings' own module takes from itself."""
    used: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                owner = ast.unparse(node.value)
                if owner.endswith("settings") or (owner == "self" and path.name == "settings.py"):
                    used.add(node.attr)
    return used


@pytest.mark.parametrize("prefix", SERVICES)
def test_no_setting_is_left_that_nothing_reads(prefix: str) -> None:
    settings = SERVICES[prefix]
    module = sys.modules[settings.__module__]
    assert module.__file__ is not None
    own = {name for name in settings.model_fields if name not in BusSettings.model_fields}
    assert own - names_used(Path(module.__file__).parent) == set()


def test_the_check_sees_a_setting_that_only_shares_its_name_with_something_read(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("class S:\n    a_s: float\n    b_s: float\n")
    (tmp_path / "app.py").write_text("tools = Tools(house.settings.a_s)\nprint(tools.b_s)\n")
    assert names_used(tmp_path) == {"a_s"}
