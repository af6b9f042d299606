"""Whatever a route raises becomes a problem document that says what the caller can do."""

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from common.errors import Transient
from common.http import PROBLEM_JSON, ServiceClient, handle_database_away, install_problem_handlers, serve
from common.telemetry import continue_trace, trace_headers
from stack.ports import free_port


@pytest.fixture
def client() -> Iterator[Any]:
    app = FastAPI()
    install_problem_handlers(app)
    errors = {
        "starting": asyncpg.CannotConnectNowError("starting up"),
        "refused": ConnectionRefusedError("nobody there"),
        "goodbye": asyncpg.InternalClientError("cannot switch to state 12"),
        "bug": KeyError("a bug"),
    }

    @app.get("/{name}")
    async def fail(name: str) -> None:
        raise errors[name]

    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("trouble", ["starting", "refused", "goodbye"])
def test_a_database_that_is_away_is_a_503_that_asks_to_come_again(client: Any, trouble: str) -> None:
    answer = client.get(f"/{trouble}")
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM_JSON)
    assert answer.headers["retry-after"] == "1"
    assert "database is away" in answer.json()["detail"]


def test_a_bug_stays_a_500_and_says_nothing_of_itself(client: Any) -> None:
    answer = client.get("/bug")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM_JSON)
    assert "a bug" not in answer.text


def test_a_service_may_say_in_its_own_words_what_to_do_while_the_database_is_away() -> None:
    app = FastAPI()
    install_problem_handlers(app)
    handle_database_away(app, "send it again with the same key", title="Try again")

    @app.get("/")
    async def fail() -> None:
        raise asyncpg.CannotConnectNowError("starting up")

    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/")
    assert (answer.status_code, answer.json()["title"]) == (503, "Try again")
    assert answer.json()["detail"] == "send it again with the same key"


TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "shop=t61"}


async def test_a_service_without_a_collector_sends_its_callers_trace_on_as_it_came() -> None:
    app, stop, port = FastAPI(), asyncio.Event(), free_port()

    @app.get("/")
    async def sent_on() -> dict[str, str]:
        return trace_headers()

    serving = asyncio.create_task(serve(app, "127.0.0.1", port, stop))
    client = ServiceClient(f"http://127.0.0.1:{port}", timeout_s=5.0)
    try:
        async with asyncio.timeout(10):
            while True:
                try:
                    with continue_trace("caller", TRACE):
                        within = await client.call("GET", "/")
                    break
                except Transient:
                    await asyncio.sleep(0.01)
        assert within.body == TRACE
        bad = {"traceparent": "nonsense", "tracestate": "shop=t61"}
        without = (await client.call("GET", "/", headers=bad)).body
    finally:
        await client.close()
        stop.set()
        await serving
    assert without.keys() == {"traceparent"}
    assert TRACE["traceparent"][3:35] not in without["traceparent"]
