"""Whom approvals asks: the toolgateway about ledger rows, the agent service about who owns a conversation."""

from typing import Any
from urllib.parse import quote

from approvals.core.handoffs import Standing
from approvals.core.staff import Staff
from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.http import Problem, Reply, ServiceClient
from common.statements import STAFF_AUDIENCE, ServiceCredentials, Signer

# A statement serves one call; it need not outlive the slowest payment.
_STATEMENT_S = 120
# Nobody's takeover waits longer for the store's account system; the packet then says what it lacks.
_CUSTOMER_S = 1.5
_CUSTOMER_FIELDS = ("name", "tier", "lifetime_value", "open_tickets")
_SOON = {"Retry-After": "2"}


class Ledger:
    """The toolgateway's approvals and staff tools; refusals come back as its own problem documents."""

    def __init__(self, http: ServiceClient, credentials: ServiceCredentials, signer: Signer, clock: Clock) -> None:
        self._http, self._credentials, self._signer, self._clock = http, credentials, signer, clock

    async def list(self, status: str) -> list[dict[str, Any]]:
        """Return the rows of ``status``: the ledger's columns and ``version``."""
        reply = await self._call("GET", "/v1/approvals", params={"status": status})
        items: list[dict[str, Any]] = reply.body["items"]
        return items

    async def get(self, key: str) -> dict[str, Any]:
        """Return one row, or raise a 404 Problem."""
        reply = await self._call("GET", f"/v1/approvals/{quote(key, safe='')}")
        body: dict[str, Any] = reply.body
        return body

    async def decide(self, key: str, staff: Staff, body: dict[str, Any]) -> dict[str, Any]:
        """Carry a decision over; 403, 404 and 409 come back as Problems."""
        statement = self._statement(staff)
        path = f"/v1/approvals/{quote(key, safe='')}/decision"
        reply = await self._call("POST", path, json=body, headers={"X-Staff-Assertion": statement})
        result: dict[str, Any] = reply.body
        return result

    async def act(self, tool: str, args: dict[str, Any], staff: Staff, handoff: dict[str, Any]) -> dict[str, Any]:
        """Run a staff tool under the staff member's own identity, for the handoff's customer."""
        statement = self._statement(staff, handoff)
        body = {"args": args, "context": {"guard": "clean", "intent_confidence": 1.0}}
        path = f"/v1/tools/{quote(tool, safe='')}"
        reply = await self._call("POST", path, json=body, headers={"X-Staff-Assertion": statement}, timeout_s=30)
        result: dict[str, Any] = reply.body
        return result

    async def customer(self, staff: Staff, conversation: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the store knows of a conversation's customer, for a packet; None when it can't be had soon."""
        if conversation.get("customer_id") is None:
            return None
        about = {"customer_id": conversation["customer_id"], "conversation_id": conversation["conversation_id"]}
        headers = {"X-Staff-Assertion": self._statement(staff, about)}
        try:
            reply = await self._call("GET", "/v1/customer", headers=headers, timeout_s=_CUSTOMER_S)
        except Problem:
            return None
        body: dict[str, Any] = reply.body
        return {name: body.get(name) for name in _CUSTOMER_FIELDS} | {"customer_id": conversation["customer_id"]}

    def _statement(self, staff: Staff, handoff: dict[str, Any] | None = None) -> str:
        about = handoff or {}
        claims = {
            "staff": staff.staff,
            "role": staff.role,
            "ceiling": None if staff.ceiling is None else str(staff.ceiling),
            "customer_id": about.get("customer_id"),
            "handoff_id": about.get("id"),
            "conversation_id": about.get("conversation_id"),
        }
        return self._signer.sign(STAFF_AUDIENCE, claims, _STATEMENT_S, self._clock.now())

    async def _call(self, method: str, path: str, **options: Any) -> Reply:
        return await _ask(self._http, self._credentials, self._clock, method, path, **options)


class Conversations:
    """The agent service: the one writer of a conversation's owner."""

    def __init__(self, http: ServiceClient, credentials: ServiceCredentials, clock: Clock) -> None:
        self._http, self._credentials, self._clock = http, credentials, clock

    async def get(self, conversation_id: str) -> dict[str, Any]:
        """Return status, owner, owner version, open handoff and transcript, or raise a 404 Problem."""
        reply = await self._call("GET", f"/v1/conversations/{quote(conversation_id, safe='')}")
        body: dict[str, Any] = reply.body
        return body

    async def load_standing(self, conversation_id: str) -> Standing:
        """Return who owns the conversation now, and for which handoff; raises a 404 Problem."""
        return standing_of(await self.get(conversation_id))

    async def change_owner(
        self, conversation_id: str, action: str, staff: str, seen: Standing, succeeds: str | None
    ) -> Standing:
        """Claim, return or close; a 409 Problem unless everything still is as it was ``seen``.

        ``succeeds`` is who is owner there and holds no lease here.
        """
        body = {"handoff_id": seen.handoff_id, "expected_owner_version": seen.owner_version, "succeeds": succeeds}
        return await self._move(conversation_id, action, staff, body)

    async def take_over(self, conversation_id: str, staff: str, customer: dict[str, Any] | None) -> Standing:
        """Step in unasked; the answer names the handoff that is theirs from now on.

        ``customer`` is what the packet of a takeover says of them.
        """
        return await self._move(conversation_id, "takeover", staff, {"customer": customer})

    async def _move(self, conversation_id: str, action: str, staff: str, more: dict[str, Any]) -> Standing:
        body = {"action": action, "staff": staff, **more}
        reply = await self._call("POST", f"/v1/conversations/{quote(conversation_id, safe='')}/owner", json=body)
        return standing_of(reply.body)

    async def _call(self, method: str, path: str, **options: Any) -> Reply:
        return await _ask(self._http, self._credentials, self._clock, method, path, **options)


def standing_of(body: dict[str, Any]) -> Standing:
    """Read who owns a conversation from any answer of the agent service about it."""
    return Standing(body["status"], body["owner"], int(body["owner_version"]), body["handoff_id"])


async def _ask(
    http: ServiceClient, credentials: ServiceCredentials, clock: Clock, method: str, path: str, **options: Any
) -> Reply:
    headers = {"Authorization": credentials.bearer(clock.now()), **options.pop("headers", {})}
    try:
        reply = await http.call(method, path, headers=headers, **options)
    except Transient as e:
        raise Problem(503, "the service behind this is not reachable; nothing was done", headers=_SOON) from e
    except OutcomeUnknown as e:
        raise Problem(504, "no answer came in time; look at the row before you try again", headers=_SOON) from e
    if reply.status >= 500:
        raise Problem(502, "the service behind this failed", headers=_SOON)
    if reply.status >= 400:
        said = reply.body if isinstance(reply.body, dict) else {}
        raise Problem(reply.status, str(said.get("detail") or "refused"), title=said.get("title"))
    return reply
