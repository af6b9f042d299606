"""Token counts and the prompt cache, modelled closely enough that costs and cache hits mean something."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
# Shorter prefixes aren't cached by the real API (1,024 tokens on most models).
_MIN_CACHED_TOKENS = 1024
_LIFE_S = {"5m": 300.0, "1h": 3600.0}


def tokens(value: object) -> int:
    """Estimate tokens: four bytes each, the usual rule of thumb for European text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // 4))


@dataclass
class PromptCache:
    """Prefixes seen lately; forgotten on restart, as a cache may be."""

    _until: dict[str, float] = field(default_factory=dict)

    def account(self, body: Json, now_s: float) -> Json:
        """Return the input side of ``usage`` for a request and remember its marked prefixes."""
        marks = _prefixes(body)
        total = marks[-1].tokens if marks else 0
        marked = [mark for mark in marks if mark.ttl is not None and mark.tokens >= _MIN_CACHED_TOKENS]
        end = marked[-1].tokens if marked else 0
        read = max((m.tokens for m in marks if m.tokens <= end and self._until.get(m.digest, 0) > now_s), default=0)
        written = {"5m": 0, "1h": 0}
        reached = read
        for mark in marked:
            assert mark.ttl is not None, "only marked prefixes are in this list"
            self._until[mark.digest] = now_s + _LIFE_S[mark.ttl]
            written[mark.ttl] += max(0, mark.tokens - reached)
            reached = max(reached, mark.tokens)
        self._prune(now_s)
        return {
            "input_tokens": total - max(end, 0),
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": read,
            "cache_creation": {f"ephemeral_{ttl}_input_tokens": count for ttl, count in written.items()},
        }

    def _prune(self, now_s: float) -> None:
        if len(self._until) > 20_000:
            self._until = {digest: until for digest, until in self._until.items() if until > now_s}


@dataclass(frozen=True)
class _Prefix:
    digest: str
    tokens: int
    ttl: str | None


def _prefixes(body: Json) -> list[_Prefix]:
    """Return every block boundary in cache order (tools, system, messages), each with the hash of all before it."""
    running = hashlib.sha256(str(body.get("model")).encode("utf-8", "surrogatepass"))
    so_far = 0
    found: list[_Prefix] = []
    blocks = list(_parts(body))
    for index, block in enumerate(blocks):
        bare = {key: value for key, value in block.items() if key != "cache_control"}
        running.update(json.dumps(bare, sort_keys=True).encode())
        so_far += tokens(bare)
        last = index == len(blocks) - 1
        found.append(_Prefix(running.hexdigest(), so_far, _ttl(block) or (_ttl(body) if last else None)))
    return found


def _parts(body: Json) -> list[Json]:
    parts = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    parts += _as_blocks(body.get("system"))
    for message in body.get("messages") or []:
        if isinstance(message, dict):
            parts += [{"role": message.get("role"), **block} for block in _as_blocks(message.get("content"))]
    return parts


def _as_blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _ttl(block: Json) -> str | None:
    mark = block.get("cache_control")
    if not isinstance(mark, dict):
        return None
    return "1h" if mark.get("ttl") == "1h" else "5m"
