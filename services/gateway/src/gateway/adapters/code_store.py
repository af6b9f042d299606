"""One-time codes in PostgreSQL: budgets are taken under a lock before anything is compared."""

from dataclasses import dataclass
from typing import Literal

from common import db
from common.ids import new_id
from gateway.core.codes import hash_code, is_right

Asked = Literal["requested", "outstanding", "used_up"]

LOCK_BUCKET = "select pg_advisory_xact_lock(hashtextextended('codes:' || $1, 0))"
TAKE_TRY = """
insert into code_tries (bucket)
select $1 where (select count(*) from code_tries where bucket = $1 and tried_at > now() - interval '1 hour') < $2
returning id
"""
NEWEST_SENT = """
select id, code_hash from codes
 where conversation_id = $1 and bucket = $2 and sent_at is not null and consumed_at is null and not failed
   and expires_at > now()
   and id = (select id from codes where conversation_id = $1 and bucket = $2 and sent_at is not null
              order by requested_at desc, id desc limit 1)
"""
CONSUME = (
    "update codes set consumed_at = now() where id = $1 and consumed_at is null and expires_at > now() returning id"
)
OUTSTANDING = """
select exists (select 1 from codes where conversation_id = $1 and consumed_at is null and not failed
   and expires_at > now())
"""
ASKED_LAST_HOUR = """
select count(*) from codes where bucket = $1 and requested_at > now() - interval '1 hour' and not failed
"""
ASKED_JUST_NOW = """
select exists (select 1 from codes where conversation_id = $1 and bucket = $2 and consumed_at is null and not failed
   and expires_at > now() and requested_at > now() - interval '30 seconds')
"""
REQUEST = """
insert into codes (id, customer_id, bucket, conversation_id, purpose, expires_at)
values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
"""
CLAIM_TO_SEND = """
update codes set attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => power(2, least(attempts, 6)))
 where id in (select id from codes where sent_at is null and not failed and next_attempt_at <= now()
               order by requested_at limit 10 for update skip locked)
returning id, customer_id, conversation_id, attempts,
          (select locale from conversations c where c.id = conversation_id) as locale
"""
MARK_SENT = """
update codes set code_hash = $2, sent_at = now(), expires_at = now() + make_interval(secs => $3) where id = $1
"""
UNSEND = "update codes set code_hash = null, sent_at = null, failed = $2 where id = $1 and consumed_at is null"


@dataclass(frozen=True, slots=True)
class CodeToSend:
    """A code that was asked for; its digits are made when it is sent."""

    id: str
    customer_id: str
    conversation_id: str
    attempts: int
    locale: str | None


@dataclass(frozen=True)
class CodeBook:
    """The limits of SPEC §3, and the key codes are hashed with."""

    pepper: bytes
    valid_s: int
    tries_per_h: int
    codes_per_h: int

    async def request(
        self, conn: db.Connection, *, customer_id: str, bucket: str, conversation_id: str, purpose: str, again: bool
    ) -> Asked:
        """Ask for a code to be sent. ``again`` replaces an outstanding one, unless that was asked for just now."""
        await conn.execute(LOCK_BUCKET, bucket)
        if again and await conn.fetchval(ASKED_JUST_NOW, conversation_id, bucket):
            return "outstanding"
        if not again and await self.outstanding(conn, conversation_id):
            return "outstanding"
        if await conn.fetchval(ASKED_LAST_HOUR, bucket) >= self.codes_per_h:
            return "used_up"
        await conn.execute(REQUEST, new_id("code"), customer_id, bucket, conversation_id, purpose, float(self.valid_s))
        return "requested"

    async def outstanding(self, conn: db.Connection, conversation_id: str) -> bool:
        """Say whether a code of this conversation waits to be typed."""
        return bool(await conn.fetchval(OUTSTANDING, conversation_id))

    async def try_code(self, conn: db.Connection, *, bucket: str, conversation_id: str, typed: str) -> bool:
        """Take one try, then compare; True consumes the code. Parallel tries of one customer take turns."""
        await conn.execute(LOCK_BUCKET, bucket)
        allowed = await conn.fetchval(TAKE_TRY, bucket, self.tries_per_h) is not None
        row = await conn.fetchrow(NEWEST_SENT, conversation_id, bucket)
        right = is_right(self.pepper, row["id"] if row else None, row["code_hash"] if row else None, typed)
        # Locked, wrong and expired do the same work, so that time tells a guesser nothing.
        consumed = await conn.fetchval(CONSUME, row["id"] if row and right and allowed else "")
        return consumed is not None

    async def claim_to_send(self, pool: db.Database) -> list[CodeToSend]:
        """Take codes whose mail is due; a claim that dies is due again a little later."""
        return [CodeToSend(**dict(r)) for r in await pool.fetch(CLAIM_TO_SEND)]

    async def mark_sent(self, pool: db.Database, code_id: str, digits: str) -> None:
        """Record the code before its mail leaves: what may have been sent must be known here."""
        await pool.execute(MARK_SENT, code_id, hash_code(self.pepper, code_id, digits), float(self.valid_s))

    async def unsend(self, pool: db.Database, code_id: str, *, give_up: bool) -> None:
        """The mail certainly didn't leave: forget the digits, try again with new ones or give up."""
        await pool.execute(UNSEND, code_id, give_up)


def bucket_of(customer_id: str, *, proved: bool) -> str:
    """Return whose tries are counted: a stranger who only claims to be the customer can't lock the proved one."""
    return f"{'proved' if proved else 'claimed'}:{customer_id}"
