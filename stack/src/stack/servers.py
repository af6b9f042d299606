"""Decides where Kafka, PostgreSQL and Redis come from: given ones, else containers, else local processes."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docker.errors import DockerException  # type: ignore[import-untyped]

from stack import containers, kafka, postgres, valkey
from stack.ports import keep_ports
from stack.process import Program, spawn, stop, tail
from stack.progress import say
from stack.readiness import kafka_answers, postgres_answers, redis_answers, wait_until

READY_WITHIN_S = 60.0
PORTS = ("kafka", "kafka-controller", "postgres", "redis")
_GIVEN_BY = {"kafka": "STACK_KAFKA", "postgres": "STACK_DATABASE", "redis": "STACK_REDIS"}
_ANSWERS: dict[str, Callable[[str], bool]] = {
    "kafka": kafka_answers,
    "postgres": postgres_answers,
    "redis": redis_answers,
}


@dataclass
class Servers:
    """The three addresses, and how to run or stop whatever of them is ours.

    `addresses` has the keys kafka (host:port), postgres (a superuser DSN) and redis (a URL); `programs` only what runs
    as a local process.
    """

    addresses: dict[str, str]
    programs: dict[str, Program] = field(default_factory=dict)
    stoppers: list[Callable[[], None]] = field(default_factory=list)

    def answers(self, name: str) -> bool:
        return _ANSWERS[name](self.addresses[name])

    def wait(self, name: str) -> None:
        """Blocks until the server answers; raises CannotStartError with the end of its log."""
        program = self.programs.get(name)
        wait_until(lambda: self.answers(name), READY_WITHIN_S, name, lambda: tail(program.log) if program else "")


def plan_servers(folder: Path, environ: Mapping[str, str] = os.environ) -> Servers:
    """Settles the three addresses; containers are started at once, local processes are left to the caller.

    `folder` keeps data, logs and ports, so that a second start finds the same data at the same ports.
    """
    given = {name: environ[variable] for name, variable in _GIVEN_BY.items() if environ.get(variable)}
    servers = Servers(given)
    missing = [name for name in _GIVEN_BY if name not in given]
    if not missing:
        return servers
    ports = keep_ports(folder / "ports.json", PORTS)
    if not (_containers_wanted(environ) and _start_containers(servers, missing, ports, environ)):
        _plan_local(servers, missing, folder, ports)
    return servers


def _containers_wanted(environ: Mapping[str, str]) -> bool:
    return environ.get("STACK", "") != "local" and containers.engine_answers()


def _start_containers(servers: Servers, missing: list[str], ports: dict[str, int], environ: Mapping[str, str]) -> bool:
    starters = {
        "kafka": containers.start_kafka,
        "postgres": containers.start_postgres,
        "redis": containers.start_valkey,
    }
    try:
        if not containers.images_present():
            return False
        for name in missing:
            running = starters[name](ports[name])
            servers.addresses[name] = running.address
            servers.stoppers.append(running.stop)
    except (DockerException, OSError) as error:
        if environ.get("STACK") == "docker":  # asked for by name: falling back would hide the trouble
            raise
        say(f"containers did not start ({error}); using local processes instead")
        for stopper in servers.stoppers:
            stopper()
        servers.stoppers.clear()
        return False
    return True


def _plan_local(servers: Servers, missing: list[str], folder: Path, ports: dict[str, int]) -> None:
    host = "127.0.0.1"
    if "kafka" in missing:
        files = kafka.kafka_files()
        servers.programs["kafka"] = kafka.prepare(files, folder / "kafka", ports["kafka"], ports["kafka-controller"])
        servers.addresses["kafka"] = f"{host}:{ports['kafka']}"
    if "postgres" in missing:
        binaries = postgres.postgres_files()
        servers.programs["postgres"] = postgres.prepare(binaries, folder / "postgres", ports["postgres"])
        servers.addresses["postgres"] = f"postgresql://postgres:postgres@{host}:{ports['postgres']}/postgres"
    if "redis" in missing:
        servers.programs["redis"] = valkey.prepare(valkey.valkey_binary(), folder / "redis", ports["redis"])
        servers.addresses["redis"] = f"redis://{host}:{ports['redis']}/0"


def forget_data(folder: Path) -> None:
    """Removes everything that servers planned in `folder` have written; they must be stopped."""
    postgres.forget(folder / "postgres")
    shutil.rmtree(folder, ignore_errors=True)


def start_servers(servers: Servers) -> dict[str, subprocess.Popen[bytes]]:
    """Spawns the local processes and waits for all three servers. Whatever was spawned is stopped again on failure."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, program in servers.programs.items():
            running[name] = spawn(program)
        for name in servers.addresses:
            servers.wait(name)
    except BaseException:
        stop_servers(servers, running)
        raise
    return running


def stop_servers(servers: Servers, running: Mapping[str, subprocess.Popen[bytes]]) -> None:
    for process in running.values():
        stop(process)
    for stopper in servers.stoppers:
        stopper()
