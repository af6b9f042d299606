"""The inbox: an event that comes twice does its work once, because seeing it and its effect commit together."""

from collections.abc import Sequence

from common import db

_FIRST_TIME = """
insert into inbox (consumer_group, event_id)
select $1, event_id from unnest($2::text[]) as seen(event_id)
on conflict do nothing
returning event_id
"""
_FORGET = "delete from inbox where seen_at < now() - make_interval(days => $1)"


async def first_time(conn: db.Connection, group: str, event_ids: Sequence[str]) -> set[str]:
    """Record the events as seen by ``group`` and return those that weren't yet, in the caller's transaction."""
    return {row["event_id"] for row in await conn.fetch(_FIRST_TIME, group, list(event_ids))}


async def forget_older_than(conn: db.Connection, days: int) -> None:
    """Drop dedupe rows that no redelivery can ask for any more: keep longer than any topic's retention."""
    await conn.execute(_FORGET, days)
