"""The owners who finish what the reconciler finds: the toolgateway its rows, the agent service its runs."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from common.clock import Clock
from common.errors import OutcomeUnknown, Transient
from common.http import Reply, ServiceClient
from common.statements import JOB_AUDIENCE, ServiceCredentials, Signer
from reconciler.core.thresholds import Limits

_STATEMENT_S = 120


@dataclass(frozen=True)
class PendingRow:
    """A row that has been pending too long."""

    key: str
    kind: str
    order_id: str


@dataclass(frozen=True)
class Books:
    """What the toolgateway says of the books: whether a comparison has begun now, and what waits for a person."""

    begun: bool
    open_tasks: int
    last_strays: int | None


class Toolgateway:
    """Asks for pending rows and has each resumed under its own key."""

    def __init__(self, http: ServiceClient, credentials: ServiceCredentials, signer: Signer, clock: Clock) -> None:
        self._http, self._credentials, self._signer, self._clock = http, credentials, signer, clock

    async def limits(self) -> Limits:
        """Return how long a live worker may hold a row."""
        body = (await self._call("GET", "/v1/limits")).body
        return Limits(float(body["provider_timeout_s"]), int(body["tries"]), float(body["claim_ttl_s"]))

    async def pending(self, older_than_s: float, limit: int) -> list[PendingRow]:
        """Return the oldest rows pending longer than ``older_than_s``."""
        params = {"older_than_s": f"{older_than_s:g}", "limit": str(limit)}
        items = (await self._call("GET", "/v1/reconcile/pending", params=params)).body["items"]
        return [PendingRow(item["key"], item["kind"], item.get("order_id") or item["customer_id"]) for item in items]

    async def resume(self, row: PendingRow) -> str:
        """Have one row finished; returns its status now."""
        claims = {"order_id": row.order_id, "kind": row.kind}
        statement = self._signer.sign(JOB_AUDIENCE, claims, _STATEMENT_S, self._clock.now())
        reply = await self._call(
            "POST", f"/v1/actions/{quote(row.key, safe='')}/resume", headers={"X-Job-Assertion": statement}
        )
        return str(reply.body.get("status"))

    async def escalate_overdue(self) -> int:
        """Have approvals past their deadline put before the leads; returns how many were."""
        body = (await self._call("POST", "/v1/approvals/escalate-overdue")).body
        return int(body.get("escalated", 0))

    async def compare_books(self, not_within_s: float) -> Books:
        """Have ledger and provider compared unless that was done within these seconds, by whomever."""
        body = (await self._call("POST", "/v1/books/compare", json={"not_within_s": not_within_s})).body
        last = body["last"] or {}
        return Books(bool(body["begun"]), int(body["open_tasks"]), last.get("strays"))

    async def _call(self, method: str, path: str, **options: Any) -> Reply:
        return await _ask(self._http, self._credentials, self._clock, method, path, **options)


class Agent:
    """Asks the agent service to let go of runs whose worker is gone."""

    def __init__(self, http: ServiceClient, credentials: ServiceCredentials, clock: Clock) -> None:
        self._http, self._credentials, self._clock = http, credentials, clock

    async def claim_ttl_s(self) -> float:
        """Return how long a run's claim lives without renewal."""
        body = (await _ask(self._http, self._credentials, self._clock, "GET", "/v1/limits")).body
        return float(body["claim_ttl_s"])

    async def release_expired(self) -> int:
        """Release expired claims; returns how many."""
        body = (await _ask(self._http, self._credentials, self._clock, "POST", "/v1/runs/release-expired")).body
        return len(body["released"])


async def _ask(
    http: ServiceClient, credentials: ServiceCredentials, clock: Clock, method: str, path: str, **options: Any
) -> Reply:
    headers = {"Authorization": credentials.bearer(clock.now()), **options.pop("headers", {})}
    try:
        reply = await http.call(method, path, headers=headers, **options)
    except OutcomeUnknown as e:
        # Every call here is safe to repeat: the owner's claims and keys see to that.
        raise Transient(e.reason) from e
    if reply.status >= 400:
        raise Transient(f"{method} {path.split('?', maxsplit=1)[0]} answered {reply.status}")
    return reply
