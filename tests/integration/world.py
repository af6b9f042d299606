"""The hands to drive the running product with: a store, customers, staff, the tool API, the books and the processes."""

import asyncio
import json
import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from common.statements import Signer, session_claims
from stack import tokens

CLEAN = {"guard": "clean", "intent_confidence": 0.95}


@dataclass(frozen=True)
class Turn:
    """One answered message: ``events`` are (id, name, data) in order."""

    message_id: str
    events: tuple[tuple[int, str, dict[str, Any]], ...]

    @property
    def done(self) -> dict[str, Any]:
        return next(data for _, name, data in self.events if name == "done")

    @property
    def actions(self) -> list[dict[str, Any]]:
        return [data for _, name, data in self.events if name == "action"]


@dataclass
class World:
    """Addresses of the running stack and one HTTP client."""

    stack: dict[str, str]
    http: aiohttp.ClientSession

    # ---- the store ------------------------------------------------------------------------------------------------
    async def sandbox(self, method: str, path: str, body: Any = None) -> Any:
        async with self.http.request(method, f"{self.stack['SANDBOX_URL']}/_sandbox/{path}", json=body) as answer:
            answer.raise_for_status()
            return await answer.json() if "json" in answer.content_type else None

    async def customer(self, **more: Any) -> str:
        """A new customer with nothing to their name."""
        customer = f"C-{secrets.token_hex(5)}"
        body = {"name": "Ada", "email": f"{customer.lower()}@customers.example", "tier": "standard",
                "lifetime_value": "100.00", "fraud_score": 0.1, "open_tickets": []}  # fmt: skip
        await self.sandbox("PUT", f"customers/{customer}", body | more)
        return customer

    async def order(self, customer: str, *paid: str, status: str = "delivered", **more: Any) -> str:
        """A new order of theirs; line n costs the n-th amount and is called `Blender`, unless there are several."""
        order_id, now = str(secrets.randbelow(10**9) + 10**9), datetime.now(UTC)
        lines = [
            {"line_id": f"L{n}", "title": "Blender" if len(paid) == 1 else f"Thing {n}", "quantity": 1, "paid": amount}
            for n, amount in enumerate(paid, start=1)
        ]
        body = {"customer_id": customer, "status": status, "currency": "USD", "note": "", "lines": lines,
                "placed_at": (now - timedelta(days=9)).isoformat(), "tracking_url": "https://t.example/1",
                "address": {"line1": "1 Elm", "city": "Portland", "postal_code": "97201", "country": "US"}}  # fmt: skip
        if status == "delivered":
            body["delivered_at"] = (now - timedelta(days=3)).isoformat()
        await self.sandbox("PUT", f"orders/{order_id}", body | more)
        return order_id

    async def refunds(self, order_id: str) -> list[tuple[str, str]]:
        """Line and amount of every refund that really moved money."""
        return [(r["line_id"], r["amount"]) for r in await self.sandbox("GET", f"refunds?order_id={order_id}")]

    async def script(self, text: str, *turns: dict[str, Any], **more: Any) -> None:
        """Whoever's conversation holds ``text`` gets exactly these model turns."""
        await self.sandbox("POST", "model/scripts", {"match": {"text_contains": text}, "turns": list(turns), **more})

    # ---- the customer ---------------------------------------------------------------------------------------------
    def token(self, customer: str) -> str:
        return tokens.customer_token(self.keys, customer, datetime.now(UTC))

    async def conversation(self, customer: str) -> str:
        url, headers = f"{self.stack['GATEWAY_URL']}/v1/conversations", self._bearer(customer)
        async with self.http.post(url, headers=headers, json={}) as answer:
            answer.raise_for_status()
            return str((await answer.json())["conversation_id"])

    def post(self, customer: str, conversation: str, text: str, key: str | None = None, **headers: str) -> Any:
        """The request itself, for tests that look at more than its events."""
        url = f"{self.stack['GATEWAY_URL']}/v1/conversations/{conversation}/messages"
        sent = self._bearer(customer) | {"Idempotency-Key": key or secrets.token_hex(8), "Accept": "text/event-stream"}
        return self.http.post(url, json={"text": text}, headers=sent | headers)

    async def say(self, customer: str, text: str, conversation: str | None = None, key: str | None = None) -> Turn:
        """Send a message and follow it to ``done``, resuming like any client when the stream breaks."""
        conversation = conversation or await self.conversation(customer)
        key = key or secrets.token_hex(8)
        message_id, seen = "", []
        async with asyncio.timeout(90):
            while not seen or seen[-1][1] != "done":
                try:
                    if not message_id:
                        async with self.post(customer, conversation, text, key, Accept="application/json") as answer:
                            answer.raise_for_status()
                            message_id = (await answer.json())["message_id"]
                    seen += await self.events(customer, conversation, message_id, after=seen[-1][0] if seen else 0)
                except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
                    await asyncio.sleep(0.2)
        return Turn(message_id, tuple(seen))

    async def events(
        self, customer: str, conversation: str, message_id: str, after: int = 0
    ) -> list[tuple[int, str, dict[str, Any]]]:
        """The message's events after ``after``, until its stream ends or breaks."""
        url = f"{self.stack['GATEWAY_URL']}/v1/conversations/{conversation}/messages/{message_id}/events"
        found: list[tuple[int, str, dict[str, Any]]] = []
        try:
            headers = self._bearer(customer) | {"Last-Event-ID": str(after)}
            async with self.http.get(url, headers=headers) as answer:
                answer.raise_for_status()
                found.extend([event async for event in read_events(answer)])
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
            await asyncio.sleep(0.2)
        return found

    async def transcript(self, customer: str, conversation: str) -> list[dict[str, Any]]:
        url = f"{self.stack['GATEWAY_URL']}/v1/conversations/{conversation}"
        async with self.http.get(url, headers=self._bearer(customer)) as answer:
            answer.raise_for_status()
            return list((await answer.json())["messages"])

    def _bearer(self, customer: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(customer)}"}

    # ---- the tool API ---------------------------------------------------------------------------------------------
    def assertion(self, customer: str, ttl_s: float = 600, signer: str = "gateway", *, stepped_up: bool = False) -> str:
        fields = ("login", "otp") if stepped_up else ("login",)
        claims = session_claims(
            customer_id=customer, conversation_id="conv_x", channel="chat", verified_by="login", verified_fields=fields
        )
        made = Signer.from_file("gateway", self.keys / f"{signer}.pem", "gateway-1")
        return made.sign("toolgateway.session", claims, ttl_s, datetime.now(UTC))

    async def tool(
        self, name: str, args: dict[str, Any], assertion: str | None, context: dict[str, Any] | None = None
    ) -> tuple[int, Any]:
        """Call a tool as the agent service does; returns status and body."""
        headers = {"Authorization": f"Bearer {tokens.service_token(self.keys, 'agent', datetime.now(UTC))}"}
        if assertion is not None:
            headers["X-Session-Assertion"] = assertion
        body = {"args": args, "context": CLEAN if context is None else context}
        url = f"{self.stack['TOOLGATEWAY_URL']}/v1/tools/{name}"
        async with self.http.post(url, json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    def start_tool(self, name: str, args: dict[str, Any], assertion: str) -> "asyncio.Task[Any]":
        """Call a tool whose caller expects to be cut off; awaiting the task never raises."""

        async def cut_off() -> Any:
            try:
                return await self.tool(name, args, assertion)
            except aiohttp.ClientError as e:
                return e

        return asyncio.create_task(cut_off())

    async def refund(self, customer: str, order_id: str, line_id: str, amount: str) -> Any:
        args = {"order_id": order_id, "line_id": line_id, "amount": amount, "reason": "damaged"}
        status, body = await self.tool("issue_refund", args, self.assertion(customer))
        assert status == 200, body
        return body

    # ---- the staff ------------------------------------------------------------------------------------------------
    async def staff(self, method: str, path: str, body: Any = None, staff: str = "dana", role: str = "approver",
                    **headers: str) -> tuple[int, Any]:  # fmt: skip
        token = tokens.staff_token(self.keys, staff, role, datetime.now(UTC))
        url = f"{self.stack['APPROVALS_URL']}{path}"
        sent = {"Authorization": f"Bearer {token}"} | headers
        async with self.http.request(method, url, json=body, headers=sent) as answer:
            return answer.status, await answer.json(content_type=None)

    # ---- the books and the processes ------------------------------------------------------------------------------
    async def sql(self, query: str, *arguments: Any) -> list[dict[str, Any]]:
        connection = await asyncpg.connect(self.stack["DATABASE_URL"])
        try:
            return [dict(row) for row in await connection.fetch(query, *arguments)]
        finally:
            await connection.close()

    async def row(self, key: str) -> dict[str, Any] | None:
        rows = await self.sql("select * from ledger.actions where key = $1", key)
        return rows[0] if rows else None

    def kill(self, process: str) -> int:
        """kill -9; returns the process id that is gone."""
        pid = int((Path(self.stack["PIDS_DIR"]) / f"{process}.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        return pid

    @property
    def keys(self) -> Path:
        return Path(self.stack["KEYS_DIR"])


async def read_events(answer: aiohttp.ClientResponse) -> AsyncIterator[tuple[int, str, dict[str, Any]]]:
    """Server-sent events up to and including ``done``."""
    number, name, data = 0, "", ""
    async for raw in answer.content:
        line = raw.decode().rstrip("\r\n")
        label, _, value = line.partition(": ")
        if label == "id":
            number = int(value)
        elif label == "event":
            name = value
        elif label == "data":
            data += value
        elif not line and name:
            yield number, name, json.loads(data)
            if name == "done":
                return
            name, data = "", ""


async def until(condition: Callable[[], Awaitable[Any]], what: str, seconds: float = 60) -> Any:
    """Wait for something to become true; returns what it became."""
    async with asyncio.timeout(seconds):
        while not (found := await condition()):  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.1)
    assert found, what
    return found
