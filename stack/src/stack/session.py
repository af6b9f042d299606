"""Servers that live as long as one test session: given ones, or started here and gone without a trace afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from stack.paths import RUN
from stack.readiness import run_async
from stack.servers import Servers, forget_data, plan_servers, start_servers, stop_servers


@contextmanager
def session_servers() -> Iterator[Servers]:
    """Yields running servers. Enter it from the main thread: the servers end with the thread that started them."""
    folder = _session_folder()
    servers = plan_servers(folder)
    running = start_servers(servers)
    try:
        if "STACK_DATABASE" not in os.environ:
            run_async(lambda: _hurry(servers.addresses["postgres"]))
        yield servers
    finally:
        stop_servers(servers, running)
        forget_data(folder)


async def _hurry(admin_dsn: str) -> None:
    """What this server holds is thrown away after the session: it needn't survive the machine, only its processes."""
    admin = await asyncpg.connect(admin_dsn)
    try:
        await admin.execute("alter system set fsync = off")
        await admin.execute("alter system set full_page_writes = off")
        await admin.execute("select pg_reload_conf()")
    finally:
        await admin.close()


def _session_folder() -> Path:
    """`.run/tests/<pid>`; folders of sessions that were killed go first."""
    tests = RUN / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    for old in tests.iterdir():
        if old.name.isdigit() and not _alive(int(old.name)):
            forget_data(old)
    return tests / str(os.getpid())


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
