"""Durable runs: claimed with the database's clock, fenced by a version that every later write names (R7)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg

from agent.adapters.handoff_store import HandoffDraft, add_to_packet, insert_handoff
from agent.adapters.sending import enqueue_replies, outgoing_replies
from agent.adapters.store import save_state, save_words
from agent.core.endings import begin_over, belongs_to_people, keep_spending
from agent.core.facts import keep_newest
from agent.core.replies import Address, cut_short
from agent.core.state import ConversationState
from common import db
from common.crash import crash_point
from common.errors import Refused
from common.events import ReplyEvent, WorkItem
from common.outbox import outbox_values, queued_after

Json = dict[str, Any]

# One run of a conversation at a time: one that was begun goes before all others, so that nobody writes over its
# checkpoint, then the lowest message number. Messages reach the three deployments by different topics, so a predecessor
# that hasn't arrived yet is waited for: longer than a killed deployment needs to come back (Kafka's 6 s and a start),
# but only so long, since it may never come. Should it come after all, it waits for the one that went ahead. Two claims
# that can't see each other are kept apart by runs_one_at_work.
_CLAIM = """
with next as (
    select r.message_id from runs r
    where r.route = any($1::text[])
      and (r.status = 'queued' or (r.status = 'running' and r.claim_expires_at < clock_timestamp()))
      and not exists (
          select 1 from runs o
          where o.conversation_id = r.conversation_id and o.message_id <> r.message_id and o.status <> 'done'
            and (o.status <> 'running', o.attempts = 0, o.seq, o.message_id)
                < (r.status <> 'running', r.attempts = 0, r.seq, r.message_id))
      and (r.attempts > 0 or r.seq = 1 or r.created_at < clock_timestamp() - interval '15 seconds'
           or exists (select 1 from runs p where p.conversation_id = r.conversation_id and p.seq = r.seq - 1))
    order by r.urgency, r.created_at
    limit $4
    for update of r skip locked
)
update runs r
set status = 'running', claimed_by = $2, claim_expires_at = clock_timestamp() + make_interval(secs => $3),
    version = r.version + 1, attempts = r.attempts + 1
from next, conversations c
where r.message_id = next.message_id and c.id = r.conversation_id
returning r.message_id, r.conversation_id, r.version, r.attempts, r.work, r.trace,
          c.run_state, c.owner, c.owner_version, c.language
"""
_RENEW = """
update runs r set claim_expires_at = clock_timestamp() + make_interval(secs => $3)
from unnest($1::text[], $2::bigint[]) as held(message_id, version)
where r.message_id = held.message_id and r.version = held.version and r.status = 'running'
  and r.claim_expires_at > clock_timestamp()
returning r.message_id
"""
_HAND_BACK = """
update runs r set status = 'queued', claimed_by = null, claim_expires_at = null, version = r.version + 1
from unnest($1::text[], $2::bigint[]) as held(message_id, version)
where r.message_id = held.message_id and r.version = held.version and r.status = 'running'
"""
_RELEASE_EXPIRED = """
update runs set status = 'queued', claimed_by = null, claim_expires_at = null, version = version + 1
where status = 'running' and claim_expires_at < clock_timestamp()
returning message_id
"""
# The run's row is locked first and the conversation second, here and everywhere. Nothing at all is written for a
# conversation that a person has taken: what it remembers may be theirs by now (they gave it back, or closed it).
_SAVE = """
with held as (
    select conversation_id from runs where message_id = $1 and version = $2 and status = 'running' for update
), saved as (
    update conversations c set run_state = $3::text::jsonb, version = c.version + 1, updated_at = now()
    from held where c.id = held.conversation_id and c.owner = 'agent' and c.owner_version = $4
    returning c.id
)"""
_CHECKPOINT = f"{_SAVE} select (select count(*) from saved) as ours from held"  # noqa: S608 - our own constant
_CHECKPOINT_AND_SAY = f"""{_SAVE}, {queued_after("saved", 5, skip_known=True)}
select (select count(*) from saved) as ours, (select count(*) from woken) from held
"""  # noqa: S608 - our own constants
_FINISH_RUN = """
update runs set status = 'done', claimed_by = null, claim_expires_at = null, work = null, outcome = $3,
       prompt_version = $4, model_tokens = $5, model_cost_usd = $6, finished_at = clock_timestamp()
where message_id = $1 and version = $2 and status = 'running' returning conversation_id
"""
# Run, conversation, transcript, events and the look for the next message in one round trip. No row back means that
# the run is somebody else's, a row without ours that the conversation is; then nothing has changed.
_FINISH = f"""
with held as (
    select conversation_id from runs where message_id = $1 and version = $2 and status = 'running' for update
), spoken as (
    update conversations c
    set run_state = coalesce($6::text::jsonb, c.run_state),
        status = case when $7::boolean is null or c.status not in ('active', 'waiting_approval') then c.status
                      when $7 then 'waiting_approval' else 'active' end,
        version = c.version + 1, updated_at = now()
    from held where c.id = held.conversation_id and c.owner_version = $5
    returning c.id
), ended as (
    update runs r set status = 'done', claimed_by = null, claim_expires_at = null, work = null, outcome = $3,
           prompt_version = $4, model_tokens = $9, model_cost_usd = $10, finished_at = clock_timestamp()
    from spoken where r.message_id = $1
    returning r.conversation_id
), said as (
    insert into messages (conversation_id, message_id, sender, text)
    select id, $1, 'agent', $8 from spoken where $8 <> '' on conflict (message_id, sender) do nothing
), {queued_after("spoken", 11, skip_known=True)}
select (select count(*) from ended) as ours, (select count(*) from woken),
       (select r.route from runs r where r.conversation_id = held.conversation_id and r.status <> 'done'
           and r.message_id <> $1 order by r.seq limit 1) as followed_by
from held
"""  # noqa: S608 - our own constants
_HOLD = "select message_id from runs where message_id = $1 and version = $2 and status = 'running' for update"
_STANDING = "select owner, owner_version, status, run_state from conversations where id = $1 for update"
# Still one that was begun, so that no later message goes ahead of it; what failed before the person came is forgiven.
_BEGIN_OVER = """
update runs set status = 'queued', claimed_by = null, claim_expires_at = null, version = version + 1, attempts = 1
where message_id = $1
"""
_FOLLOWED_BY = "select route from runs where conversation_id = $1 and status <> 'done' order by seq limit 1"


class LostClaim(Refused):
    """Another worker holds this run now: nothing of ours may be written or said any more."""


class TakenOver(Refused):
    """A person took the conversation while we worked: what was to be said is dropped (R14)."""

    def __init__(self) -> None:
        super().__init__("a person owns the conversation")


@dataclass(slots=True)
class ClaimedRun:
    """A run this worker holds. ``version`` is the fencing number, ``owner_version`` the one our words carry.

    ``trace`` holds the headers it was stored under. Once it has ended ``followed_by`` is the route of the
    conversation's next message, if one waits. ``rows_read_at`` is the monotonic time at which the remembered rows were
    the ledger's own, None since the run waited for a model or a tool. ``unsaved_lost`` are the writes whose answer was
    lost when a person had the conversation already (core/unheard.py): what was lost before, they know of.
    """

    message_id: str
    conversation_id: str
    version: int
    attempts: int
    work: WorkItem
    state: ConversationState
    owner: str
    owner_version: int
    followed_by: str | None = None
    trace: dict[str, str] = field(default_factory=dict)
    rows_read_at: float | None = None
    unsaved_lost: list[Json] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        """Whether it may be played from its checkpoint: the agent's, and no person was here since that was saved."""
        return self.owner == "agent" and self.state.run_for(self.message_id).owner_version in (None, self.owner_version)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends: what is said, in the transcript and as events, and how the conversation stands after.

    ``waiting_approval`` is None where the ledger wasn't asked: whatever waited before waits on.
    """

    outcome: str
    events: Sequence[ReplyEvent]
    said: str
    prompt_version: str | None = None
    waiting_approval: bool | None = None
    state: ConversationState | None = None


class RunStore:
    """Claims, checkpoints and endings; every method is one statement or one transaction.

    ``for_claims`` is a connection that claims are kept over, so that renewing waits behind nobody's saves.
    """

    def __init__(self, pool: db.Database, for_claims: "db.Database | None" = None) -> None:
        self._pool, self._for_claims = pool, for_claims or pool

    async def claim(self, routes: Sequence[str], worker: str, ttl_s: float, limit: int) -> list[ClaimedRun]:
        """Claim up to ``limit`` runs that may start now, live channels and the oldest first."""
        try:
            rows = await self._pool.fetch(_CLAIM, list(routes), worker, ttl_s, limit)
        except asyncpg.UniqueViolationError:
            # At this very moment another worker began another message of one of these conversations.
            return []
        if rows:
            await crash_point("run.after_claim")
        return [
            ClaimedRun(
                row["message_id"],
                row["conversation_id"],
                row["version"],
                row["attempts"],
                WorkItem.model_validate(row["work"]),
                ConversationState.model_validate(row["run_state"]),
                row["owner"],
                row["owner_version"],
                trace=row["trace"] or {},
            )
            for row in rows
        ]

    async def renew(self, held: Sequence[ClaimedRun], ttl_s: float) -> set[str]:
        """Push the expiry of claims that still hold; returns their message ids, the others are lost."""
        rows = await self._for_claims.fetch(_RENEW, [r.message_id for r in held], [r.version for r in held], ttl_s)
        return {row["message_id"] for row in rows}

    async def hand_back(self, held: Sequence[ClaimedRun]) -> None:
        """Give up claims at once, so that another worker goes on without waiting for their expiry."""
        await self._pool.execute(_HAND_BACK, [r.message_id for r in held], [r.version for r in held])

    async def release_expired(self) -> list[str]:
        """Queue runs again whose worker is gone; any replica may call it at any time."""
        return [row["message_id"] for row in await self._pool.fetch(_RELEASE_EXPIRED)]

    async def checkpoint(self, run: ClaimedRun, events: Sequence[ReplyEvent] = (), now: datetime | None = None) -> None:
        """Save the state and send ``events`` with it. Raises LostClaim, or TakenOver when a person owns it now."""
        await crash_point("run.before_checkpoint")
        run.state.run_for(run.message_id).owner_version = run.owner_version
        saved = run.message_id, run.version, run.state.model_dump_json(), run.owner_version
        if events:
            assert now is not None
            said = outbox_values(outgoing_replies(events, now))
            row = await db.past_conflicts(lambda: self._pool.fetchrow(_CHECKPOINT_AND_SAY, *saved, *said))
        else:
            row = await self._pool.fetchrow(_CHECKPOINT, *saved)
        _require_ours(row)
        await crash_point("run.after_checkpoint")

    async def finish(self, run: ClaimedRun, ending: Ending, now: datetime) -> None:
        """End the run and say what it says, in one statement. Raises LostClaim or TakenOver; then nothing is said."""
        await crash_point("run.before_finish")
        values = (
            run.message_id,
            run.version,
            ending.outcome,
            ending.prompt_version,
            run.owner_version,
            ending.state.model_dump_json() if ending.state is not None else None,
            ending.waiting_approval,
            ending.said,
            *_spent(run),
            *outbox_values(outgoing_replies(ending.events, now)),
        )
        row = await db.past_conflicts(lambda: self._pool.fetchrow(_FINISH, *values))
        run.followed_by = _require_ours(row)["followed_by"]
        await crash_point("run.after_finish")

    async def leave(self, run: ClaimedRun, now: datetime) -> bool:
        """Give up a run whose conversation a person took; True says that it is the agent's again and the run queued.

        What had been said before they came stays said, what had been done is shown, known to the conversation and,
        while they have it, in their packet. A message that is theirs ends without new words; one that they gave back is
        begun anew, since its old thread knows nothing of them.
        """
        progress = run.state.run_for(run.message_id)
        moved = [row for key in progress.moved_keys if (row := run.state.memory.actions.get(key)) is not None]

        async def work(conn: db.Connection) -> bool:
            if await conn.fetchval(_HOLD, run.message_id, run.version) is None:
                raise LostClaim("the run is somebody else's")
            row = await conn.fetchrow(_STANDING, run.conversation_id)
            assert row is not None, "a run has its conversation"
            theirs = belongs_to_people(row["owner"], row["status"])
            saved = ConversationState.model_validate(row["run_state"])
            rows = keep_newest(moved, saved.memory)
            still_lost = [fact for fact in run.unsaved_lost if fact in run.state.memory.unheard]
            lost = [fact for fact in still_lost if fact not in saved.memory.unheard]
            saved.memory.unheard += lost
            address = Address.of(run.work.message, row["owner_version"])
            if theirs:
                await self._end_run(conn, run, "with_person", progress.prompt_version)
                events = cut_short(address, progress.next_seq, progress.untold, progress.said)
                if progress.said:
                    await save_words(conn, run.conversation_id, run.message_id, "agent", " ".join(progress.said))
            else:
                await conn.execute(_BEGIN_OVER, run.message_id)
                saved.run = begin_over(progress)
                events = address.actions(progress.next_seq, progress.untold)
            if keep_spending(saved.memory, run.state.memory) or moved or lost or not theirs:
                await save_state(conn, run.conversation_id, saved.model_dump(mode="json"))
            await enqueue_replies(conn, events, now)
            if theirs and (moved or lost):
                unheard = saved.memory.unheard
                await add_to_packet(conn, run.conversation_id, rows, unheard, cause=run.message_id, now=now)
            run.followed_by = await conn.fetchval(_FOLLOWED_BY, run.conversation_id)
            return not theirs

        return await db.in_transaction(self._pool, work)

    async def finish_with_handoff(self, run: ClaimedRun, draft: HandoffDraft, make_ending: Any, now: datetime) -> int:
        """End the run and open the handoff in one transaction: status, owner version, row, events (SPEC §2).

        ``make_ending(owner_version)`` builds what is said under the new version, which is returned.
        """
        await crash_point("handoff.before_commit")

        async def work(conn: db.Connection) -> int:
            opened = await insert_handoff(conn, draft, run.owner_version, now)
            if opened is None:
                raise TakenOver
            ending: Ending = make_ending(opened.owner_version)
            await self._end_run(conn, run, ending.outcome, ending.prompt_version)
            if ending.state is not None:
                await conn.execute(
                    "update conversations set run_state = $2 where id = $1",
                    run.conversation_id,
                    ending.state.model_dump(mode="json"),
                )
            await save_words(conn, run.conversation_id, run.message_id, "agent", ending.said)
            await enqueue_replies(conn, ending.events, now, handoff=opened)
            run.followed_by = await conn.fetchval(_FOLLOWED_BY, run.conversation_id)
            return opened.owner_version

        version = await db.in_transaction(self._pool, work)
        await crash_point("handoff.after_commit")
        return version

    async def _end_run(self, conn: db.Connection, run: ClaimedRun, outcome: str, prompt_version: str | None) -> None:
        values = run.message_id, run.version, outcome, prompt_version, *_spent(run)
        if await conn.fetchval(_FINISH_RUN, *values) is None:
            raise LostClaim("the run is somebody else's")


def _spent(run: ClaimedRun) -> tuple[int, Decimal]:
    """What models used for this message, as tokens and dollars."""
    progress = run.state.run_for(run.message_id)
    return progress.tokens, progress.cost_usd


def _require_ours(row: "asyncpg.Record | None") -> "asyncpg.Record":
    if row is None:
        raise LostClaim("the run is somebody else's")
    if not row["ours"]:
        raise TakenOver
    return row
