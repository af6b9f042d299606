"""Any OpenAI-compatible server through the official SDK, streamed, translated from and to the shared block form."""

import json
from typing import Any

import openai

from common.models.assembly import Assembly
from common.models.errors import ModelFault, ModelRefused
from common.models.hearing import Hearer
from common.models.retry_after import retry_after_s
from common.models.turns import Json, ModelRequest, ModelTurn, Size, Usage

_STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


class OpenAIProvider:
    """The second provider; its own retries are off for the same reason as the first one's."""

    name = "openai"

    def __init__(
        self, api_key: str, models: dict[Size, str], base_url: str | None = None, timeout_s: float = 30.0
    ) -> None:
        self._client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=timeout_s,
            http_client=openai.DefaultAioHttpClient(),
        )
        self._models = models

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
            stream = await self._client.chat.completions.create(**self._wire(request), stream=True)
            async with stream:
                async for chunk in stream:
                    _take(assembly, chunk)
        except openai.APIStatusError as error:
            if error.status_code >= 500 or error.status_code in (200, 408, 409, 429):
                raise ModelFault(
                    f"openai: {error.status_code}", retry_after_s(error.response.headers.get("retry-after"))
                ) from error
            raise ModelRefused(f"openai: {error.status_code}") from error
        except (openai.APIError, ValueError, OSError) as error:
            raise ModelFault(f"openai: {type(error).__name__}") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in {"httpx", "httpx2", "aiohttp", "httpcore"}:
                raise
            raise ModelFault(f"openai: {type(error).__name__}") from error

    def _wire(self, request: ModelRequest) -> dict[str, Any]:
        messages = [{"role": "system", "content": text} for text in (request.system, request.context) if text]
        for message in request.messages:
            messages.extend(_translated(message))
        body: dict[str, Any] = {
            "model": self._models[request.size],
            "max_completion_tokens": request.max_tokens,
            "messages": messages,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [_function(tool) for tool in request.tools]
            body["tool_choice"] = "auto" if request.tools_allowed else "none"
        return body


def _function(tool: Json) -> Json:
    return {
        "type": "function",
        "function": {
            "name": tool["name"],
            "description": tool.get("description", ""),
            "parameters": tool["input_schema"],
        },
    }


def _translated(message: Json) -> list[Json]:
    """One message of content blocks becomes one or more chat messages: tool results are messages of their own here."""
    content = message["content"]
    if isinstance(content, str):
        return [{"role": message["role"], "content": content}]
    texts = "\n".join(block["text"] for block in content if block["type"] == "text")
    if message["role"] == "assistant":
        calls = [
            {"id": b["id"], "type": "function", "function": {"name": b["name"], "arguments": json.dumps(b["input"])}}
            for b in content
            if b["type"] == "tool_use"
        ]
        return [{"role": "assistant", "content": texts or None, **({"tool_calls": calls} if calls else {})}]
    results: list[Json] = [
        {"role": "tool", "tool_call_id": b["tool_use_id"], "content": _result_text(b["content"])}
        for b in content
        if b["type"] == "tool_result"
    ]
    return results + ([{"role": "user", "content": texts}] if texts else [])


def _result_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _take(assembly: Assembly, chunk: Any) -> None:
    if chunk.usage is not None:
        details = chunk.usage.prompt_tokens_details
        cached = (details.cached_tokens or 0) if details is not None else 0
        assembly.usage = Usage(chunk.usage.prompt_tokens - cached, chunk.usage.completion_tokens, cached)
    for choice in chunk.choices[:1]:
        if choice.delta.content:
            assembly.add_text(choice.delta.content)
        for piece in choice.delta.tool_calls or []:
            function = piece.function
            assembly.name_call(piece.index, piece.id, function.name if function else None)
            assembly.add_input(piece.index, (function.arguments if function else None) or "")
        if choice.finish_reason:
            assembly.stop_reason = _STOP.get(choice.finish_reason, "end_turn")
            assembly.close_all()
