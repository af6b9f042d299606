"""What both loops talk to: a model on Anthropic's wire and a tool API, in one process that books its own time.

``python -m bench.agent.neighbours PORT``. A turn without a tool result reads the order, one with the order refunds it,
one with the refund says so; a message without the word refund is answered at once. ``PUT /pace`` sets how long a turn
takes: a fifth of it passes before its first word, the rest while it is written.
"""

import asyncio
import json
import sys
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]
ORDER_ID, CHUNK = "72000001", 24
FIRST_SENTENCE = "I have refunded 64.00 USD for the blender of order 72000001. "
TALK_SENTENCE = "Thank you for telling us about this. "
REST = (
    "It can take a few days to show on your card. You don't have to send anything back. "
    "Thank you for your patience and for writing to us. Is there anything else you would like to know today?"
)


class Neighbours:
    """The model and the tools; ``turn_s`` is what one model turn takes."""

    def __init__(self) -> None:
        self.turn_s = 0.0
        self.tools: list[Json] = []
        # Seconds the model took, and when its first sentence was complete, by conversation.
        self.spent: dict[str, float] = {}
        self.sentence_at: dict[str, float] = {}
        # The ledger: one row a conversation.
        self.rows: dict[str, Json] = {}

    async def pace(self, request: Request) -> Response:
        body = await request.json()
        self.turn_s = body["turn_s"]
        self.tools = body.get("tools", self.tools)
        self.spent, self.sentence_at = {}, {}
        return Response(status_code=204)

    async def books(self, _: Request) -> JSONResponse:
        return JSONResponse({"spent": self.spent, "sentence_at": self.sentence_at})

    async def messages(self, request: Request) -> StreamingResponse:
        began, body = time.time(), await request.json()
        subject = body["metadata"]["user_id"]
        results = sum(b["type"] == "tool_result" for m in body["messages"] for b in _blocks(m))
        wants = "refund" in str(body["messages"][0]["content"])
        if wants and results < 2:
            call = ("get_order", {"order_id": ORDER_ID}) if results == 0 else ("issue_refund", _REFUND)
            return self._stream(subject, began, _tool_events(*call))
        text = (FIRST_SENTENCE if wants else TALK_SENTENCE) + REST
        return self._stream(subject, began, _text_events(text), len(text) - len(REST) + len("It can take"))

    def _stream(self, subject: str, began: float, events: list[tuple[str, Json]], first: int = 0) -> StreamingResponse:
        async def write() -> AsyncIterator[bytes]:
            pieces = sum(name == "content_block_delta" for name, _ in events)
            step_s, written, batch = 0.8 * self.turn_s / pieces, 0, b""
            await asyncio.sleep(0.2 * self.turn_s)
            for name, data in events:
                batch += f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
                if name == "content_block_delta" and step_s:
                    await asyncio.sleep(step_s)
                    yield batch
                    written, batch = written + len(data["delta"].get("text", "")), b""
                    if first and written >= first:
                        self.sentence_at.setdefault(subject, time.time())
            self.spent[subject] = self.spent.get(subject, 0.0) + time.time() - began
            yield batch

        return StreamingResponse(write(), media_type="text/event-stream")

    async def list_tools(self, _: Request) -> JSONResponse:
        return JSONResponse({"tools": self.tools})

    async def call(self, request: Request) -> JSONResponse:
        args = (await request.json())["args"]
        if request.path_params["name"] == "get_order":
            return JSONResponse({"status": "ok", "result": _ORDER | {"order_id": args["order_id"]}})
        key = f"refund:{args['order_id']}:{args['line_id']}"
        row = {"key": key, "status": "succeeded", "amount": args["amount"], "currency": "USD", "reference": "re_1"}
        if (statement := request.headers.get("x-session-assertion")) is not None:
            whole = row | {f: args[f] for f in ("order_id", "line_id")} | {"kind": "refund", "version": 2}
            self.rows[_conversation_of(statement)] = whole
        return JSONResponse({"status": "succeeded", "result": {**row, "reason": None, "repeated": False}})

    async def actions(self, request: Request) -> JSONResponse:
        row = self.rows.get(request.query_params["conversation_id"])
        return JSONResponse({"items": [] if row is None else [row]})

    async def customer(self, _: Request) -> JSONResponse:
        return JSONResponse({"name": "Ada", "tier": "standard", "lifetime_value": "100.00", "open_tickets": []})


def _conversation_of(statement: str) -> str:
    body = statement.split(".")[1]
    return str(json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))["conversation_id"])


_REFUND = {"order_id": ORDER_ID, "line_id": "L1", "amount": "64.00", "reason": "damaged"}
_ORDER: Json = {
    "status": "delivered",
    "currency": "USD",
    "lines": [{"line_id": "L1", "title": "Blender", "quantity": 1, "paid": "64.00"}],
}
_USAGE = {"input_tokens": 1_200, "output_tokens": 60, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def _blocks(message: Json) -> list[Json]:
    return message["content"] if isinstance(message["content"], list) else []


def _around(blocks: list[tuple[str, Json]], stop_reason: str) -> list[tuple[str, Json]]:
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    return [
        ("message_start", {"type": "message_start", "message": message | {"usage": _USAGE}}),
        *blocks,
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": _USAGE}),
        ("message_stop", {"type": "message_stop"}),
    ]


def _block(start: Json, deltas: list[Json]) -> list[tuple[str, Json]]:
    return [
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": start}),
        *(("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": d}) for d in deltas),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
    ]


def _text_events(text: str) -> list[tuple[str, Json]]:
    pieces = [{"type": "text_delta", "text": text[at : at + CHUNK]} for at in range(0, len(text), CHUNK)]
    return _around(_block({"type": "text", "text": ""}, pieces), "end_turn")


def _tool_events(name: str, args: Json) -> list[tuple[str, Json]]:
    raw = json.dumps(args)
    pieces = [{"type": "input_json_delta", "partial_json": raw[at : at + CHUNK]} for at in range(0, len(raw), CHUNK)]
    return _around(_block({"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}}, pieces), "tool_use")


def main(port: int) -> None:
    """Serve until killed."""
    here = Neighbours()
    routes = [
        Route("/pace", here.pace, methods=["PUT"]),
        Route("/books", here.books),
        Route("/v1/messages", here.messages, methods=["POST"]),
        Route("/v1/tools", here.list_tools),
        Route("/v1/tools/{name}", here.call, methods=["POST"]),
        Route("/v1/customer", here.customer),
        Route("/v1/actions", here.actions),
    ]
    # Providers keep connections open; one that closes them while the client picks one up would measure that race.
    uvicorn.run(
        Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error", access_log=False,
        timeout_keep_alive=300, backlog=4096,
    )  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]))
