"""Plain HTTP/1.1 to one service of our own cluster: a kept connection carries one exchange at a time.

A full client costs three times as much a call in redirects, cookies, proxies and compression, which no service of ours
uses; the parsing is still left to a parser. What can't be told apart here stays unknown, never undone (R3).
"""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httptools
from yarl import URL

# A server closes a connection that nobody uses after five seconds or so; ours is gone before it could cross a request.
_IDLE_S = 3.0
_CONNECT_S = 2.0
Answer = tuple[int, dict[bytes, bytes], bytes]


class NotReachable(Exception):  # noqa: N818 - a verdict on the call, not a bug
    """No connection came about: nothing was sent."""


class NoAnswer(Exception):  # noqa: N818 - as above
    """The request may have arrived, its answer did not."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; ``body`` is JSON already written, ``timeout_s`` covers everything from here to the answer's end."""

    method: str
    path: str
    body: bytes | None
    params: Mapping[str, str] | None
    headers: Mapping[str, str]
    timeout_s: float


# What a path may hold as it is; anything else is quoted first, so that no value becomes part of the request's head.
_PLAIN = re.compile(r"/[\w/.~%:@!$&'()*+,;=?-]*", re.ASCII)
_BODILESS = frozenset({"GET", "DELETE"})


class Exchanges:
    """Exchanges with one plain ``http://`` address, over at most ``most`` connections at a time."""

    def __init__(self, base: URL, *, most: int) -> None:
        self._base, self._free = base, asyncio.Semaphore(most)
        self._host_line = f"Host: {base.host_port_subcomponent}"
        self._idle: list[tuple[_Connection, float]] = []

    @classmethod
    def can_reach(cls, base: URL) -> bool:
        """Say whether the address is one for this: TLS and passwords are left to a full client."""
        return base.scheme == "http" and bool(base.raw_host) and base.user is None and base.password is None

    async def request(self, ask: Ask) -> Answer:
        """Send one request and return its answer's status, headers (names in lower case) and body.

        Raises NotReachable or NoAnswer; ValueError, and nothing is sent, if a header could break out of its line.
        """
        return await self._send(self._written(ask), ask.timeout_s)

    def _written(self, ask: Ask) -> bytes:
        target = self._base.raw_path.rstrip("/") + ask.path
        if ask.params or ".." in ask.path or not _PLAIN.fullmatch(target):
            target = self._base.origin().join(URL(target)).update_query(ask.params or {}).raw_path_qs
        lines = [f"{ask.method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in ask.headers.items()]]
        if any("\n" in line or "\r" in line or "\0" in line for line in lines):
            raise ValueError("a header holds a line break")
        lines.append(self._host_line)
        if ask.body is not None:
            lines.append(f"Content-Type: application/json\r\nContent-Length: {len(ask.body)}")
        elif ask.method not in _BODILESS:
            lines.append("Content-Length: 0")
        return "\r\n".join([*lines, "", ""]).encode() + (ask.body or b"")

    async def _send(self, request: bytes, timeout_s: float) -> Answer:
        deadline = time.monotonic() + timeout_s
        try:
            if self._free.locked():
                async with asyncio.timeout(timeout_s):
                    await self._free.acquire()
            else:
                await self._free.acquire()
        except TimeoutError as e:
            raise NotReachable("every connection is in use") from e
        try:
            connection = self._kept() or await self._connect(min(deadline - time.monotonic(), _CONNECT_S))
            try:
                answer = await connection.exchange(request, deadline - time.monotonic())
            except BaseException:
                # Whatever comes on it now belongs to nobody.
                connection.close()
                raise
            if connection.reusable:
                self._idle.append((connection, time.monotonic()))
            else:
                connection.close()
            return answer
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the connections that are kept."""
        for connection, _ in self._idle:
            connection.close()
        self._idle.clear()

    def _kept(self) -> "_Connection | None":
        oldest = time.monotonic() - _IDLE_S
        while self._idle:
            connection, since = self._idle.pop()
            if connection.reusable and since > oldest:
                return connection
            connection.close()
        return None

    async def _connect(self, within_s: float) -> "_Connection":
        host, port = self._base.raw_host, self._base.port
        assert host is not None, "``can_reach`` was asked"
        assert port is not None, "http has a port of its own"
        try:
            async with asyncio.timeout(within_s):
                _, connection = await asyncio.get_running_loop().create_connection(_Connection, host, port)
        except (OSError, TimeoutError) as e:
            raise NotReachable(type(e).__name__) from e
        return connection


class _Connection(asyncio.Protocol):
    """One connection; the parser calls the ``on_`` methods as an answer's parts come."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._has_head = False
        self.reusable = False

    async def exchange(self, request: bytes, timeout_s: float) -> Answer:
        """Send one request and return its answer. Raises NoAnswer."""
        assert self._transport is not None, "a connection is used once it is made"
        loop = asyncio.get_running_loop()
        self._answer, self.reusable = loop.create_future(), False
        timer = loop.call_later(timeout_s, self._fail, "no answer in time")
        try:
            self._transport.write(request)
            return await self._answer
        finally:
            timer.cancel()
            self._answer = None

    def close(self) -> None:
        """Close at once; nothing is waited for."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports keep to the interface without being of its class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            # Nothing was asked: what comes now could be taken for the answer to the next request.
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as e:
            self._fail(f"the answer is no HTTP: {type(e).__name__}")

    def connection_lost(self, exc: Exception | None) -> None:
        self.reusable = False
        length_unknown = b"content-length" not in self._headers and b"transfer-encoding" not in self._headers
        if exc is None and self._has_head and length_unknown:
            # Without a length the answer ends with its connection.
            self._end(reusable=False)
        self._fail("the connection was closed")

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            # A second answer to one question: nobody can say any more which is whose.
            self.close()
        self._headers, self._body, self._has_head = {}, [], False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self._end(reusable=self._parser.should_keep_alive())

    def _end(self, *, reusable: bool) -> None:
        if self._answer is not None and not self._answer.done():
            self.reusable = reusable
            self._answer.set_result((self._parser.get_status_code(), self._headers, b"".join(self._body)))

    def _fail(self, why: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(NoAnswer(why))
