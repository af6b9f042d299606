"""What makes the busiest routes cheap: a way past the framework's layers, and one write where the server makes two."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from common import telemetry

Answer: TypeAlias = Callable[[str, Request], Awaitable[Response]]


class ShortcutApi(FastAPI):
    """A FastAPI whose busiest routes are answered before its routing and middleware are asked.

    Those layers cost three times what reading a request and writing its answer do. A route with a shortcut stays
    declared as well: that gives it its place in the OpenAPI document, answers every other method, and serves while
    spans are collected, since a request's span is made by those layers.
    """

    _shortcuts: dict[str, list[tuple[str, str, Answer]]]

    def shortcut(self, method: str, prefix: str, answer: Answer, *, suffix: str = "") -> None:
        """Have ``answer`` called with the one segment between ``prefix`` and ``suffix``; its errors go to the app's own
        handlers.
        """
        if "_shortcuts" not in self.__dict__:
            self._shortcuts = {}
        self._shortcuts.setdefault(method, []).append((prefix, suffix, answer))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = self._found(scope) if scope["type"] == "http" and not telemetry.recording() else None
        if found is None:
            await super().__call__(scope, receive, send)
            return
        segment, answer = found
        request = Request(scope, receive, send)
        try:
            response = await answer(segment, request)
        except Exception as e:  # noqa: BLE001 - the app's handlers say what each kind of error is
            response = await self._response_to(request, e)
        await response(scope, receive, send)

    def _found(self, scope: Scope) -> tuple[str, Answer] | None:
        path: str = scope["path"]
        for prefix, suffix, answer in self.__dict__.get("_shortcuts", {}).get(scope["method"], ()):
            if path.startswith(prefix) and path.endswith(suffix):
                segment = path[len(prefix) : len(path) - len(suffix)]
                if segment and "/" not in segment:
                    return segment, answer
        return None

    async def _response_to(self, request: Request, error: Exception) -> Response:
        for kind in type(error).__mro__:
            if (handler := self.exception_handlers.get(kind)) is not None:
                made = handler(request, error)
                return await made if isinstance(made, Awaitable) else made
        raise error


class OneWrite(HttpToolsProtocol):
    """uvicorn's protocol, except that what is written in one turn of the loop leaves in one piece.

    An answer's head and body are two writes otherwise: two system calls here, and two wake-ups for whoever reads them.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Write through a buffer from now on."""
        super().connection_made(cast("asyncio.Transport", _Gathering(transport, self.loop)))


class _Gathering:
    """A transport that keeps what is written until the loop's next turn; everything else is the real one's."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
