"""Anthropic's Messages API through the official SDK, streamed, with the fixed part marked for the prompt cache."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import anthropic
import httpx2
from anthropic.types import RawMessageStreamEvent

from common.models.assembly import Assembly
from common.models.errors import ModelFault, ModelRefused
from common.models.hearing import Hearer
from common.models.retry_after import retry_after_s
from common.models.turns import ModelRequest, ModelTurn, Size, Usage

_TRANSIENT = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_CACHED = {"cache_control": {"type": "ephemeral"}}


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

    async def ask(self, request: ModelRequest, hearer: Hearer | None = None) -> ModelTurn:
        """Stream one turn to its end while ``hearer`` listens.

        Raises ModelFault for what may pass, ModelRefused for what can't.
        """
        assembly = Assembly(self.name, self._models[request.size], hearer)
        try:
            stream = await self._client.messages.create(**self._wire(request), stream=True)
            async with aclosing(cast(Any, _events(stream))) as events:
                async for event in events:
                    _take(assembly, event)
        except anthropic.APIStatusError as error:
            raise _sorted(error) from error
        except (anthropic.APIError, httpx2.HTTPError, ValueError, OSError) as error:
            # A dropped socket surfaces as a raw httpx2 error, a garbled event as a JSON one: neither is the SDK's own.
            cause = f" ({type(error.__cause__).__name__})" if error.__cause__ is not None else ""
            raise ModelFault(f"anthropic: {type(error).__name__}{cause}") from error
        return assembly.finish()

    async def close(self) -> None:
        await self._client.close()

    def _wire(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._models[request.size],
            "max_tokens": request.max_tokens,
            "system": [
                {"type": "text", "text": request.system, **_CACHED},
                *([{"type": "text", "text": request.context}] if request.context else []),
            ],
            "messages": list(request.messages),
        }
        if request.tools:
            body["tools"] = [*request.tools[:-1], {**request.tools[-1], **_CACHED}]
            if not request.tools_allowed:
                body["tool_choice"] = {"type": "none"}
        if request.subject:
            body["metadata"] = {"user_id": request.subject}
        return body


async def _events(stream: Any) -> AsyncIterator[RawMessageStreamEvent]:
    async with stream:
        async for event in stream:
            yield event


def _take(assembly: Assembly, event: RawMessageStreamEvent) -> None:
    if event.type == "content_block_delta":
        if event.delta.type == "text_delta":
            assembly.add_text(event.delta.text)
        elif event.delta.type == "input_json_delta":
            assembly.add_input(event.index, event.delta.partial_json)
    elif event.type == "content_block_start":
        if event.content_block.type == "tool_use":
            assembly.open_call(event.index, event.content_block.id, event.content_block.name)
        elif event.content_block.type == "text" and event.content_block.text:
            assembly.add_text(event.content_block.text)
    elif event.type == "content_block_stop":
        assembly.close_block(event.index)
    elif event.type == "message_start":
        used = event.message.usage
        assembly.model = event.message.model or assembly.model
        assembly.usage = Usage(
            used.input_tokens,
            used.output_tokens,
            used.cache_read_input_tokens or 0,
            used.cache_creation_input_tokens or 0,
        )
    elif event.type == "message_delta":
        assembly.stop_reason = event.delta.stop_reason
        seen = assembly.usage
        assembly.usage = Usage(
            seen.input_tokens, event.usage.output_tokens, seen.cache_read_tokens, seen.cache_write_tokens
        )


def _sorted(error: anthropic.APIStatusError) -> ModelFault | ModelRefused:
    # An error event inside a 200 stream carries status 200 and tells its kind only by type.
    if error.type in _TRANSIENT or error.status_code >= 500 or error.status_code in (408, 409, 429):
        return ModelFault(
            f"anthropic: {error.type or error.status_code}", retry_after_s(error.response.headers.get("retry-after"))
        )
    return ModelRefused(f"anthropic: {error.status_code} {error.type or ''}".strip())
