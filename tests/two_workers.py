"""The session's servers, one set for all workers of `-n 2`, and the work dealt out by file, the longest first.

`make test` runs so; without `-n` one process starts its servers when the first test asks for them.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from stack.progress import CannotStartError
from stack.servers import Servers
from stack.session import session_servers

_FOLDER = pytest.StashKey[Path]()
# The tests of this folder share one whole running product, so they stay together; and it takes longest.
_TOGETHER = "tests/integration"
_LONGEST_FIRST = (_TOGETHER, "tests/conformance", "stack/tests", "services/toolgateway", "services/agent/tests/process")
_SERVERS_WITHIN_S = 120.0


def pytest_configure(config: pytest.Config) -> None:
    """The directing process and its workers meet in a folder: the addresses aren't known when workers are started."""
    if _directs(config):
        folder = config.stash[_FOLDER] = Path(tempfile.mkdtemp(prefix="till-tests-"))
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["addresses"] = str(_file(node.config.stash[_FOLDER]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    return ByFile(config, log)


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist brings no types
    """The tests of a file run in one worker, in order; those that share a running product count as one file."""

    def _split_scope(self, nodeid: str) -> str:
        return _TOGETHER if nodeid.startswith(f"{_TOGETHER}/") else str(super()._split_scope(nodeid))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deals the longest out first, or one worker would end minutes after the other; every worker sorts alike."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: next((n for n, f in enumerate(_LONGEST_FIRST) if item.nodeid.startswith(f)), 99))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """The directing process starts the servers while its workers still collect, and stops them at its own end."""
    if not _directs(session.config) or session.config.option.collectonly:
        return
    running = ExitStack()
    session.config.add_cleanup(running.close)
    try:
        servers = running.enter_context(session_servers())
    except CannotStartError as error:
        pytest.exit(str(error), returncode=3)
    file = _file(session.config.stash[_FOLDER])
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps(servers.addresses))
    unfinished.rename(file)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Kafka, PostgreSQL and Redis: those of STACK_* where given, else started for this session and its workers."""
    shared = _shared_addresses(request.config)
    if shared is not None:
        yield Servers(shared)
        return
    with session_servers() as running:
        yield running


def _shared_addresses(config: pytest.Config) -> dict[str, str] | None:
    """The servers' addresses in a worker, once they run; None in a process that has to start its own."""
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if given is None:
        return None
    file, end = Path(given["addresses"]), time.monotonic() + _SERVERS_WITHIN_S
    while not file.exists():
        if time.monotonic() > end:
            raise CannotStartError(f"the servers were not up within {_SERVERS_WITHIN_S:.0f} s")
        time.sleep(0.1)
    return dict(json.loads(file.read_text()))


def _directs(config: pytest.Config) -> bool:
    return bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")


def _file(folder: Path) -> Path:
    return folder / "servers.json"
