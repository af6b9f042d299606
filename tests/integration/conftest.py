"""The whole product, running: one stack for all tests of this folder."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from stack.demo.run import read_stack_file
from stack.lifecycle import down, up
from stack.paths import RUN
from tests.integration.world import World

# Times short enough to wait for; the threshold stays above provider timeout × tries + claim, as the reconciler demands.
QUICK = {
    "RECONCILER_PENDING_AFTER_S": "9",
    "RECONCILER_EVERY_S": "1",
    "TOOLGATEWAY_PAYMENTS_TIMEOUT_S": "2",
    "TOOLGATEWAY_PAYMENTS_TRIES": "1",
    "GATEWAY_MESSAGES_PER_10S": "1000",
}


@pytest.fixture(scope="session")
def running_stack() -> Iterator[dict[str, str]]:
    """`make up` in a folder of its own; gone afterwards."""
    run = RUN / f"integration-{os.getpid()}"
    before = {name: os.environ.get(name) for name in QUICK}
    os.environ.update(QUICK)
    try:
        up(run)
        yield read_stack_file(run)
    finally:
        down(run)
        shutil.rmtree(run, ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
async def world(running_stack: dict[str, str]) -> AsyncIterator[World]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=90)) as http:
        world = World(running_stack, http)
        yield world
        await world.sandbox("DELETE", "faults")
        await world.sandbox("PUT", "model/persona", {"persona": "helpful"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here drives real processes: more time, and the servers are its own."""
    for item in items:
        if "world" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.stack)
            item.add_marker(pytest.mark.timeout(240))
