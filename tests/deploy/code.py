"""What the manifests are held against: who subscribes to what, and which settings each service reads."""

import ast
import re
from inspect import getsource
from types import ModuleType
from typing import Any
from unittest.mock import Mock

from pydantic import AliasChoices
from pydantic_settings import BaseSettings

import agent.handlers
import approvals.app
import approvals.settings
import gateway.handlers
import gateway.settings
import reconciler.settings
import router.app
import router.settings
import toolgateway.app
import toolgateway.settings
from agent.settings import AgentSettings, ProviderSettings
from common import consumer, crash, migrate, telemetry, topics
from common.settings import BusSettings

Pairs = set[tuple[str, str]]

SETTINGS: dict[str, tuple[type[BaseSettings], ...]] = {
    "gateway": (gateway.settings.Settings,),
    "router": (router.settings.Settings, BusSettings),
    "agent": (AgentSettings, BusSettings, ProviderSettings),
    "toolgateway": (toolgateway.settings.Settings,),
    "approvals": (approvals.settings.Settings,),
    "reconciler": (reconciler.settings.Settings,),
}
# Fields that may be empty for a test's sake and must not be where customers are served.
FILLED: dict[str, tuple[str, ...]] = {
    "gateway": ("redis_url", "agent_url", "login_issuer"),
    "router": (),
    "agent-fixed": ("redis_url",),
    "agent-rag": ("redis_url", "anthropic_api_key", "openai_api_key"),
    "agent-loop": ("redis_url", "anthropic_api_key", "openai_api_key"),
    "toolgateway": ("payments_api_key", "payments_webhook_secret", "staff_jwks_url", "help_center_url"),
    "approvals": (),
    "reconciler": (),
}


def subscriptions() -> dict[str, Pairs]:
    """Deployment → (topic, group) of each of its subscriptions."""
    found = {
        "agent-fixed": _pairs(agent.handlers.fixed_handlers(Mock(), Mock())),
        "agent-rag": _pairs(agent.handlers.rag_handlers(Mock())),
        "agent-loop": _pairs(agent.handlers.loop_handlers(Mock())),
    }
    found["gateway"] = _pairs(gateway.handlers.subscriptions(Mock(), Mock(), Mock()))
    found["router"] = _pairs([router.app.subscription(Mock(), 1)])
    # These two are made in the middle of main, with literals.
    found["approvals"], found["toolgateway"] = _written(approvals.app), _written(toolgateway.app)
    return found


def _pairs(subscribed: Any) -> Pairs:
    return {(s.topic.name, s.group) for s in subscribed}


def _written(module: ModuleType) -> Pairs:
    calls = [n for n in ast.walk(ast.parse(getsource(module))) if isinstance(n, ast.Call)]
    mine = [n.args for n in calls if isinstance(n.func, ast.Name) and n.func.id == "Subscription"]
    return {(getattr(topics, ast.unparse(topic)).name, ast.literal_eval(group)) for topic, group, *_ in mine}


def written_topics(deployment: str) -> set[str]:
    """Topics a deployment publishes; each agent deployment may hold the relay of the one outbox they share."""
    names = {deployment, deployment.partition("-")[0]}
    return {t.name for t in topics.ALL if names & set(t.writers)}


def offset_reset() -> str:
    """Where our consumers begin when their group is new."""
    found = re.search(r'auto_offset_reset="(\w+)"', getsource(consumer))
    assert found is not None, "the consumer says where a new group begins"
    return found.group(1)


def variable_names(folder: str) -> set[str]:
    """Every variable the service or the kernel under it reads."""
    if folder == "migrations":
        roles = {f"{role.upper()}_PASSWORD" for role in migrate.LOGIN_ROLES}
        return roles | _read_directly(migrate)
    kernel = _read_directly(telemetry) | _read_directly(crash)
    return kernel.union(*(_fields(settings) for settings in SETTINGS[folder]))


def _read_directly(module: ModuleType) -> set[str]:
    return set(re.findall(r'os\.environ(?:\.get\(|\[)"([A-Z_]+)"', getsource(module)))


def _fields(settings: type[BaseSettings]) -> set[str]:
    prefix = str(settings.model_config.get("env_prefix", ""))
    names: set[str] = set()
    for name, info in settings.model_fields.items():
        alias = info.validation_alias
        if isinstance(alias, AliasChoices):
            names |= {str(choice) for choice in alias.choices}
        else:
            names.add(str(alias) if alias else f"{prefix}{name}".upper())
    return names
