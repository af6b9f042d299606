"""A guard behind HTTP: another team's service, or the sandbox's with its faults. No answer in time means "down"."""

from typing import Any

from common.errors import Verdict
from common.guard.verdict import CLEAN, GuardVerdict, Where, down
from common.http import ServiceClient


class HttpGuard:
    """POSTs {"text", "where"} to `url`; expects {"verdict": "clean|flagged", "reasons": […]} within `timeout_s`."""

    def __init__(self, url: str, timeout_s: float = 0.5) -> None:
        self._client = ServiceClient(url, timeout_s=timeout_s)

    async def check(self, text: str, where: Where) -> GuardVerdict:
        try:
            reply = await self._client.call("POST", "", json={"text": text, "where": where})
        except Verdict as failure:
            return down(type(failure).__name__)
        return down(f"status_{reply.status}") if reply.status != 200 else read_verdict(reply.body)

    async def close(self) -> None:
        await self._client.close()


def read_verdict(body: Any) -> GuardVerdict:
    """Believe an answer only in exactly the agreed shape; everything else is "down", never "clean"."""
    match body:
        case {"verdict": "clean"}:
            return CLEAN
        case {"verdict": "flagged", **rest}:
            given = rest.get("reasons")
            reasons = tuple(str(r) for r in given) if isinstance(given, list) else ()
            return GuardVerdict("flagged", reasons or ("remote",))
        case _:
            return down("unreadable_answer")
