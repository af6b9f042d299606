"""Servers that live as long as one test session: given ones, or started here and gone without a trace afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.paths import RUN
from stack.servers import Servers, forget_data, plan_servers, start_servers, stop_servers


@contextmanager
def session_servers() -> Iterator[Servers]:
    """Yields running servers. Enter it from the main thread: the servers end with the thread that started them."""
    folder = _session_folder()
    servers = plan_servers(folder)
    running = start_servers(servers)
    try:
        yield servers
    finally:
        stop_servers(servers, running)
        forget_data(folder)


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
