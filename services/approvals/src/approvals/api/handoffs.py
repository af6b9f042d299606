"""The handoff queue over HTTP: claim, answer, act, give back, close; and stepping in unasked."""

from typing import Annotated, Any, Literal

import asyncpg
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, StringConstraints

from approvals.adapters import store
from approvals.api import owning
from approvals.api.desk import Desk
from approvals.core.handoffs import PRIORITY_ORDER
from approvals.core.staff import Staff
from common import db
from common.events import ReplyEvent
from common.http import Problem
from common.ids import new_id
from common.outbox import Outgoing, enqueue_all
from common.topics import REPLIES

_Text = Annotated[str, StringConstraints(min_length=1, max_length=8_000, pattern=r"^[^\x00]*$", strip_whitespace=True)]
_Tool = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,60}$")]
_Status = Literal["waiting", "claimed", "returned", "closed"]


class Nothing(BaseModel):
    """An empty body."""

    model_config = ConfigDict(extra="forbid")


class StaffReply(BaseModel):
    """What a person answers."""

    model_config = ConfigDict(extra="forbid")

    text: _Text


class StaffAction(BaseModel):
    """A tool and its arguments, as the model would give them; the same rules apply."""

    model_config = ConfigDict(extra="forbid")

    tool: _Tool
    args: dict[str, Any]


def handoffs_router(desk: Desk) -> APIRouter:
    """Build ``/v1/handoffs`` and ``/v1/conversations/{id}/takeover``."""
    router = APIRouter(prefix="/v1", tags=["handoffs"])

    @router.get("/handoffs")
    async def list_handoffs(request: Request, status: Annotated[_Status | None, Query()] = None) -> dict[str, Any]:
        await desk.access.staff(request)
        async with desk.pool.acquire() as conn:
            rows = await store.list_handoffs(conn, status)
        rows.sort(key=lambda row: (row["status"] != "waiting", PRIORITY_ORDER[row["priority"]], row["opened_at"]))
        return {"items": [store.handoff_item(row) for row in rows]}

    @router.get("/handoffs/{handoff_id}")
    async def get_handoff(request: Request, handoff_id: str) -> dict[str, Any]:
        await desk.access.staff(request)
        row = await desk.load(handoff_id)
        conversation = await desk.conversations.get(row["conversation_id"])
        return {**store.handoff_item(row), "transcript": conversation.get("transcript", [])}

    @router.post("/handoffs/{handoff_id}/claim")
    async def claim(request: Request, handoff_id: str, _: Nothing | None = None) -> dict[str, Any]:
        return await owning.claim(desk, handoff_id, await _worker(desk, request))

    @router.post("/handoffs/{handoff_id}/reply")
    async def reply(request: Request, handoff_id: str, body: StaffReply) -> dict[str, Any]:
        staff = await _worker(desk, request)
        row = (await desk.move(handoff_id, "reply", staff)).before
        message_id = await _send_reply(desk, row, staff, body.text)
        return {"message_id": message_id, **store.handoff_item(await desk.load(handoff_id))}

    @router.post("/handoffs/{handoff_id}/return")
    async def give_back(request: Request, handoff_id: str, _: Nothing | None = None) -> dict[str, Any]:
        return await owning.end(desk, handoff_id, "return", await _worker(desk, request))

    @router.post("/handoffs/{handoff_id}/close")
    async def close(request: Request, handoff_id: str, _: Nothing | None = None) -> dict[str, Any]:
        return await owning.end(desk, handoff_id, "close", await _worker(desk, request))

    _add_actions(router, desk)
    return router


def _add_actions(router: APIRouter, desk: Desk) -> None:
    @router.post("/handoffs/{handoff_id}/actions")
    async def act(request: Request, handoff_id: str, body: StaffAction) -> dict[str, Any]:
        staff = await desk.access.staff(request)
        if not staff.may_decide:
            raise Problem(403, "a viewer acts on nothing")
        row = (await desk.move(handoff_id, "act", staff.staff)).before
        return await desk.ledger.act(body.tool, body.args, staff, dict(row))

    @router.post("/conversations/{conversation_id}/takeover")
    async def take_over(request: Request, conversation_id: str, _: Nothing | None = None) -> dict[str, Any]:
        return await owning.take_over(desk, conversation_id, await _person(desk, request))


async def _worker(desk: Desk, request: Request) -> str:
    return (await _person(desk, request)).staff


async def _person(desk: Desk, request: Request) -> Staff:
    staff = await desk.access.staff(request)
    if not staff.may_decide:
        raise Problem(403, "a viewer looks, and leaves conversations to others")
    return staff


async def _send_reply(desk: Desk, row: asyncpg.Record, staff: str, text: str) -> str:
    """Write the reply's events in one transaction with its record: token, then done."""
    message_id, now = new_id("msg"), desk.clock.now()
    done = {
        "message_id": message_id,
        "route": "human",
        "handoff": True,
        "handoff_reason": row["reason"],
        "citations": [],
        "reply": text,
    }
    events: list[tuple[Literal["token", "done"], dict[str, Any]]] = [("token", {"text": text}), ("done", done)]

    async def work(conn: db.Connection) -> None:
        await store.save_reply(conn, message_id, row, staff, text)
        await enqueue_all(
            conn,
            [
                Outgoing(
                    REPLIES,
                    row["conversation_id"],
                    ReplyEvent(
                        conversation_id=row["conversation_id"],
                        message_id=message_id,
                        channel=row["channel"],
                        thread_ref=row["thread_ref"],
                        owner_version=row["owner_version"],
                        seq=seq,
                        event=event,
                        data=data,
                        writer="approvals",
                        proactive=True,
                        customer_id=row["customer_id"],
                    ),
                    occurred_at=now,
                )
                for seq, (event, data) in enumerate(events, start=1)
            ],
        )

    await db.in_transaction(desk.pool, work)
    return message_id
