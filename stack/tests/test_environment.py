"""One place builds the environment of every process: wiring is ours, tunables and providers are the caller's."""

import json
from pathlib import Path

import pytest

from common.migrate import LOGIN_ROLES
from stack.environment import PROCESSES, Stack, process_environment, stack_file
from stack.secrets_file import StackSecrets, keep_secrets

PASSWORDS = {role: f"pw-{role}" for role in LOGIN_ROLES}
STACK = Stack(
    run=Path("/somewhere/.run"),
    addresses={
        "kafka": "127.0.0.1:1",
        "postgres": "postgresql://postgres:pw@127.0.0.1:2/postgres",
        "redis": "redis://r",
    },
    ports={name: 16_000 + number for number, name in enumerate(PROCESSES)},
    secrets=StackSecrets("ab12", PASSWORDS, "hook's secret", "webhook"),
)


def test_a_callers_tunable_reaches_every_process() -> None:
    for process in PROCESSES:
        environment = process_environment(STACK, process, {"RECONCILER_PENDING_AFTER_S": "9"})
        assert environment["RECONCILER_PENDING_AFTER_S"] == "9"


def test_a_caller_cannot_cut_the_wiring() -> None:
    environment = process_environment(STACK, "gateway", {"GATEWAY_PORT": "1", "KAFKA_BOOTSTRAP": "elsewhere:9092"})
    assert environment["GATEWAY_PORT"] == str(STACK.ports["gateway"])
    assert environment["KAFKA_BOOTSTRAP"] == "127.0.0.1:1"


def test_without_a_key_of_the_callers_the_sandbox_is_the_model_provider() -> None:
    environment = process_environment(STACK, "agent-loop", {})
    assert environment["ANTHROPIC_BASE_URL"] == f"{STACK.url('sandbox')}/anthropic"
    assert environment["OPENAI_BASE_URL"] == f"{STACK.url('sandbox')}/openai/v1"


@pytest.mark.parametrize("own", [{}, {"ANTHROPIC_BASE_URL": "http://own-stand-in"}])
def test_a_callers_key_replaces_the_sandbox_as_provider(own: dict[str, str]) -> None:
    environment = process_environment(STACK, "agent-loop", {"ANTHROPIC_API_KEY": "k", **own})
    assert environment.get("ANTHROPIC_BASE_URL") == own.get("ANTHROPIC_BASE_URL")
    assert environment["ANTHROPIC_API_KEY"] == "k"
    assert "sandbox" not in environment["ANTHROPIC_API_KEY"]


def test_each_service_logs_in_to_its_own_schema_only() -> None:
    assert "_ledger:pw-ledger@" in process_environment(STACK, "toolgateway", {})["TOOLGATEWAY_DATABASE_URL"]
    assert "_support:pw-support@" in process_environment(STACK, "agent-rag", {})["AGENT_DATABASE_URL"]
    assert not any("pw-ledger" in value for value in process_environment(STACK, "agent-rag", {}).values())


def test_only_the_gateway_learns_the_hook_secret_and_the_router_no_database() -> None:
    knowing = {p for p in PROCESSES if "hook's secret" in process_environment(STACK, p, {}).values()}
    assert knowing == {"gateway"}
    assert not any("DATABASE_URL" in name for name in process_environment(STACK, "router", {}))


def test_the_two_loops_differ_in_port_and_instance() -> None:
    first, second = (process_environment(STACK, name, {}) for name in ("agent-loop", "agent-loop-2"))
    assert first["AGENT_PORT"] != second["AGENT_PORT"]
    assert first["INSTANCE_ID"] != second["INSTANCE_ID"]


def test_the_stack_file_names_everything_the_contract_promises() -> None:
    names = {line.partition("=")[0] for line in stack_file(STACK).splitlines()}
    assert names >= set(
        "GATEWAY_URL TOOLGATEWAY_URL APPROVALS_URL SANDBOX_URL KAFKA_BOOTSTRAP DATABASE_URL REDIS_URL PIDS_DIR "
        "HOOK_SECRET ROUTER_URL AGENT_FIXED_URL AGENT_RAG_URL AGENT_LOOP_URL AGENT_LOOP_2_URL RECONCILER_URL".split()
    )
    assert "HOOK_SECRET='hook'\"'\"'s secret'" in stack_file(STACK)


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    made = keep_secrets(tmp_path / "secrets.json")
    assert keep_secrets(tmp_path / "secrets.json") == made
    assert (tmp_path / "secrets.json").stat().st_mode & 0o077 == 0


def test_secrets_of_an_earlier_version_gain_the_roles_that_are_new(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    made = keep_secrets(file)
    old = json.loads(file.read_text())
    del old["passwords"]["operator"]
    file.write_text(json.dumps(old))
    grown = keep_secrets(file)
    assert grown.passwords.keys() == made.passwords.keys()
    assert {**grown.passwords, "operator": ""} == {**made.passwords, "operator": ""}
    assert grown == keep_secrets(file)
    assert file.stat().st_mode & 0o777 == 0o600
