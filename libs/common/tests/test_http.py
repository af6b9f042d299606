"""Whatever a route raises becomes a problem document that says what the caller can do."""

from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from common.http import PROBLEM_JSON, handle_database_away, install_problem_handlers


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
