"""Conversations and their transcript in the ``support`` schema: what handlers and the owner API load and save."""

from dataclasses import dataclass
from typing import Any

from agent.core.session_claims import claims_in
from common import db
from common.errors import Forgotten
from common.events import CustomerMessage, WorkItem
from common.events.model import Language
from common.telemetry import trace_headers

Json = dict[str, Any]

# A closed conversation opens again with the next message (SPEC §15), waiting if a row of it has waited on meanwhile.
WRITES_AGAIN = """    on conflict (id) do update set
        customer_id = coalesce(c.customer_id, excluded.customer_id),
        channel = excluded.channel,
        language = excluded.language,
        locale = coalesce(excluded.locale, c.locale),
        thread_ref = coalesce(excluded.thread_ref, c.thread_ref),
        verified_fields = coalesce(excluded.verified_fields, c.verified_fields),
        status = case when c.status <> 'closed' then c.status
                      when jsonb_path_exists(c.run_state, '$.memory.actions.*.status ? (@ == "awaiting_approval")')
                      then 'waiting_approval' else 'active' end,
        version = c.version + 1,
        updated_at = now()"""
# A message of an erased conversation that comes late opens nothing again (docs/decisions/0010). A look-up by key of its
# own, whatever the plan.
NOT_ERASED = "(select true from erased_conversations e where e.conversation_id = {} limit 1) is null"
_ARRIVE = f"""
with arrived as (
    insert into conversations as c (id, customer_id, channel, language, locale, thread_ref, verified_fields)
    select $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $10::text[] where {NOT_ERASED.format("$1")}
{WRITES_AGAIN}
    returning owner, owner_version, status
), said as (
    insert into messages (conversation_id, message_id, sender, text, at)
    select $1, $7, 'customer', $8, $9::timestamptz from arrived
    on conflict (message_id, sender) do nothing
)
select owner, owner_version, status from arrived
"""  # noqa: S608 - our own constant
_ADD_RUN = """
insert into runs (message_id, conversation_id, seq, route, urgency, status, work, outcome, finished_at, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, case when $6 = 'done' then now() end, $9)
on conflict (message_id) do nothing
"""
_SAY = """
insert into messages (conversation_id, message_id, sender, text) values ($1, $2, $3, $4)
on conflict (message_id, sender) do nothing
"""
_WAS_SAID = "select exists (select 1 from messages where message_id = $1 and sender = 'agent')"
_TRANSCRIPT = """
select sender, text, at, message_id from messages where conversation_id = $1 order by id desc limit $2
"""
_CONVERSATION = """
select id, customer_id, status, channel, language, locale, thread_ref, owner, owner_version, run_state, version
from conversations where id = $1
"""
_SET_WAITING = """
update conversations set status = case when $2 then 'waiting_approval' else 'active' end,
       version = version + 1, updated_at = now()
where id = $1 and status = case when $2 then 'active' else 'waiting_approval' end
"""
_UNHEARD = """
select run_state #> '{memory,unheard}' as unheard, run_state #>> array['memory', 'actions', $2, 'status'] as known
from conversations where id = $1
"""
_REMEMBER_CUSTOMER = """
update conversations
set run_state = run_state || jsonb_build_object(
        'memory', coalesce(run_state -> 'memory', '{}') || jsonb_build_object('customer', $2::jsonb))
where id = $1
"""
# A person's word changes owner and version in one statement: either the agent or somebody owns it, never nobody.
_SET_OWNER = """
update conversations
set owner = $3, status = $4, owner_version = owner_version + 1, version = version + 1, updated_at = now()
where id = $1 and owner_version = $2 returning status, owner, owner_version
"""
# Email waits while chats are answered (SPEC §13, overload).
URGENCY = {"chat": 0, "voice": 0, "whatsapp": 0, "email": 1}


@dataclass(frozen=True, slots=True)
class Standing:
    """Who owns a conversation, under which version, and whether this message has to wait for an earlier one."""

    owner: str
    owner_version: int
    status: str
    waiting: bool = False
    in_order: bool = True

    @property
    def by_agent(self) -> bool:
        return self.owner == "agent"


NEW = Standing("agent", 1, "active")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One row of ``support.conversations``."""

    id: str
    customer_id: str | None
    status: str
    channel: Any
    language: Language
    locale: str | None
    thread_ref: str | None
    owner: str
    owner_version: int
    run_state: Json
    version: int


async def save_arrival(conn: db.Connection, work: WorkItem) -> Standing:
    """Write conversation and customer message (both once) and lock the conversation; returns how it stands now.

    Raises Forgotten for a conversation that was erased.
    """
    row = await conn.fetchrow(_ARRIVE, *_arrival(work))
    if row is None:
        raise Forgotten("the conversation was erased")
    return Standing(row["owner"], row["owner_version"], row["status"])


def _arrival(work: WorkItem) -> tuple[object, ...]:
    m = work.message
    return (
        m.conversation_id, m.customer_id, m.channel, work.language, m.locale, m.thread_ref, m.message_id, m.text,
        m.received_at, verified_fields(m),
    )  # fmt: skip


def verified_fields(message: CustomerMessage) -> list[str] | None:
    """Return what the message's session statement lists as proved, None without one of this conversation's own."""
    claims = claims_in(message.assertion, message.conversation_id, message.customer_id)
    return None if claims is None else sorted(claims.verified_fields)


async def add_queued_run(conn: db.Connection, work: WorkItem) -> None:
    """Leave the message for a worker of its route, which looks for it and goes on in the trace of this moment."""
    m = work.message
    await conn.execute(
        _ADD_RUN,
        m.message_id,
        m.conversation_id,
        m.seq,
        work.route,
        URGENCY[m.channel],
        "queued",
        work.model_dump(mode="json", by_alias=True),
        None,
        trace_headers(),
    )


async def add_done_run(conn: db.Connection, work: WorkItem, outcome: str) -> None:
    """Record a message that was answered on the spot."""
    m = work.message
    await conn.execute(
        _ADD_RUN, m.message_id, m.conversation_id, m.seq, work.route, URGENCY[m.channel], "done", None, outcome, None
    )


async def save_words(conn: db.Connection, conversation_id: str, message_id: str, sender: str, text: str) -> None:
    """Add one entry to the transcript, once a message and sender."""
    await conn.execute(_SAY, conversation_id, message_id, sender, text)


async def was_said(pool: db.Database, message_id: str) -> bool:
    """Say whether the agent's words of a message are in the transcript, and so sent."""
    return bool(await pool.fetchval(_WAS_SAID, message_id))


async def load_transcript(conn: "db.Connection | db.Database", conversation_id: str, limit: int = 200) -> list[Json]:
    """Return the newest ``limit`` entries, oldest first: ``{"sender","text","at","message_id"}``."""
    rows = await conn.fetch(_TRANSCRIPT, conversation_id, limit)
    return [{**dict(row), "at": row["at"].isoformat()} for row in reversed(rows)]


async def load_conversation(
    conn: "db.Connection | db.Database", conversation_id: str, *, lock: bool = False
) -> Conversation | None:
    """Return the conversation; ``lock`` keeps it until the caller's transaction ends."""
    row = await conn.fetchrow(_CONVERSATION + (" for update" if lock else ""), conversation_id)
    return Conversation(**dict(row)) if row is not None else None


async def save_waiting(conn: db.Connection, conversation_id: str, *, waiting: bool) -> None:
    """Move between ``active`` and ``waiting_approval``; a person's or a closed conversation stays what it is."""
    await conn.execute(_SET_WAITING, conversation_id, waiting)


async def save_owner(
    conn: db.Connection, conversation_id: str, expected_version: int, owner: str, status: str
) -> Standing | None:
    """Change the owner; None when the version has moved on in the meantime."""
    row = await conn.fetchrow(_SET_OWNER, conversation_id, expected_version, owner, status)
    return Standing(row["owner"], row["owner_version"], row["status"]) if row is not None else None


async def load_customer(pool: db.Database, conversation_id: str) -> Json | None:
    """Return the customer's record as the conversation remembers it, None if it doesn't."""
    known: Json | None = await pool.fetchval(
        "select run_state #> '{memory,customer}' from conversations where id = $1", conversation_id
    )
    return known


async def load_unheard(pool: db.Database, conversation_id: str, key: str) -> tuple[list[Json], str | None]:
    """Return the writes of a conversation whose answer was lost, and the status it knows the row of ``key`` by."""
    row = await pool.fetchrow(_UNHEARD, conversation_id, key)
    return (row["unheard"] or [], row["known"]) if row is not None else ([], None)


async def remember_customer(conn: db.Connection, conversation_id: str, customer: Json | None) -> None:
    """Keep a customer's record that was just loaded; for whoever holds the conversation's row and is no run."""
    if customer is not None:
        await conn.execute(_REMEMBER_CUSTOMER, conversation_id, customer)


async def save_state(conn: db.Connection, conversation_id: str, run_state: Json) -> None:
    """Write what the conversation remembers; for whoever holds its row and is no run."""
    await conn.execute("update conversations set run_state = $2 where id = $1", conversation_id, run_state)
