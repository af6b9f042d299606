"""Anthropic's Messages API through the official SDK, streamed, with the fixed part marked for the prompt cache."""

import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anthropic
import httpx2
from anthropic import AsyncStream

from common.models.assembly import Assembly
from common.models.errors import ModelFault, ModelRefused
from common.models.hearing import Hearer
from common.models.retry_after import retry_after_s
from common.models.turns import Json, ModelRequest, ModelTurn, Size, Usage

_TRANSIENT = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_CACHED = {"cache_control": {"type": "ephemeral"}}
# Prompts with their tools, written as JSON once: an agent, its summaries, its guard and a few policy answers.
_KEPT = 8
_SHAPED = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"}
)


class AnthropicProvider:
    """One client a process; retries are the gateway's business, so the SDK's own are off."""

    name = "anthropic"

    def __init__(
        self, api_key: str, models: dict[Size, str], base_url: str | None = None, timeout_s: float = 30.0
    ) -> None:
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=httpx2.Timeout(timeout_s, connect=3.0),
            http_client=anthropic.DefaultAioHttpClient(),
        )
        self._models = models
        self._written: dict[tuple[str, int], tuple[tuple[Json, ...], str, str]] = {}

    async def ask(self, request: ModelRequest, hearer: Hearer | None = None) -> ModelTurn:
        """Stream one turn to its end while ``hearer`` listens.

        Raises ModelFault for what may pass, ModelRefused for what can't.
        """
        with Assembly(self.name, self._models[request.size], hearer) as assembly:
            await self._hear(request, assembly)
            return assembly.finish()

    async def close(self) -> None:
        await self._client.close()

    async def _hear(self, request: ModelRequest, assembly: Assembly) -> None:
        try:
            # ``messages.create`` copies and spells out prompt and tools anew for every call and builds an object for
            # every piece of text, which cost more than all else the loop does; this is the same request without that.
            stream = await self._client.post(
                "/v1/messages", cast_to=object, content=self._body(request), stream=True, stream_cls=AsyncStream[object]
            )
            async with stream, aclosing(aiter(stream)) as events:  # type: ignore[type-var]
                async for event in events:
                    _take(assembly, event)
        except anthropic.APIStatusError as error:
            raise _sorted(error) from error
        except (anthropic.APIError, httpx2.HTTPError, ValueError, OSError) as error:
            # A dropped socket surfaces as a raw httpx2 error, a garbled event as a JSON one: neither is the SDK's own.
            cause = f" ({type(error.__cause__).__name__})" if error.__cause__ is not None else ""
            raise ModelFault(f"anthropic: {type(error).__name__}{cause}") from error

    def _body(self, request: ModelRequest) -> bytes:
        system, tools = self._fixed_part(request)
        context = f",{_json({'type': 'text', 'text': request.context})}" if request.context else ""
        body: Json = {
            "model": self._models[request.size],
            "max_tokens": request.max_tokens,
            "stream": True,
            "messages": request.messages,
        }
        if request.tools and not request.tools_allowed:
            body["tool_choice"] = {"type": "none"}
        if request.subject:
            body["metadata"] = {"user_id": request.subject}
        return f'{_json(body)[:-1]},"system":[{system}{context}]{tools}}}'.encode()

    def _fixed_part(self, request: ModelRequest) -> tuple[str, str]:
        """Return prompt and tools as written once; the tools are kept beside it, so that their id stays theirs."""
        key = request.system, id(request.tools)
        if key not in self._written:
            system = _json({"type": "text", "text": request.system, **_CACHED})
            tools = [*request.tools[:-1], *({**tool, **_CACHED} for tool in request.tools[-1:])]
            while len(self._written) >= _KEPT:
                del self._written[next(iter(self._written))]
            self._written[key] = request.tools, system, f',"tools":{_json(tools)}' if tools else ""
        return self._written[key][1:]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _take(assembly: Assembly, event: object) -> None:
    """Take in one event; kinds that we don't know are new ones, a known one of another shape is garbled."""
    match event:
        case {"type": "content_block_delta", "index": int(index), "delta": {"type": str(kind), **delta}}:
            _take_piece(assembly, index, kind, delta)
        case {"type": "content_block_start", "index": int(index), "content_block": {"type": str(kind), **block}}:
            _take_block(assembly, index, kind, block)
        case {"type": "content_block_stop", "index": int(index)}:
            assembly.close_block(index)
        case {"type": "message_start", "message": {"usage": {**used}, **message}}:
            assembly.model = _text(message.get("model")) or assembly.model
            names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            assembly.usage = Usage(*(_count(used.get(name)) for name in names))
        case {"type": "message_delta", "delta": {**delta}, "usage": {**used}}:
            assembly.stop_reason = _text(delta.get("stop_reason")) or None
            assembly.usage = replace(assembly.usage, output_tokens=_count(used.get("output_tokens")))
        case {"type": str(kind)} if kind in _SHAPED:
            raise ModelFault(f"anthropic: garbled {kind}")


def _take_piece(assembly: Assembly, index: int, kind: str, delta: dict[Any, Any]) -> None:
    if kind == "text_delta":
        assembly.add_text(_text(delta.get("text")))
    elif kind == "input_json_delta":
        assembly.add_input(index, _text(delta.get("partial_json")))


def _take_block(assembly: Assembly, index: int, kind: str, block: dict[Any, Any]) -> None:
    if kind == "tool_use":
        assembly.open_call(index, _text(block.get("id")), _text(block.get("name")))
    elif kind == "text" and (text := _text(block.get("text"))):
        assembly.add_text(text)


def _text(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise ModelFault(f"anthropic: {type(value).__name__} where a text belongs")
    return value or ""


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _sorted(error: anthropic.APIStatusError) -> ModelFault | ModelRefused:
    # An error event inside a 200 stream carries status 200 and tells its kind only by type.
    if error.type in _TRANSIENT or error.status_code >= 500 or error.status_code in (408, 409, 429):
        return ModelFault(
            f"anthropic: {error.type or error.status_code}", retry_after_s(error.response.headers.get("retry-after"))
        )
    return ModelRefused(f"anthropic: {error.status_code} {error.type or ''}".strip())
