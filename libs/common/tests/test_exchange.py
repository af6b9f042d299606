"""A call to another service: what arrives, what comes back, and what is known when nothing does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import uvloop

from common.errors import OutcomeUnknown, Transient
from common.http import Reply, ServiceClient

OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}'


UNTIL_CLOSED = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"a": 1}'
CUT_OFF = b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n{"a'


class Server:
    """Answers each request with the next of ``answers``; an empty one closes the connection, None says nothing."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers, self.connections = list(answers), 0
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next((int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0)
                self.requests.append(head + await reader.readexactly(length))
                if (answer := self.answers.pop(0)) is not None:
                    writer.write(answer)
                    if not answer or b"Connection: close" in answer:
                        break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture(params=["plain", "session"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def calling(server: Server, way: str = "plain", **options: Any) -> AsyncIterator[ServiceClient]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = ServiceClient(f"http://127.0.0.1:{port}/base", **{"timeout_s": 5.0, **options})
    if way == "session":
        client._send = client._over_session
    try:
        yield client
    finally:
        await client.close()
        listening.close()


async def test_a_request_arrives_as_it_was_meant(way: str) -> None:
    server = Server(OK)
    async with calling(server, way) as client:
        reply = await client.call(
            "POST", "/v1/tools/get_order", json={"n": "ä"}, params={"q": "a b&c"}, headers={"Authorization": "Bearer x"}
        )
    assert reply == Reply(200, {"ok": True})
    line, *rest = server.requests[0].split(b"\r\n")
    assert line.replace(b"%20", b"+") == b"POST /base/v1/tools/get_order?q=a+b%26c HTTP/1.1"
    names = {h.split(b":")[0].lower(): h.split(b": ")[1] for h in rest[:-2] if b": " in h}
    assert names[b"host"].startswith(b"127.0.0.1:")
    assert (names[b"authorization"], names[b"content-type"]) == (b"Bearer x", b"application/json")
    assert names[b"traceparent"].startswith(b"00-")
    assert rest[-1] == b'{"n": "\\u00e4"}'


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnone", 404, "none"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/problem+json\r\nContent-Length: 2\r\n\r\n{}", 200, {}),
        (b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n", 202, None),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        (
            (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                b'4\r\n{"a"\r\n4\r\n: 1}\r\n0\r\n\r\n'
            ),
            200,
            {"a": 1},
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, {"ok": True}),
        (UNTIL_CLOSED, 200, {"a": 1}),
    ],
)
async def test_answers_of_every_shape_are_read_and_the_next_call_works(
    way: str, answer: bytes, status: int, body: Any
) -> None:
    server = Server(answer, OK)
    async with calling(server, way) as client:
        assert await client.call("GET", "/x") == Reply(status, body)
        assert await client.call("POST", "/x") == Reply(200, {"ok": True})


async def test_calls_one_after_another_share_a_connection_and_calls_at_once_do_not(way: str) -> None:
    server = Server(*[OK] * 7)
    async with calling(server, way) as client:
        for _ in range(3):
            await client.call("POST", "/x", json={})
        assert server.connections == 1
        await asyncio.gather(*(client.call("POST", "/x", json={}) for _ in range(4)))
        assert server.connections == 4


async def test_where_nobody_listens_nothing_was_sent(way: str) -> None:
    client = ServiceClient("http://127.0.0.1:1", timeout_s=1.0)
    if way == "session":
        client._send = client._over_session
    with pytest.raises(Transient):
        await client.call("POST", "/x", json={})
    await client.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        None,
        b"no http at all\r\n\r\n",
        CUT_OFF,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{a}",
    ],
)
async def test_what_became_of_a_request_whose_answer_is_lost_or_unreadable_is_unknown(
    way: str, answer: bytes | None
) -> None:
    server = Server(answer, OK)
    async with calling(server, way, timeout_s=0.3) as client:
        with pytest.raises(OutcomeUnknown):
            await client.call("POST", "/x", json={})
        assert await client.call("POST", "/y", json={}) == Reply(200, {"ok": True})
    assert [r.split()[1] for r in server.requests] == [b"/base/x", b"/base/y"]


@pytest.mark.parametrize("spoil", [lambda task: task.cancel(), None])
async def test_a_late_answer_is_never_taken_for_the_next_calls(spoil: Callable[[Any], Any] | None) -> None:
    """The first call is given up, by its caller or its time; its answer then comes, and says 404."""
    gone, late = asyncio.Event(), b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    class Slow(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self.connections == 0:
                self.connections += 1
                await reader.readuntil(b"\r\n\r\n")
                self.requests.append(b"first")
                await gone.wait()
                writer.write(late)
                writer.close()
                return
            await super().serve(reader, writer)

    server = Slow(OK)
    async with calling(server, timeout_s=5.0 if spoil else 0.2) as client:
        first = asyncio.create_task(client.call("GET", "/x"))
        while not server.requests:  # noqa: ASYNC110 - what is waited for happens behind a socket
            await asyncio.sleep(0.005)
        if spoil:
            spoil(first)
        await asyncio.gather(first, return_exceptions=True)
        gone.set()
        assert await client.call("GET", "/y") == Reply(200, {"ok": True})
    assert server.connections == 2


@pytest.mark.parametrize("more", [OK, b"HTTP/1.1 5"])
async def test_a_connection_on_which_more_came_than_was_asked_for_is_not_used_again(more: bytes) -> None:
    server = Server(OK + more, OK)
    async with calling(server) as client:
        assert (await client.call("GET", "/x")).status == 200
        assert await client.call("GET", "/y") == Reply(200, {"ok": True})
    assert server.connections == 2


async def test_while_every_connection_is_in_use_nothing_is_sent_and_one_that_comes_free_is_used() -> None:
    server = Server(None, OK)
    async with calling(server, timeout_s=0.4, connections=1) as client:
        first = asyncio.create_task(client.call("GET", "/x"))
        await asyncio.sleep(0)
        with pytest.raises(Transient):
            await client.call("GET", "/y", timeout_s=0.1)
        assert await client.call("GET", "/z", timeout_s=3.0) == Reply(200, {"ok": True})
        with pytest.raises(OutcomeUnknown):
            await first
    assert [r.split()[1] for r in server.requests] == [b"/base/x", b"/base/z"]


async def test_no_value_breaks_out_of_its_line(way: str) -> None:
    server = Server(OK)
    async with calling(server, way) as client:
        with pytest.raises(OutcomeUnknown):
            await client.call("GET", "/x", headers={"X-Note": "a\r\nX-Evil: 1"})
        await client.call("GET", "/x y\r\nX-Evil: 1/../z?q=ü")
    (request,) = server.requests
    assert b"\r\nX-Evil" not in request
    assert request.split(b"\r\n")[0].count(b" ") == 2


def test_tls_and_passwords_are_left_to_the_full_client() -> None:
    for base in ("https://pay.example", "http://user:secret@shop.example"):
        client = ServiceClient(base, timeout_s=1.0)
        assert client._send == client._over_session


@pytest.mark.parametrize(
    "holds",
    [
        partial(test_a_request_arrives_as_it_was_meant, "plain"),
        partial(test_calls_one_after_another_share_a_connection_and_calls_at_once_do_not, "plain"),
        partial(test_answers_of_every_shape_are_read_and_the_next_call_works, "plain", UNTIL_CLOSED, 200, {"a": 1}),
        partial(test_what_became_of_a_request_whose_answer_is_lost_or_unreadable_is_unknown, "plain", b""),
        partial(test_what_became_of_a_request_whose_answer_is_lost_or_unreadable_is_unknown, "plain", None),
        partial(test_what_became_of_a_request_whose_answer_is_lost_or_unreadable_is_unknown, "plain", CUT_OFF),
        partial(test_where_nobody_listens_nothing_was_sent, "plain"),
        partial(test_a_late_answer_is_never_taken_for_the_next_calls, None),
        partial(test_a_connection_on_which_more_came_than_was_asked_for_is_not_used_again, OK),
    ],
    ids=lambda test: test.func.__name__,
)
def test_on_the_loop_that_services_run_on(holds: Callable[[], Any]) -> None:
    """uvloop's transports and servers are its own."""
    uvloop.run(holds())
