"""`up` and `down`, with a stand-in for each service: what is killed returns, what ends leaves nothing behind."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from common.migrate import LOGIN_ROLES
from stack.demo.run import read_stack_file
from stack.environment import MARK, PROCESSES
from stack.kafka_topics import delete_topics
from stack.readiness import run_async
from stack.secrets_file import keep_secrets
from stack.servers import Servers
from stack.supervisor import alive_strays, answers_ready

# Answers every health check, and every question about the store's data with "not there yet".
_STAND_IN = """
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass

port = next(int(value) for name, value in os.environ.items() if name.endswith("_PORT") and name.split("_")[0].isupper())
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@dataclass(frozen=True)
class Home:
    """One `.run` folder and the environment its commands get."""

    run: Path
    environ: dict[str, str]

    def call(self, command: str) -> "subprocess.CompletedProcess[str]":
        code = f"from pathlib import Path; from stack.lifecycle import {command}; {command}(Path({str(self.run)!r}))"
        return subprocess.run(
            [sys.executable, "-c", code], env=self.environ, capture_output=True, text=True, timeout=110, check=True
        )

    def pid(self, process: str) -> int:
        return int((self.run / "pids" / f"{process}.pid").read_text())

    def strays(self) -> list[int]:
        return alive_strays(f"{MARK}={self.run}")


@pytest.fixture(scope="module")
def home(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("stack")
    for package in {module[0] for module in PROCESSES.values()}:
        (folder / "fakes" / package).mkdir(parents=True)
        (folder / "fakes" / package / "__init__.py").touch()
        (folder / "fakes" / package / "__main__.py").write_text(_STAND_IN)
    prefix = f"t{secrets.token_hex(4)}."
    given = {
        "STACK_KAFKA": servers.addresses["kafka"],
        "STACK_DATABASE": servers.addresses["postgres"],
        "STACK_REDIS": servers.addresses["redis"],
    }
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_PORT")}
    made = Home(folder / "run", {**inherited, **given, "TOPIC_PREFIX": prefix, "PYTHONPATH": str(folder / "fakes")})
    yield made
    made.call("down")
    instance = keep_secrets(made.run / "secrets.json").instance
    run_async(lambda: _forget(given["STACK_DATABASE"], f"till_{instance}"))
    run_async(lambda: delete_topics(given["STACK_KAFKA"], prefix))


async def _forget(dsn: str, database: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"drop database if exists {database} with (force)")
        for role in LOGIN_ROLES:
            await connection.execute(f"drop role if exists {database}_{role}")
    finally:
        await connection.close()


def wait_for(condition: Callable[[], object], within_s: float = 20.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.fixture
def up(home: Home) -> Home:
    home.call("up")
    return home


def test_up_returns_when_every_service_is_ready_and_named(up: Home) -> None:
    stack = read_stack_file(up.run)
    for name in ("GATEWAY_URL", "ROUTER_URL", "AGENT_LOOP_2_URL", "RECONCILER_URL"):
        assert answers_ready(stack[name])
    assert {file.stem for file in Path(stack["PIDS_DIR"]).glob("*.pid")} == set(PROCESSES)


def test_up_on_a_running_stack_changes_nothing(up: Home) -> None:
    before = up.pid("gateway")
    assert "up already" in up.call("up").stderr
    assert up.pid("gateway") == before


def test_a_killed_service_answers_again_at_the_same_address(up: Home) -> None:
    url = read_stack_file(up.run)["GATEWAY_URL"]
    before = up.pid("gateway")
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: up.pid("gateway") != before and answers_ready(url))


def test_a_killed_supervisor_takes_everything_with_it_and_up_works_again(up: Home) -> None:
    before = read_stack_file(up.run)
    os.kill(int((up.run / "supervisor.pid").read_text()), signal.SIGKILL)
    wait_for(lambda: not up.strays())
    up.call("up")
    assert read_stack_file(up.run) == before


def test_down_leaves_no_process_and_no_pid_file_and_can_be_said_twice(up: Home) -> None:
    up.call("down")
    assert up.strays() == []
    assert not list((up.run / "pids").glob("*.pid"))
    assert not (up.run / "stack.env").exists()
    up.call("down")


def test_a_start_that_cannot_work_says_why_and_leaves_nothing(up: Home) -> None:
    up.call("down")
    fakes = Path(up.environ["PYTHONPATH"]) / "router" / "__main__.py"
    kept = fakes.read_text()
    fakes.write_text("raise SystemExit('no model to load')")
    try:
        with pytest.raises(subprocess.CalledProcessError) as failed:
            up.call("up")
    finally:
        fakes.write_text(kept)
    assert "router keeps dying" in failed.value.stderr
    assert "no model to load" in failed.value.stderr
    assert up.strays() == []
