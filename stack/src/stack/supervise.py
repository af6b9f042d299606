"""The supervisor's own story: servers, schemas and topics, the sandbox with its demo data, the services, then watch."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType

import asyncpg

from common.migrate import migrate_all
from stack.demo_data import put_demo_data
from stack.environment import MARK, PROCESSES, Stack, command, process_environment, stack_file
from stack.kafka_topics import create_topics
from stack.keys import make_keys
from stack.lifecycle import Lock
from stack.ports import keep_ports
from stack.process import Program, tail
from stack.progress import CannotStartError, say, slow_step
from stack.readiness import run_async, wait_until
from stack.secrets_file import keep_secrets
from stack.servers import Servers, plan_servers
from stack.supervisor import TICK_S, Supervisor, answers_ready

READY_WITHIN_S = 300.0  # ten interpreters on a busy two-core machine


class _Stopped(Exception):  # noqa: N818 - no error, the end
    """SIGTERM or SIGINT arrived."""


def supervise(run: Path) -> None:
    """Runs until it is told to stop; whatever happens, no child outlives it."""
    lock = Lock(run)
    if not lock.take():
        raise CannotStartError("another supervisor is running")
    (run / "supervisor.pid").write_text(f"{os.getpid()}\n")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    supervisor = Supervisor(run / "pids")
    servers = Servers({})
    try:
        servers = _start_servers(run, supervisor)
        stack = _settle(run, servers)
        _prepare(stack)
        _start_services(stack, supervisor)
        _announce(stack)
        while True:
            supervisor.look_after()
            time.sleep(TICK_S)
    except _Stopped:
        say("stopping")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # being told twice must not cut the stopping short
        (run / "stack.env").unlink(missing_ok=True)
        supervisor.stop_all(last=("kafka", "postgres", "redis"))
        for stopper in servers.stoppers:
            stopper()
        (run / "supervisor.pid").unlink(missing_ok=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Stopped


def _start_servers(run: Path, supervisor: Supervisor) -> Servers:
    servers = plan_servers(run)
    for name, program in servers.programs.items():
        log = run / "logs" / f"{name}.log"
        servers.programs[name] = replace(program, log=log, env={**os.environ, MARK: str(run)})
        supervisor.start(servers.programs[name])
    with slow_step("waiting for Kafka, PostgreSQL and Redis"):
        for name in servers.addresses:
            servers.wait(name)
    return servers


def _settle(run: Path, servers: Servers) -> Stack:
    make_keys(run / "keys")
    return Stack(
        run=run,
        addresses=servers.addresses,
        ports=keep_ports(run / "service-ports.json", tuple(PROCESSES)),
        secrets=keep_secrets(run / "secrets.json"),
        topic_prefix=os.environ.get("TOPIC_PREFIX", ""),
    )


def _prepare(stack: Stack) -> None:
    with slow_step("creating topics, applying migrations"):
        run_async(lambda: create_topics(stack.addresses["kafka"], stack.topic_prefix))
        run_async(lambda: _create_database(stack))
        run_async(lambda: migrate_all(stack.admin_dsn, stack.roles))


async def _create_database(stack: Stack) -> None:
    connection = await asyncpg.connect(stack.addresses["postgres"])
    try:
        if not await connection.fetchval("select true from pg_database where datname = $1", stack.database):
            await connection.execute(f"create database {stack.database}")
    finally:
        await connection.close()


def _start_services(stack: Stack, supervisor: Supervisor) -> None:
    _start(stack, supervisor, ("sandbox",))
    put_demo_data(stack.url("sandbox"))
    _start(stack, supervisor, tuple(name for name in PROCESSES if name != "sandbox"))


def _start(stack: Stack, supervisor: Supervisor, names: tuple[str, ...]) -> None:
    for name in names:
        log = stack.run / "logs" / f"{name}.log"
        environment = process_environment(stack, name, os.environ)
        supervisor.start(Program(name, command(name), log, environment))
    missing = set(names)

    def all_ready() -> bool:
        supervisor.look_after()
        if hopeless := supervisor.hopeless(missing):
            raise CannotStartError(f"{', '.join(hopeless)} keeps dying:\n{explain()}")
        missing.difference_update([name for name in missing if answers_ready(stack.url(name))])
        return not missing

    def explain() -> str:
        return "\n".join(f"--- {name}\n{tail(stack.run / 'logs' / f'{name}.log')}" for name in sorted(missing))

    with slow_step(f"starting {', '.join(names)}"):
        wait_until(all_ready, READY_WITHIN_S, "a service", explain)


def _announce(stack: Stack) -> None:
    part = stack.run / ".stack.env.part"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(stack_file(stack))
    part.rename(stack.run / "stack.env")
    say(f"the stack is up: the chat page is at {stack.url('gateway')}/, the staff console at {stack.url('approvals')}/")
