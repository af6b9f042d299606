"""The single place where the environment of every development process is put together."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common.migrate import Roles
from stack.databases import dsn_for
from stack.secrets_file import StackSecrets

# Process → module and arguments. Two agent loops, so that one can take over when the other dies.
PROCESSES: dict[str, tuple[str, ...]] = {
    "sandbox": ("sandbox",),
    "toolgateway": ("toolgateway",),
    "gateway": ("gateway",),
    "router": ("router",),
    "agent-fixed": ("agent", "fixed"),
    "agent-rag": ("agent", "rag"),
    "agent-loop": ("agent", "loop"),
    "agent-loop-2": ("agent", "loop"),
    "approvals": ("approvals",),
    "reconciler": ("reconciler",),
}
MARK = "STACK_RUN"  # in the environment of everything we start: how `make down` recognises what a crash left behind
_HOST = "127.0.0.1"
# Service → login role of its database.
_DATABASE_ROLES = {
    "gateway": "gateway",
    "agent": "support",
    "toolgateway": "ledger",
    "approvals": "approvals",
    "reconciler": "reconciler",
}


@dataclass(frozen=True)
class Stack:
    """What was settled before the first service starts; `ports` has one per process of PROCESSES."""

    run: Path
    addresses: Mapping[str, str]
    ports: Mapping[str, int]
    secrets: StackSecrets
    topic_prefix: str = ""

    def url(self, process: str) -> str:
        return f"http://{_HOST}:{self.ports[process]}"

    @property
    def roles(self) -> Roles:
        return Roles(f"till_{self.secrets.instance}_", self.secrets.passwords)

    @property
    def database(self) -> str:
        return f"till_{self.secrets.instance}"

    @property
    def admin_dsn(self) -> str:
        return dsn_for(self.addresses["postgres"], database=self.database)

    def dsn(self, role: str) -> str:
        return dsn_for(self.admin_dsn, user=self.roles.name(role), password=self.secrets.passwords[role])


def process_environment(stack: Stack, process: str, caller: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, our defaults where the caller says nothing, and the wiring, which is ours alone."""
    return {**_defaults(stack, caller), **caller, **_wiring(stack, process)}


def command(process: str) -> tuple[str, ...]:
    module, *arguments = PROCESSES[process]
    return (sys.executable, "-m", module, *arguments)


def _defaults(stack: Stack, caller: Mapping[str, str]) -> dict[str, str]:
    sandbox = stack.url("sandbox")
    defaults = {"PYTHONUNBUFFERED": "1"}
    # The key decides: who brings one means the real provider (or a stand-in of their own, by the base URL beside it).
    if "ANTHROPIC_API_KEY" not in caller:
        defaults |= {"ANTHROPIC_API_KEY": "sandbox", "ANTHROPIC_BASE_URL": f"{sandbox}/anthropic"}
    if "OPENAI_API_KEY" not in caller:
        defaults |= {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": f"{sandbox}/openai/v1"}
    return defaults


def _wiring(stack: Stack, process: str) -> dict[str, str]:
    service = PROCESSES[process][0]
    shared = {
        "PROFILE": "dev",
        "KAFKA_BOOTSTRAP": stack.addresses["kafka"],
        "REDIS_URL": stack.addresses["redis"],
        "TOPIC_PREFIX": stack.topic_prefix,
        "KEYS_DIR": str(stack.run / "keys"),
        "INSTANCE_ID": process,
        MARK: str(stack.run),
        f"{service.upper()}_HOST": _HOST,
        f"{service.upper()}_PORT": str(stack.ports[process]),
    }
    if service in _DATABASE_ROLES:
        shared[f"{service.upper()}_DATABASE_URL"] = stack.dsn(_DATABASE_ROLES[service])
    return shared | _OWN_WIRING[service](stack)


def _sandbox(stack: Stack) -> dict[str, str]:
    return {
        "SANDBOX_DATA_DIR": str(stack.run / "sandbox"),
        "SANDBOX_KEYS_DIR": str(stack.run / "keys"),
        "SANDBOX_WEBHOOK_URL": f"{stack.url('toolgateway')}/v1/hooks/payments",
        "SANDBOX_WEBHOOK_SECRET": stack.secrets.webhook_secret,
    }


def _gateway(stack: Stack) -> dict[str, str]:
    sandbox = stack.url("sandbox")
    return {
        "GATEWAY_LOGIN_JWKS_URL": f"{sandbox}/login/jwks.json",
        "GATEWAY_COMMERCE_URL": f"{sandbox}/commerce",
        "GATEWAY_MAIL_URL": f"{sandbox}/mail",
        "GATEWAY_AGENT_URL": stack.url("agent-fixed"),
        "HOOK_SECRET": stack.secrets.hook_secret,
    }


def _agent(stack: Stack) -> dict[str, str]:
    return {
        "AGENT_TOOLGATEWAY_URL": stack.url("toolgateway"),
        "AGENT_GATEWAY_URL": stack.url("gateway"),
        "AGENT_COMMERCE_URL": f"{stack.url('sandbox')}/commerce",
    }


def _toolgateway(stack: Stack) -> dict[str, str]:
    sandbox = stack.url("sandbox")
    return {
        "TOOLGATEWAY_COMMERCE_URL": f"{sandbox}/commerce",
        "TOOLGATEWAY_PAYMENTS_URL": f"{sandbox}/payments",
        "TOOLGATEWAY_PAYMENTS_WEBHOOK_SECRET": stack.secrets.webhook_secret,
        "TOOLGATEWAY_STAFF_JWKS_URL": f"{sandbox}/staff-login/jwks.json",
        "TOOLGATEWAY_APPROVALS_URL": stack.url("approvals"),
        "TOOLGATEWAY_HELP_CENTER_URL": f"{stack.url('agent-rag')}/v1/help-center/search",
    }


def _approvals(stack: Stack) -> dict[str, str]:
    return {
        "APPROVALS_STAFF_JWKS_URL": f"{stack.url('sandbox')}/staff-login/jwks.json",
        "APPROVALS_TOOLGATEWAY_URL": stack.url("toolgateway"),
        "APPROVALS_AGENT_URL": stack.url("agent-fixed"),
    }


def _reconciler(stack: Stack) -> dict[str, str]:
    return {
        "RECONCILER_TOOLGATEWAY_URL": stack.url("toolgateway"),
        "RECONCILER_AGENT_URL": stack.url("agent-fixed"),
        "RECONCILER_COMMERCE_URL": f"{stack.url('sandbox')}/commerce",
    }


_OWN_WIRING = {
    "sandbox": _sandbox,
    "gateway": _gateway,
    "router": lambda _: {},
    "agent": _agent,
    "toolgateway": _toolgateway,
    "approvals": _approvals,
    "reconciler": _reconciler,
}


def stack_file(stack: Stack) -> str:
    """The text of `.run/stack.env`: what outside programs need to find and drive the stack."""
    lines = {
        "GATEWAY_URL": stack.url("gateway"),
        "TOOLGATEWAY_URL": stack.url("toolgateway"),
        "APPROVALS_URL": stack.url("approvals"),
        "SANDBOX_URL": stack.url("sandbox"),
        "ROUTER_URL": stack.url("router"),
        "AGENT_FIXED_URL": stack.url("agent-fixed"),
        "AGENT_RAG_URL": stack.url("agent-rag"),
        "AGENT_LOOP_URL": stack.url("agent-loop"),
        "AGENT_LOOP_2_URL": stack.url("agent-loop-2"),
        "RECONCILER_URL": stack.url("reconciler"),
        "KAFKA_BOOTSTRAP": stack.addresses["kafka"],
        "TOPIC_PREFIX": stack.topic_prefix,
        "DATABASE_URL": stack.admin_dsn,
        "OPERATOR_DATABASE_URL": stack.dsn("operator"),
        "REDIS_URL": stack.addresses["redis"],
        "PIDS_DIR": str(stack.run / "pids"),
        "KEYS_DIR": str(stack.run / "keys"),
        "HOOK_SECRET": stack.secrets.hook_secret,
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in lines.items())
