"""One turn each of what is measured, timed by the client from sending to first event and to done."""

import json
import secrets
import time
from typing import Any

import aiohttp

from bench.load import Timing, Turn
from bench.stage import Stage, delivered, fresh_key, open_conversation, shipped


def chain_turn(stage: Stage) -> Turn:
    """A turn of the bare chain."""

    async def turn(_: int) -> Timing:
        body = {"id": secrets.token_hex(8), "text": "Where is my order 4417028?"}
        timing, _done = await _stream(stage.http, f"{stage.chain_url}/messages", body, {})
        return timing

    return turn


def fixed_turn(stage: Stage) -> Turn:
    """A where-is-my-order turn of the product; each customer asks in a conversation of their own."""

    async def turn(n: int) -> Timing:
        who = n % len(stage.tokens)
        timing, done = await _say(stage, who, stage.conversations[who], f"Where is my order {shipped(who)}?")
        if done["route"] != "fixed" or shipped(who) not in done["reply"]:
            raise AssertionError(f"not a fixed-flow answer: {done}")
        return timing

    return turn


def refund_turn(stage: Stage) -> Turn:
    """A refund turn of the product with the sandbox's model: look up, refund, answer."""

    async def turn(n: int) -> Timing:
        conversation = await open_conversation(stage, stage.tokens[n])
        text = f"My blender arrived cracked, order {delivered(n)}. Please refund it."
        timing, done = await _say(stage, n, conversation, text)
        if "64.00" not in done["reply"] or done["handoff"]:
            raise AssertionError(f"not a refund: {done}")
        return timing

    return turn


async def _say(stage: Stage, who: int, conversation: str, text: str) -> tuple[Timing, dict[str, Any]]:
    headers = {
        "Authorization": f"Bearer {stage.tokens[who]}",
        "Idempotency-Key": fresh_key(),
        "Accept": "text/event-stream",
    }
    url = f"{stage.stack['GATEWAY_URL']}/v1/conversations/{conversation}/messages"
    return await _stream(stage.http, url, {"text": text}, headers)


async def _stream(
    http: aiohttp.ClientSession, url: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[Timing, dict[str, Any]]:
    started, first, event = time.perf_counter(), 0.0, ""
    async with http.post(url, json=body, headers=headers) as answer:
        answer.raise_for_status()
        async for raw in answer.content:
            if raw.startswith(b"event:"):
                first = first or time.perf_counter()
                event = raw[6:].strip().decode()
            elif raw.startswith(b"data:") and event == "done":
                now = time.perf_counter()
                return Timing(first - started, now - started), json.loads(raw[5:])
    raise AssertionError("the stream ended without done")
