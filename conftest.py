"""Fixtures every package's tests share: the real servers, fresh databases, topics of one's own, and keys.

Tests that use none of them need no server and may reach nothing outside this machine.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import settings

from common.topics import Topic
from stack.databases import TestDatabase, TestDatabases
from stack.kafka_topics import create_topics, delete_topics
from stack.keys import make_keys
from stack.ports import free_port
from stack.servers import Servers

# The fixture `servers`, and what `-n 2` needs to share it.
pytest_plugins = ["tests.two_workers"]

# The same examples every time, so that a change is judged by what it changes. HYPOTHESIS_PROFILE=searching looks on.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

_STACK_FIXTURES = {"servers", "kafka_bootstrap", "redis_url", "admin_dsn", "databases", "database", "module_database"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses a server is marked so, by what it asks for and not by memory."""
    for item in items:
        if _STACK_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def kafka_bootstrap(servers: Servers) -> str:
    return servers.addresses["kafka"]


@pytest.fixture(scope="session")
def redis_url(servers: Servers) -> str:
    return servers.addresses["redis"]


@pytest.fixture(scope="session")
def admin_dsn(servers: Servers) -> str:
    return servers.addresses["postgres"]


@pytest.fixture(scope="session")
def databases(admin_dsn: str) -> Iterator[TestDatabases]:
    """A migrated template and this session's login roles; gone at the end."""
    made = TestDatabases(admin_dsn, f"t{secrets.token_hex(4)}")
    made.prepare()
    yield made
    made.remove()


@pytest.fixture
def database(databases: TestDatabases) -> Iterator[TestDatabase]:
    """A fresh, migrated database for one test; `.dsn("ledger")` logs in as that owner, `.dsn("admin")` as superuser."""
    with databases.fresh() as one:
        yield one


@pytest.fixture(scope="module")
def module_database(databases: TestDatabases) -> Iterator[TestDatabase]:
    """The same, shared by the tests of one file."""
    with databases.fresh() as one:
        yield one


@pytest.fixture
def topic_prefix() -> str:
    """A prefix nobody else uses; make the topics with `make_topics`."""
    return f"t{secrets.token_hex(4)}."


@pytest.fixture
async def make_topics(
    kafka_bootstrap: str, topic_prefix: str
) -> AsyncIterator[Callable[[Iterable[Topic]], Awaitable[None]]]:
    """Creates the given topics and their dead-letter twins under `topic_prefix`; removes them after the test."""
    made: list[Topic] = []

    async def make(topics: Iterable[Topic]) -> None:
        wanted = tuple(topics)
        await create_topics(kafka_bootstrap, topic_prefix, wanted)
        made.extend(wanted)

    yield make
    if made:
        await delete_topics(kafka_bootstrap, topic_prefix, made)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as KEYS_DIR has it: `<name>.pem` of every signer and `trusted.jwks.json`."""
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def sandbox_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The sandbox in a process of its own, for the tests of one file: its model servers, guard and shop."""
    port = free_port()
    env = {**os.environ, "SANDBOX_PORT": str(port), "SANDBOX_DATA_DIR": str(tmp_path_factory.mktemp("sandbox"))}
    process = subprocess.Popen([sys.executable, "-m", "sandbox"], env=env, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url)
        yield url
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(url: str, within_s: float = 60) -> None:
    until = time.monotonic() + within_s
    while True:
        try:
            if httpx2.get(f"{url}/readyz").status_code == 200:
                return
        except httpx2.TransportError:
            if time.monotonic() > until:
                raise
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def no_far_connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a stack fixture a test reaches servers it starts itself on this machine, and nothing else."""
    if request.node.get_closest_marker("stack") or request.node.get_closest_marker("slow"):
        return
    given = {os.environ.get(name, "") for name in ("STACK_KAFKA", "STACK_DATABASE", "STACK_REDIS")}
    forbidden = {urlsplit(url if "//" in url else f"//{url}").port for url in given if url}
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host, port = address[0], address[1]
            if host not in ("127.0.0.1", "::1", "localhost") or port in forbidden:
                raise RuntimeError(f"a unit test reached for {host}:{port}; ask for a stack fixture")
        real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
