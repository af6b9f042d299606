"""Every house rule holds here, is quiet on a clean tree, and sees the violation planted for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stack.house import layers, places, purity, sizes
from stack.paths import ROOT

Rule = Callable[[Path], list[str]]
Plant = Callable[[str, str], None]

RULES: tuple[Rule, ...] = (
    layers.services_meet_only_in_common,
    layers.production_leans_on_nothing_beside_it,
    layers.subscribers_are_made_by_the_consumer,
    layers.only_settings_read_the_environment,
    purity.cores_are_pure,
    sizes.nothing_grows_too_long,
    sizes.names_say_something,
    sizes.modules_say_what_they_are,
    places.production_names_no_development_power,
    places.locks_name_no_place,
    places.locks_hold_every_dependency,
)
CORE = "services/gateway/src/gateway/core/planted.py"
HANDLERS = "services/gateway/src/gateway/planted.py"
# Rule, file, text: each line is a way round the rule that somebody could take in good faith.
PLANTED: tuple[tuple[Rule, str, str], ...] = (
    (layers.services_meet_only_in_common, HANDLERS, "from agent.core import limits\n"),
    (layers.services_meet_only_in_common, HANDLERS, "def f():\n    import agent\n"),
    (layers.services_meet_only_in_common, "libs/common/src/common/planted.py", "import gateway.settings\n"),
    (layers.production_leans_on_nothing_beside_it, HANDLERS, "from sandbox.app import build\n"),
    (layers.production_leans_on_nothing_beside_it, "libs/common/src/common/planted.py", "import stack\n"),
    (layers.subscribers_are_made_by_the_consumer, HANDLERS, "from faststream.kafka import KafkaRouter\n"),
    (layers.subscribers_are_made_by_the_consumer, HANDLERS, "@broker.subscriber('t')\ndef f(): ...\n"),
    (layers.only_settings_read_the_environment, HANDLERS, "import os\n\nos.environ.get('X')\n"),
    (layers.only_settings_read_the_environment, HANDLERS, "from os import getenv\n\ngetenv('X')\n"),
    (layers.only_settings_read_the_environment, "libs/common/src/common/planted.py", "import os\nos.getenv('X')\n"),
    (purity.cores_are_pure, CORE, "async def f(): ...\n"),
    (purity.cores_are_pure, CORE, "import time\n"),
    (purity.cores_are_pure, CORE, "from random import choice\n"),
    (purity.cores_are_pure, CORE, "import logging\n"),
    (purity.cores_are_pure, CORE, "from datetime import datetime\n\nx = datetime.now()\n"),
    (purity.cores_are_pure, CORE, "import datetime\n\nx = datetime.datetime.now()\n"),
    (purity.cores_are_pure, CORE, "import uuid\n\nx = uuid.uuid4()\n"),
    (purity.cores_are_pure, CORE, "from common.ids import new_id\n"),
    (purity.cores_are_pure, CORE, "x = open('f')\n"),
    (purity.cores_are_pure, CORE, "import io\n\nx = io.open('f')\n"),
    (purity.cores_are_pure, CORE, "import asyncpg\n"),
    (purity.cores_are_pure, CORE, "from gateway.adapters import store\n"),
    (purity.cores_are_pure, CORE, "from ..adapters import store\n"),
    (purity.cores_are_pure, CORE, "from common.db import open_pool\n"),
    (sizes.nothing_grows_too_long, HANDLERS, "x = 1\n" * (sizes.FILE_LINES + 1)),
    (sizes.nothing_grows_too_long, HANDLERS, "def f():\n" + "    x = 1\n" * sizes.FUNCTION_LINES),
    (sizes.names_say_something, "services/gateway/src/gateway/utils.py", '"""Things."""\n'),
    (sizes.names_say_something, "services/gateway/src/gateway/order_manager.py", '"""Things."""\n'),
    (sizes.modules_say_what_they_are, HANDLERS, "x = 1\n"),
    (places.production_names_no_development_power, "deploy/k8s/x.yaml", "url: http://sandbox:8090\n"),
    (places.production_names_no_development_power, "deploy/k8s/x.yaml", "PROFILE: dev\n"),
    (places.production_names_no_development_power, "deploy/k8s/x.yaml", "name: CRASH_POINT\n"),
    (places.locks_name_no_place, "requirements.lock", "--index-url https://packages.example/simple\n"),
    (places.locks_name_no_place, "requirements.lock", "-e ./stack\n"),
    (places.locks_hold_every_dependency, "requirements.lock", "redis==8.1.0\n"),
    (places.locks_hold_every_dependency, "requirements.lock", "aiokafka==0.13.0\n"),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_is_quiet_on_a_clean_tree(rule: Rule, tree: Path) -> None:
    assert rule(tree) == []


@pytest.mark.parametrize(("rule", "file", "text"), PLANTED)
def test_the_rule_sees_the_planted_violation(rule: Rule, file: str, text: str, tree: Path, plant: Plant) -> None:
    plant(file, text)
    findings = rule(tree)
    assert findings
    assert all(Path(file).name in finding for finding in findings)


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(RULES)
