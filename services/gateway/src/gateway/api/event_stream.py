"""The answer that stays open: server-sent events until their end, their client or this process leaves."""

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gateway.adapters.hub import Hub, Inbox
from gateway.streams import Frames

_HEADERS = {"Cache-Control": "no-store, no-transform", "Connection": "keep-alive", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """Sends what ``frames`` yields, each as soon as it is there.

    ``frames`` waits at ``inbox``, which is given back to ``hub`` however the answer ends: a client may be gone before
    the first frame was asked for.
    """

    def __init__(self, hub: Hub, inbox: Inbox, frames: Frames, message_id: str | None) -> None:
        named = {} if message_id is None else {"X-Message-Id": message_id}
        super().__init__(frames, media_type="text/event-stream", headers=_HEADERS | named)
        self._hub, self._inbox, self._frames = hub, inbox, frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(self._inbox)
            await self._frames.aclose()
