"""The handoff queue over HTTP: claim, answer, act, give back, close; and stepping in unasked."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import asyncpg
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, StringConstraints

from approvals.adapters import store
from approvals.adapters.changes import tell
from approvals.adapters.neighbours import Conversations, Ledger
from approvals.api.access import Access
from approvals.core.handoffs import PRIORITY_ORDER, IllegalMove, Move
from approvals.core.staff import Staff
from common import db
from common.clock import Clock
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


@dataclass(frozen=True)
class Desk:
    """What the queue's routes need."""

    access: Access
    pool: db.Database
    conversations: Conversations
    ledger: Ledger
    clock: Clock
    lease_s: int

    async def move(self, handoff_id: str, move: Move, staff: str) -> tuple[asyncpg.Record, bool]:
        """Make one move in the queue; 404 and 409 come back as Problems."""

        known = _known(handoff_id)

        async def work(conn: db.Connection) -> tuple[asyncpg.Record, bool]:
            moved = await store.move_handoff(conn, known, move, staff, self.lease_s)
            await tell(conn, "handoffs")
            return moved

        try:
            return await db.in_transaction(self.pool, work)
        except store.UnknownHandoff as e:
            raise Problem(404, e.reason) from e
        except IllegalMove as e:
            raise Problem(409, e.reason) from e

    async def load(self, handoff_id: str) -> asyncpg.Record:
        """Return one handoff, or a 404 Problem."""
        async with self.pool.acquire() as conn:
            try:
                return await store.load_handoff(conn, _known(handoff_id))
            except store.UnknownHandoff as e:
                raise Problem(404, e.reason) from e


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
        return await _claim(desk, handoff_id, await _worker(desk, request))

    @router.post("/handoffs/{handoff_id}/reply")
    async def reply(request: Request, handoff_id: str, body: StaffReply) -> dict[str, Any]:
        staff = await _worker(desk, request)
        row, _ = await desk.move(handoff_id, "reply", staff)
        message_id = await _send_reply(desk, row, staff, body.text)
        return {"message_id": message_id, **store.handoff_item(await desk.load(handoff_id))}

    @router.post("/handoffs/{handoff_id}/return")
    async def give_back(request: Request, handoff_id: str, _: Nothing | None = None) -> dict[str, Any]:
        staff = await _worker(desk, request)
        row, _changed = await desk.move(handoff_id, "return", staff)
        await _tell_owner(desk, row, "return", staff)
        return store.handoff_item(await desk.load(handoff_id))

    @router.post("/handoffs/{handoff_id}/close")
    async def close(request: Request, handoff_id: str, _: Nothing | None = None) -> dict[str, Any]:
        staff = await _worker(desk, request)
        row, _changed = await desk.move(handoff_id, "close", staff)
        await _tell_owner(desk, row, "close", staff)
        return store.handoff_item(await desk.load(handoff_id))

    _add_actions(router, desk)
    return router


def _add_actions(router: APIRouter, desk: Desk) -> None:
    @router.post("/handoffs/{handoff_id}/actions")
    async def act(request: Request, handoff_id: str, body: StaffAction) -> dict[str, Any]:
        staff = await desk.access.staff(request)
        if not staff.may_decide:
            raise Problem(403, "a viewer acts on nothing")
        row, _ = await desk.move(handoff_id, "act", staff.staff)
        return await desk.ledger.act(body.tool, body.args, staff, dict(row))

    @router.post("/conversations/{conversation_id}/takeover")
    async def take_over(request: Request, conversation_id: str, _: Nothing | None = None) -> dict[str, Any]:
        person = await _person(desk, request)
        staff = person.staff
        conversation = await desk.conversations.get(conversation_id)
        async with desk.pool.acquire() as conn:
            already = await store.open_handoff_of(conn, conversation_id)
            if already is None:
                await store.plan_takeover(conn, conversation_id, staff)
        if already is not None:
            return await _claim(desk, already, staff)
        customer = await desk.ledger.customer(person, conversation)
        try:
            return await desk.conversations.change_owner(conversation_id, "takeover", staff, customer=customer)
        except Problem:
            async with desk.pool.acquire() as conn:
                await store.drop_takeover(conn, conversation_id)
            raise


async def _claim(desk: Desk, handoff_id: str, staff: str) -> dict[str, Any]:
    """Claim in the queue, then with the agent service; a claim it refuses goes back to the queue."""
    row, changed = await desk.move(handoff_id, "claim", staff)
    if changed:
        await _tell_owner(desk, row, "claim", staff, undo=True)
    return store.handoff_item(await desk.load(handoff_id))


def _known(handoff_id: str) -> str:
    """PostgreSQL can't even be asked for an id with U+0000 in it, so there is none of that name."""
    if "\x00" in handoff_id:
        raise Problem(404, "no such handoff")
    return handoff_id


async def _worker(desk: Desk, request: Request) -> str:
    return (await _person(desk, request)).staff


async def _person(desk: Desk, request: Request) -> Staff:
    staff = await desk.access.staff(request)
    if not staff.may_decide:
        raise Problem(403, "a viewer looks, and leaves conversations to others")
    return staff


async def _tell_owner(desk: Desk, row: asyncpg.Record, action: str, staff: str, *, undo: bool = False) -> None:
    try:
        owner = await desk.conversations.change_owner(row["conversation_id"], action, staff, row["id"])
    except Problem:
        if undo:
            async with desk.pool.acquire() as conn:
                await store.undo_claim(conn, row["id"], staff)
        raise
    async with desk.pool.acquire() as conn:
        await store.save_owner_version(conn, row["id"], int(owner["owner_version"]))


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
