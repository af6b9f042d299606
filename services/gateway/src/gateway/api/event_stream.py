"""The answer that stays open: server-sent events until their end, their client or this process leaves."""

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.adapters.hub import Hub, Inbox

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


class EventStream(Response):
    """Sends what ``frames`` yields, each as soon as it is there; a frame marked as the last one ends the answer.

    ``frames`` waits at ``inbox``, which is closed when the client goes away and given back to ``hub`` at the end: one
    task watches, where a general response of this kind keeps four.
    """

    def __init__(
        self, hub: Hub, inbox: Inbox, frames: AsyncGenerator[tuple[bytes, bool], None], message_id: str | None
    ) -> None:
        self._hub, self._inbox, self._frames = hub, inbox, frames
        self.status_code, self.background = 200, None
        named = [] if message_id is None else [(b"x-message-id", message_id.encode())]
        self.raw_headers = [*_HEADERS, *named]

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        watching = asyncio.create_task(self._close_when_gone(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            ended = False
            async for frame, ended in self._frames:
                await send({"type": "http.response.body", "body": frame, "more_body": not ended})
            if not ended:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watching.cancel()
            self._hub.leave(self._inbox)
            await self._frames.aclose()

    async def _close_when_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._inbox.close()
