"""Approvals over HTTP: the ledger's waiting rows, and the decision that the toolgateway carries out."""

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, StringConstraints

from approvals.adapters import store
from approvals.adapters.neighbours import Ledger
from approvals.api.access import Access
from common import db
from common.http import Problem

Note = Annotated[str, StringConstraints(max_length=2_000, pattern=r"^[^\x00]*$")]
Status = Literal["pending", "awaiting_approval", "succeeded", "rejected", "failed"]


class Decision(BaseModel):
    """``approve`` or ``reject``, and why."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approve", "reject"]
    note: Note = ""


def decisions_router(access: Access, ledger: Ledger, pool: db.Database) -> APIRouter:
    """Build ``/v1/approvals``."""
    router = APIRouter(prefix="/v1/approvals", tags=["approvals"])

    @router.get("")
    async def list_approvals(
        request: Request, status: Annotated[Status, Query()] = "awaiting_approval"
    ) -> dict[str, Any]:
        await access.staff(request)
        items = await ledger.list(status)
        return {"items": await _with_requests(pool, items)}

    @router.get("/{key}")
    async def get_approval(request: Request, response: Response, key: str) -> dict[str, Any]:
        await access.staff(request)
        item = (await _with_requests(pool, [await ledger.get(_clean(key))]))[0]
        response.headers["ETag"] = f'"{item["version"]}"'
        return item

    @router.post("/{key}/decision")
    async def decide(
        request: Request,
        response: Response,
        key: str,
        body: Decision,
        if_match: Annotated[str | None, Header(alias="If-Match")] = None,
    ) -> dict[str, Any]:
        staff = await access.staff(request)
        if if_match is None:
            raise Problem(428, "say in If-Match which version of the row you decide")
        if not staff.may_decide:
            raise Problem(403, "a viewer decides nothing")
        decision = {"decision": body.decision, "note": body.note, "version": _version(if_match)}
        row = await ledger.decide(_clean(key), staff, decision)
        if isinstance(row.get("version"), int):
            response.headers["ETag"] = f'"{row["version"]}"'
        return row

    return router


def _version(if_match: str) -> int:
    found = re.fullmatch(r'(?:W/)?"?([0-9]{1,9})"?', if_match.strip())
    if not found:
        raise Problem(409, "If-Match names no version of this row; load it again")
    return int(found.group(1))


def _clean(key: str) -> str:
    if "\x00" in key or len(key) > 500:
        raise Problem(404, "no such row")
    return key


async def _with_requests(pool: db.Database, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add what the request said of the order and its deadline, where the row itself doesn't."""
    async with pool.acquire() as conn:
        known = await store.load_requests(conn, [item["key"] for item in items])
    for item in items:
        if request := known.get(item["key"]):
            item.setdefault("order", request["order_facts"])
            item.setdefault("digest", request["digest"])
            item.setdefault("queue", request["queue"])
            item.setdefault("expires_at", request["expires_at"].isoformat())
    return items
