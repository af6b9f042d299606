"""The HTTP API that people's tools call: who owns a conversation, and what was said in it (SPEC §2)."""

from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field, model_validator

from agent.adapters import store
from agent.adapters.handoff_store import (
    HandoffDraft,
    announce_again,
    count_handoff,
    insert_handoff,
    load_open_handoff,
)
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import RunStore
from agent.adapters.sending import enqueue_replies
from agent.core.endings import begin_anew, waits_for_approval
from agent.core.facts import merge_ledger
from agent.core.ownership import AGENT, OwnerState, change_owner
from agent.core.packet import CUSTOMER_FIELDS, Case
from agent.core.state import ConversationState
from agent.settings import AgentSettings
from common import db
from common.clock import Clock
from common.events import HandoffOpened
from common.http import Problem
from common.statements import BadStatement, Verifier

Json = dict[str, Any]
AUDIENCE = "agent.service"
Authorization = Annotated[str | None, Header()]


class CustomerRecord(BaseModel):
    """What the tool gateway told approvals of the customer, under the statement of the person who steps in."""

    customer_id: str
    name: str | None = None
    tier: str | None = None
    lifetime_value: str | float | int | None = None
    open_tickets: list[Any] | None = None


class OwnerChange(BaseModel):
    """A person's move; ``expected_owner_version`` makes a stale one a 409, ``handoff_id`` one for a handoff that ended.

    ``succeeds`` is the owner whose lease the queue of handoffs says has run out. The queue knows leases and this
    service owners, so it holds only for the owner that was looked at: with ``expected_owner_version``.

    ``customer`` is for the packet of a takeover: whoever steps in unasked has nobody's session with them.
    """

    action: Literal["claim", "takeover", "return", "close"]
    staff: Annotated[str, Field(min_length=1, max_length=200)]
    expected_owner_version: int | None = None
    handoff_id: str | None = None
    customer: CustomerRecord | None = None
    succeeds: str | None = None

    @model_validator(mode="after")
    def _succeeds_whom_it_saw(self) -> Self:
        if self.succeeds is not None and (self.expected_owner_version is None or self.handoff_id is None):
            raise ValueError("succeeds needs expected_owner_version and handoff_id")
        return self


def owner_routes(
    pool: db.Database, runs: RunStore, verifier: Verifier, clock: Clock, settings: AgentSettings, *, ledger: Ledger
) -> APIRouter:
    """Return the routes; every one needs the bearer token of a service that may use it."""
    router = APIRouter()

    def let_in(authorization: str | None, *allowed: str) -> None:
        try:
            caller = verifier.service(authorization, clock.now(), AUDIENCE)
        except BadStatement as error:
            raise Problem(401, error.reason) from error
        if caller not in allowed:
            raise Problem(403, f"{caller} may not call this")

    @router.get("/v1/conversations/{conversation_id}")
    async def read_conversation(conversation_id: str, authorization: Authorization = None) -> Json:
        let_in(authorization, "approvals", "gateway", "reconciler")
        async with pool.acquire() as conn:
            found = await store.load_conversation(conn, conversation_id)
            if found is None:
                raise Problem(404, "there is no such conversation")
            transcript = await store.load_transcript(conn, conversation_id)
            handoff_id = await load_open_handoff(conn, conversation_id)
        memory = ConversationState.model_validate(found.run_state).memory
        return {
            "conversation_id": found.id,
            "customer_id": found.customer_id,
            "status": found.status,
            "channel": found.channel,
            "language": found.language,
            "thread_ref": found.thread_ref,
            "owner": found.owner,
            "owner_version": found.owner_version,
            "handoff_id": handoff_id,
            "usage": {"model_tokens": memory.tokens, "model_cost_usd": str(memory.cost_usd)},
            "transcript": transcript,
        }

    @router.post("/v1/conversations/{conversation_id}/owner")
    async def set_owner(conversation_id: str, change: OwnerChange, authorization: Authorization = None) -> Json:
        let_in(authorization, "approvals")
        rows = await ledger.load_rows_of(pool, conversation_id) if change.action != "claim" else None
        return await _set_owner(pool, conversation_id, change, clock, rows)

    @router.post("/v1/runs/release-expired")
    async def release_expired(authorization: Authorization = None) -> Json:
        let_in(authorization, "reconciler")
        return {"released": await runs.release_expired()}

    @router.get("/v1/limits")
    async def limits(authorization: Authorization = None) -> Json:
        let_in(authorization, "reconciler")
        return {"claim_ttl_s": settings.claim_ttl_s, "turn_budget_s": settings.turn_budget_s}

    return router


async def _set_owner(
    pool: db.Database, conversation_id: str, change: OwnerChange, clock: Clock, rows: list[Json] | None = None
) -> Json:
    """Move the owner; ``rows`` are the ledger's, read just before, None where they couldn't be had.

    They go into the packet, and say whether what is given back waits for an approval, also of a colleague's own deed.
    """

    async def work(conn: db.Connection) -> tuple[Json, HandoffOpened | None]:
        found = await store.load_conversation(conn, conversation_id, lock=True)
        if found is None:
            raise Problem(404, "there is no such conversation")
        expected = change.expected_owner_version
        if expected is not None and expected != found.owner_version:
            raise Problem(409, f"the owner has changed: version {found.owner_version}")
        open_handoff = await load_open_handoff(conn, conversation_id)
        over = change.handoff_id is not None and change.handoff_id != open_handoff
        state = ConversationState.model_validate(found.run_state)
        merge_ledger(rows or [], state.memory)
        before, waits = OwnerState(found.status, found.owner), waits_for_approval(state.memory)
        moved = change_owner(before, change.action, change.staff, succeeds=change.succeeds, over=over, waits=waits)
        if isinstance(moved, str):
            raise Problem(409, moved)
        if change.action == "takeover" and found.owner == AGENT:
            return await _step_in(conn, found, moved, clock, told=change.customer, rows=rows)
        if change.action == "takeover" and open_handoff is not None:
            # Whoever takes over must be able to give it back, also where the queue thinks that it is over.
            await announce_again(conn, open_handoff, clock.now())
        if moved == before:
            # A repeat, whose first answer was lost: the version stays, so that nothing said under it is dropped.
            return _answer(found.status, found.owner, found.owner_version, open_handoff), None
        now = await store.save_owner(conn, conversation_id, found.owner_version, moved.owner, moved.status)
        assert now is not None, "the row is locked by this transaction"
        if change.action in ("return", "close"):
            begin_anew(state.memory)
            await store.save_state(conn, conversation_id, state.model_dump(mode="json"))
            open_handoff = None
        return _answer(now.status, now.owner, now.owner_version, open_handoff), None

    answer, opened = await db.in_transaction(pool, work)
    if opened is not None:
        count_handoff(opened.reason)
    return answer


async def _step_in(
    conn: db.Connection,
    found: store.Conversation,
    moved: OwnerState,
    clock: Clock,
    *,
    told: CustomerRecord | None,
    rows: list[Json] | None,
) -> tuple[Json, HandoffOpened | None]:
    """A person takes over unasked: that is a handoff as well, with the same packet, and already theirs."""
    memory = ConversationState.model_validate(found.run_state).memory
    if told is not None and told.customer_id == found.customer_id:
        memory.customer = memory.customer or told.model_dump(include=set(CUSTOMER_FIELDS))
        await store.remember_customer(conn, found.id, memory.customer)
    merge_ledger(rows or [], memory)
    why = f"{moved.owner} stepped in"
    draft = HandoffDraft(
        conversation_id=found.id,
        seed=f"takeover:{found.owner_version}",
        case=Case("asked", why, found.language, "other", found.customer_id, rows_current=rows is not None),
        memory=memory,
        channel=found.channel,
        thread_ref=found.thread_ref,
        language=found.language,
        owner=moved.owner,
    )
    now = clock.now()
    opened = await insert_handoff(conn, draft, found.owner_version, now)
    assert opened is not None, "the row is locked by this transaction"
    await enqueue_replies(conn, (), now, handoff=opened)
    return _answer(moved.status, moved.owner, opened.owner_version, opened.handoff_id), opened


def _answer(status: str, owner: str, owner_version: int, handoff_id: str | None) -> Json:
    return {"status": status, "owner": owner, "owner_version": owner_version, "handoff_id": handoff_id}
