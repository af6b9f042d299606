"""Whatever a route raises becomes a problem document that says what the caller can do."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from starlette.testclient import TestClient
from uvicorn.server import ServerState

from common import telemetry
from common.http import PROBLEM_JSON, Problem, handle_database_away, install_problem_handlers
from common.serving import OneWrite, ShortcutApi


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


@pytest.fixture
def quick() -> Iterator[Any]:
    app = ShortcutApi()
    install_problem_handlers(app)
    troubles = {
        "away": ConnectionRefusedError("nobody there"),
        "no": Problem(403, "not yours"),
        "bug": KeyError("a bug"),
    }

    async def answer(name: str, request: Request) -> Response:
        if name in troubles:
            raise troubles[name]
        return Response(f"{name} {(await request.body()).decode()}")

    @app.post("/things/{name}")
    async def declared(name: str) -> str:
        return "through the layers"

    @app.get("/things/{name}")
    async def read(name: str) -> str:
        return "read"

    @app.post("/things/{name}/more")
    async def more(name: str) -> str:
        return "more"

    @app.post("/parts/{name}/more")
    async def more_parts(name: str) -> str:
        return "more parts"

    @app.post("/parts/{name}/other/more")
    async def other_parts(name: str) -> str:
        return "other parts"

    app.shortcut("POST", "/things/", answer)
    app.shortcut("POST", "/parts/", answer, suffix="/more")
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_a_shortcut_may_stand_before_more_of_the_path(quick: Any) -> None:
    assert quick.post("/parts/x/more", content=b"body").text == "x body"
    assert quick.post("/parts/x/other/more").json() == "other parts"
    assert [quick.post(path).status_code for path in ("/parts/x", "/parts/more", "/parts//more")] == [404, 404, 404]


def test_while_spans_are_collected_every_request_goes_through_the_layers_that_make_them(
    quick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "_recording", True)
    assert quick.post("/things/x").json() == "through the layers"


def test_a_shortcut_answers_before_the_layers_and_its_route_stays_documented(quick: Any) -> None:
    assert quick.post("/things/a%20b", content=b"body").text == "a b body"
    assert "post" in quick.get("/openapi.json").json()["paths"]["/things/{name}"]


@pytest.mark.parametrize(
    ("method", "path", "said"), [("GET", "/things/a", '"read"'), ("POST", "/things/a/more", '"more"')]
)
def test_a_shortcut_takes_its_method_and_one_segment_only(quick: Any, method: str, path: str, said: str) -> None:
    assert quick.request(method, path).text == said
    assert quick.post("/things/").status_code == 404


@pytest.mark.parametrize(("name", "status"), [("away", 503), ("no", 403), ("bug", 500)])
def test_what_a_shortcut_raises_becomes_the_same_problem_document(quick: Any, name: str, status: int) -> None:
    answer = quick.post(f"/things/{name}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM_JSON)
    assert "a bug" not in answer.text


class Wire(asyncio.Transport):
    """Keeps each write apart, as a system call would."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed_after: int | None = None

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed_after = len(self.writes)

    def is_closing(self) -> bool:
        return self.closed_after is not None


async def serve_one(app: FastAPI, head: bytes) -> tuple[OneWrite, Wire]:
    config = uvicorn.Config(app, http=OneWrite, log_config=None, lifespan="off")
    config.load()
    protocol, wire = OneWrite(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    protocol.data_received(head)
    return protocol, wire


async def settled(wire: Wire, ending: bytes) -> None:
    async with asyncio.timeout(5):
        while not (wire.writes and wire.writes[-1].endswith(ending)):  # noqa: ASYNC110 - a wire offers no event
            await asyncio.sleep(0)


async def test_an_answers_head_and_body_leave_in_one_write_and_before_the_connection_closes() -> None:
    app = FastAPI()

    @app.get("/")
    async def whole() -> Response:
        return Response(b"whole")

    _, wire = await serve_one(app, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    await settled(wire, b"whole")
    assert (len(wire.writes), wire.closed_after) == (1, 1)
    assert wire.writes[0].startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_streams_parts_leave_as_they_come() -> None:
    app, second = FastAPI(), asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        yield b"first"
        await second.wait()
        yield b"second"

    @app.get("/")
    async def stream() -> Response:
        return StreamingResponse(parts())

    _, wire = await serve_one(app, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await settled(wire, b"5\r\nfirst\r\n")
    assert b"second" not in b"".join(wire.writes)
    second.set()
    await settled(wire, b"6\r\nsecond\r\n0\r\n\r\n")
