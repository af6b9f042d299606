"""Every rule holds for what we deploy, and sees the fault planted for it."""

from collections.abc import Callable

import pytest

from tests.deploy import (
    rules_bus,
    rules_environment,
    rules_images,
    rules_network,
    rules_secrets,
    rules_workloads,
)
from tests.deploy.manifests import Manifests
from tests.deploy.planted import PLANTED

Rule = Callable[[Manifests], list[str]]

RULES: dict[str, Rule] = {
    name: rule
    for module in (rules_workloads, rules_bus, rules_environment, rules_network, rules_secrets, rules_images)
    for name, rule in vars(module).items()
    if callable(rule) and getattr(rule, "__module__", "") == module.__name__ and not name.startswith("_")
}


@pytest.mark.parametrize("rule", RULES)
def test_what_we_deploy_keeps_the_rule(rule: str, manifests: Manifests) -> None:
    assert RULES[rule](manifests) == []


@pytest.mark.parametrize(("rule", "file", "old", "new"), PLANTED)
def test_the_rule_sees_a_planted_fault(
    rule: str, file: str, old: str, new: str, plant: Callable[[str, str, str], Manifests]
) -> None:
    assert RULES[rule](plant(file, old, new)) != []


def test_every_rule_has_a_planted_fault() -> None:
    assert RULES.keys() == {rule for rule, *_ in PLANTED}
