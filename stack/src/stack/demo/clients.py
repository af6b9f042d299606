"""What the tour needs of the outside world: the chat, the staff desk, the store's systems and the ledger."""

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import asyncpg


@dataclass(frozen=True)
class Turn:
    """One answered message: its events in order, and the data of `done`."""

    events: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def done(self) -> dict[str, Any]:
        return next((data for name, data in self.events if name == "done"), {})

    @property
    def reply(self) -> str:
        return str(self.done.get("reply", ""))

    @property
    def actions(self) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == "action"]


@dataclass(frozen=True)
class Chat:
    """A customer at the chat window, signed in with `token`."""

    http: aiohttp.ClientSession
    gateway_url: str
    token: str

    async def open(self) -> str:
        async with self.http.post(f"{self.gateway_url}/v1/conversations", headers=self._headers()) as answer:
            answer.raise_for_status()
            return str((await answer.json())["conversation_id"])

    async def say(self, conversation_id: str, text: str) -> Turn:
        """Sends one message and reads its stream to `done`."""
        url = f"{self.gateway_url}/v1/conversations/{conversation_id}/messages"
        headers = self._headers() | {"Idempotency-Key": secrets.token_hex(8), "Accept": "text/event-stream"}
        async with self.http.post(url, json={"text": text}, headers=headers) as answer:
            answer.raise_for_status()
            return Turn(tuple([event async for event in _events(answer)]))

    async def transcript(self, conversation_id: str) -> list[dict[str, Any]]:
        """All messages of the conversation, also those that came unasked."""
        url = f"{self.gateway_url}/v1/conversations/{conversation_id}"
        async with self.http.get(url, headers=self._headers()) as answer:
            answer.raise_for_status()
            return list((await answer.json())["messages"])

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Server-sent events up to and including `done`."""
    name, data = "", ""
    async for raw in answer.content:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            name = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data += line.removeprefix("data:").strip()
        elif not line and name:
            yield name, json.loads(data or "{}")
            if name == "done":
                return
            name, data = "", ""


@dataclass(frozen=True)
class Desk:
    """A person of the staff at the approvals service."""

    http: aiohttp.ClientSession
    approvals_url: str
    token: str

    async def approve(self, key: str, note: str) -> int:
        """Approves the row as it stands now; returns the HTTP status."""
        url = f"{self.approvals_url}/v1/approvals/{quote(key, safe='')}"
        async with self.http.get(url, headers=self._headers()) as answer:
            answer.raise_for_status()
            version = answer.headers["ETag"]
        body = {"decision": "approve", "note": note}
        headers = self._headers() | {"If-Match": version}
        async with self.http.post(f"{url}/decision", json=body, headers=headers) as answer:
            return answer.status

    async def knows(self, key: str) -> bool:
        """True once the row has reached the desk."""
        async with self.http.get(
            f"{self.approvals_url}/v1/approvals/{quote(key, safe='')}", headers=self._headers()
        ) as answer:
            return answer.status == 200

    async def handoffs(self) -> list[dict[str, Any]]:
        async with self.http.get(f"{self.approvals_url}/v1/handoffs", headers=self._headers()) as answer:
            answer.raise_for_status()
            return list((await answer.json())["items"])

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True)
class Store:
    """The store's systems; what its payment provider lists is the truth about money."""

    http: aiohttp.ClientSession
    sandbox_url: str

    async def put(self, path: str, body: dict[str, Any]) -> None:
        async with self.http.put(f"{self.sandbox_url}/_sandbox/{path}", json=body) as answer:
            answer.raise_for_status()

    async def post(self, path: str, body: dict[str, Any]) -> None:
        async with self.http.post(f"{self.sandbox_url}/_sandbox/{path}", json=body) as answer:
            answer.raise_for_status()

    async def clear_faults(self) -> None:
        async with self.http.delete(f"{self.sandbox_url}/_sandbox/faults") as answer:
            answer.raise_for_status()

    async def refunds(self, order_id: str | None = None) -> list[dict[str, Any]]:
        """What really moved, of one order or of all."""
        return await self._list(f"refunds?order_id={order_id}" if order_id else "refunds")

    async def model_calls(self) -> int:
        return len(await self._list("model/calls"))

    async def _list(self, path: str) -> list[dict[str, Any]]:
        async with self.http.get(f"{self.sandbox_url}/_sandbox/{path}") as answer:
            answer.raise_for_status()
            return list(await answer.json())


@dataclass(frozen=True)
class Ledger:
    """The auditors' view of `ledger.actions`."""

    dsn: str

    async def rows(self) -> list[dict[str, Any]]:
        """Every row, oldest first."""
        connection = await asyncpg.connect(self.dsn)
        try:
            rows = await connection.fetch(
                "select key, kind, customer_id, order_id, line_id, amount, currency, status, verdict, policy_reason, "
                "approved_by, external_ref, attempts from ledger.actions order by created_at"
            )
        finally:
            await connection.close()
        return [dict(row) for row in rows]

    async def row(self, key: str) -> dict[str, Any] | None:
        return next((row for row in await self.rows() if row["key"] == key), None)
