"""The tool gateway over HTTP: tools in the customer's name, and the ledger rows of one conversation."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from agent.core.packet import CUSTOMER_FIELDS
from common.clock import Clock
from common.crash import crash_point
from common.errors import OutcomeUnknown, Refused, Transient
from common.http import Reply, ServiceClient
from common.statements import ServiceCredentials
from common.storable import storable

Json = dict[str, Any]
# A write keeps its key, so that asking again can't act twice; three tries ride out a restart of the gateway.
_TRIES = 3
_PAUSE_S = 0.3


class SessionOver(Refused):
    """The session statement isn't accepted any more."""


@dataclass(frozen=True)
class Toolgateway:
    """``call`` returns ``{"status","result"}`` as the tool API does.

    A try waits ``timeout_s`` at most, one that only looks something up for itself ``lookup_timeout_s``; and nothing is
    begun or waited for after ``until`` (monotonic seconds), retries and the pauses between them included.
    """

    client: ServiceClient
    credentials: ServiceCredentials
    clock: Clock
    timeout_s: float = 20.0
    lookup_timeout_s: float = 4.0
    until: float | None = None

    def within(self, left_s: float) -> "Toolgateway":
        """Return the same tool gateway for who has this many seconds left."""
        return replace(self, until=self.clock.monotonic() + left_s)

    def sooner(self, by_s: float) -> "Toolgateway":
        """Return the same tool gateway with so much less time: for a call that something else has to follow."""
        return self if self.until is None else replace(self, until=self.until - by_s)

    async def pause(self, pause_s: float) -> bool:
        """Wait before another try; False, and at once, where no time would be left for one."""
        if self.until is not None and self.clock.monotonic() + pause_s >= self.until:
            return False
        await asyncio.sleep(pause_s)
        return True

    async def call(self, name: str, args: Json, context: Json, assertion: str | None) -> Json:
        """Run one tool. Raises SessionOver on a refused session, Transient or OutcomeUnknown when no answer came."""
        body = {"args": args, "context": context}
        await crash_point("tool.before_call")
        reply = await self._patiently("POST", f"/v1/tools/{name}", self.timeout_s, json=body, assertion=assertion)
        await crash_point("tool.after_call")
        if reply.status == 401:
            raise SessionOver("the tool gateway refused the session")
        if reply.status == 422:
            return {"status": "invalid", "result": {"reason": "the call's body was refused"}}
        if reply.status != 200 or not isinstance(reply.body, dict) or "status" not in reply.body:
            raise Transient(f"tool {name} answered {reply.status}")
        return {"status": str(reply.body["status"]), "result": reply.body.get("result") or {}}

    async def look_up(self, name: str, args: Json, assertion: str) -> Json:
        """Run one read once, for the fixed flow: a failure there becomes an honest sentence, not a wait."""
        body = {"args": args, "context": {}}
        reply = await self._try("POST", f"/v1/tools/{name}", self.lookup_timeout_s, json=body, assertion=assertion)
        if reply.status == 401:
            raise SessionOver("the tool gateway refused the session")
        if reply.status != 200:
            raise Transient(f"tool {name} answered {reply.status}")
        return dict(reply.body)

    async def list_tools(self) -> list[Json]:
        """Return the tools the model sees: ``{"name","description","input_schema"}``."""
        reply = await self._patiently("GET", "/v1/tools", self.lookup_timeout_s)
        if reply.status != 200:
            raise Transient(f"the tool list answered {reply.status}")
        items: list[Json] = reply.body["tools"]
        return [{k: tool[k] for k in ("name", "description", "input_schema")} for tool in items]

    async def list_actions(self, conversation_id: str) -> list[Json]:
        """Return the ledger rows of a conversation, as the ledger has them now."""
        wanted = {"conversation_id": conversation_id}
        reply = await self._patiently("GET", "/v1/actions", self.lookup_timeout_s, params=wanted)
        if reply.status != 200 or not isinstance(reply.body, dict) or not isinstance(reply.body.get("items"), list):
            raise Transient(f"the ledger answered {reply.status}")
        return list(reply.body["items"])

    async def load_action(self, key: str) -> Json | None:
        """Return one ledger row, whichever conversation made it; None when there is no such row."""
        reply = await self._patiently("GET", f"/v1/actions/{quote(key, safe='')}", self.lookup_timeout_s)
        if reply.status == 404:
            return None
        if reply.status != 200 or not isinstance(reply.body, dict):
            raise Transient(f"the ledger answered {reply.status}")
        return dict(reply.body)

    async def load_customer(self, assertion: str) -> Json | None:
        """Return the session customer's name, tier, lifetime value and open tickets; None when they can't be had."""
        return await self._load_customer("/v1/customer", assertion)

    async def load_customer_of(self, key: str) -> Json | None:
        """Return the same of a ledger row's customer, whoever is signed in; None when they can't be had."""
        return await self._load_customer(f"/v1/actions/{quote(key, safe='')}/customer", None)

    async def _load_customer(self, path: str, assertion: str | None) -> Json | None:
        try:
            reply = await self._try("GET", path, self.lookup_timeout_s, assertion=assertion)
        except (Transient, OutcomeUnknown):
            return None
        if reply.status != 200 or not isinstance(reply.body, dict):
            return None
        return {field: reply.body.get(field) for field in CUSTOMER_FIELDS}

    async def _patiently(
        self,
        method: str,
        path: str,
        timeout_s: float,
        *,
        json: Json | None = None,
        assertion: str | None = None,
        params: dict[str, str] | None = None,
    ) -> Reply:
        failure: Transient | OutcomeUnknown | None = None
        for attempt in range(_TRIES):
            if attempt and not await self.pause(_PAUSE_S * 2 ** (attempt - 1)):
                break
            try:
                reply = await self._try(method, path, timeout_s, json=json, assertion=assertion, params=params)
            except (Transient, OutcomeUnknown) as error:
                # One lost answer makes the whole call unknown, however clearly the later tries failed (R3).
                failure = failure if isinstance(failure, OutcomeUnknown) else error
                continue
            if reply.status == 401 and isinstance(failure, OutcomeUnknown):
                # A session that ended meanwhile says nothing of the call whose answer was lost.
                break
            if reply.status < 500 and reply.status != 429:
                return reply
            if not isinstance(failure, OutcomeUnknown):
                failure = Transient(f"{path} answered {reply.status}")
        assert failure is not None
        raise failure

    async def _try(
        self,
        method: str,
        path: str,
        timeout_s: float,
        *,
        json: Json | None = None,
        assertion: str | None = None,
        params: dict[str, str] | None = None,
    ) -> Reply:
        if self.until is not None:
            left_s = self.until - self.clock.monotonic()
            if left_s <= 0:
                raise Transient(f"no time left for {path}")
            timeout_s = min(left_s, timeout_s)
        headers = self._headers(assertion)
        reply = await self.client.call(method, path, json=json, params=params, headers=headers, timeout_s=timeout_s)
        # A store's record may hold what no checkpoint of a run can.
        return replace(reply, body=storable(reply.body))

    def _headers(self, assertion: str | None) -> dict[str, str]:
        headers = {"Authorization": self.credentials.bearer(self.clock.now())}
        if assertion is not None:
            headers["X-Session-Assertion"] = assertion
        return headers
