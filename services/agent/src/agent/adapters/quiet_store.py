"""Conversations nobody has written in for a while, and rows that have outlived their use."""

from typing import Any

from common import db
from common.inbox import forget_older_than

Json = dict[str, Any]
# Only where the agent spoke last and nothing is open: no run, no row that waits, no person.
_ASK = """
with quiet as (
    select c.id from conversations c
    where c.status = 'active' and c.asked_solved_at is null
      and c.updated_at < now() - make_interval(secs => $1)
      and c.updated_at > now() - make_interval(secs => $2)
      and not exists (select 1 from runs r where r.conversation_id = c.id and r.status <> 'done')
    order by c.updated_at limit 50 for update of c skip locked
)
update conversations c set asked_solved_at = now() from quiet where c.id = quiet.id
returning c.id, c.customer_id, c.channel, c.thread_ref, c.language, c.owner_version
"""
_CLOSE = """
update conversations c set status = 'closed', version = version + 1
where c.id in (
    select q.id from conversations q
    where q.status = 'active' and q.updated_at < now() - make_interval(secs => $1)
      and not exists (select 1 from runs r where r.conversation_id = q.id and r.status <> 'done')
    limit 200 for update of q skip locked
)
"""
_FORGET = """
delete from conversations where id in (
    select id from conversations where updated_at < now() - make_interval(days => $1) limit 200 for update skip locked
)
"""


async def ask_quiet(conn: db.Connection, after_s: float, close_after_s: float) -> list[Json]:
    """Mark quiet conversations as asked, each once; returns whom to ask, to be told in the same transaction."""
    return [dict(row) for row in await conn.fetch(_ASK, after_s, close_after_s)]


async def close_quiet(pool: db.Database, after_s: float) -> None:
    """Close conversations that stayed quiet; the next message opens them again."""
    await pool.execute(_CLOSE, after_s)


async def forget_old(pool: db.Database, conversation_days: int, inbox_days: int) -> None:
    """Drop conversations after their retention (messages, runs and handoffs go with them) and old dedupe rows."""
    await pool.execute(_FORGET, conversation_days)
    async with pool.acquire() as conn:
        await forget_older_than(conn, inbox_days)
