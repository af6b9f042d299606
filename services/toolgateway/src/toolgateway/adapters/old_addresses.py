"""SQL of old addresses: kept before an account changes, handed on or dropped with how the change ended."""

from dataclasses import dataclass

from common import db
from common.events import AccountChanged, Addressee
from common.ids import derived_id
from common.outbox import enqueue
from common.topics import ACCOUNTS_CHANGED
from toolgateway.core.actions import Action
from toolgateway.core.transitions import Status

# Written only under the claim that is about to call (R7). A second try after an unknown outcome may find another
# address than the first did: both were somebody's, so both stay.
_KEEP = """
insert into old_addresses as kept (key, channel, address, locale)
select $1, t.channel, t.address, $5 from unnest($3::text[], $4::text[]) as t(channel, address)
where exists (select 1 from actions where key = $1 and version = $2 and status = 'pending')
on conflict (key, channel, address) do nothing
"""
_TAKE = "delete from old_addresses where key = $1 returning channel, address, locale, kept_at"


@dataclass(frozen=True)
class OldAddresses:
    """Where a customer was reached before a change, and their own language tag if the store knows it."""

    tell: tuple[Addressee, ...]
    locale: str | None = None


async def keep(conn: db.Connection, action: Action, found: OldAddresses) -> None:
    """Keep addresses beside a claimed row; a worker that lost its claim keeps nothing."""
    channels, addresses = [a.channel for a in found.tell], [a.address for a in found.tell]
    await conn.execute(_KEEP, action.key, action.version, channels, addresses, found.locale)


async def hand_on(conn: db.Connection, after: Action, status: Status) -> None:
    """Queue the notice of a change that succeeded and forget the addresses, in the transaction that settles it."""
    rows = sorted(await conn.fetch(_TAKE, after.key), key=lambda row: (row["kept_at"], row["channel"]))
    if status != "succeeded" or not rows:
        return
    event = AccountChanged(
        key=after.key,
        version=after.version,
        customer_id=after.customer_id,
        conversation_id=after.conversation_id,
        field=after.args["field"],
        tell=tuple(Addressee(channel=row["channel"], address=row["address"]) for row in rows),
        locale=rows[0]["locale"] or after.context.get("language"),
        changed_at=after.updated_at,
    )
    event_id = derived_id(ACCOUNTS_CHANGED.name, after.key, str(after.version))
    await enqueue(conn, ACCOUNTS_CHANGED, after.key, event, occurred_at=after.updated_at, event_id=event_id)
