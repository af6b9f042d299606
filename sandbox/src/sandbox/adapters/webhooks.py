"""Signed webhooks of the payment provider: kept until taken, tried a few times, in no promised order."""

import asyncio
import contextlib
import hashlib
import hmac
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import aiohttp

from common.clock import Clock
from common.ids import new_id
from sandbox.adapters.database import Database, dump, stamp

_LOG = logging.getLogger(__name__)
# Pauses before the second try and those after it; then the provider gives up, as real ones do after some days.
_RETRY_AFTER_S = (0.3, 1.0, 3.0, 10.0, 30.0, 60.0)
# After the answer of the call that caused it, so that "early" is a fault and not the rule.
_DELAY_MS = 100
_IDLE_S = 5.0


class Webhooks:
    """A small durable queue with its own sender; without a URL nothing is queued."""

    def __init__(self, database: Database, clock: Clock, url: str | None, secret: str) -> None:
        self._database = database
        self._clock = clock
        self._url = url
        self._secret = secret.encode()
        self._wake = asyncio.Event()
        self._session: aiohttp.ClientSession | None = None

    def queue(self, kind: str, data: dict[str, object], *, copies: int = 1) -> str | None:
        """Keep an event for delivery inside the caller's transaction; return its id."""
        if self._url is None:
            return None
        event_id = new_id("evt")
        now = self._clock.now()
        body = {"id": event_id, "type": kind, "data": data, "created_at": stamp(now)}
        due = stamp(now + timedelta(milliseconds=_DELAY_MS))
        self._database.run(
            "insert into webhooks (event_id, body, due_at, copies) values (?, ?, ?, ?)",
            event_id,
            dump(body),
            due,
            copies,
        )
        self.nudge()
        return event_id

    def nudge(self) -> None:
        """Have the sender look again now."""
        self._wake.set()

    async def run(self, on_tick: Callable[[], str | None]) -> None:
        """Deliver for ever; ``on_tick`` does other due work first and returns when its next is due."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            self._session = session
            while True:
                self._wake.clear()
                next_due = on_tick()
                due = self._database.rows("select event_id from webhooks where due_at <= ?", stamp(self._clock.now()))
                await asyncio.gather(*(self.deliver(row["event_id"]) for row in due))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._pause_s(next_due))

    async def deliver(self, event_id: str) -> None:
        """Try one event once (twice for a doubled one); taken events are forgotten, others tried again later."""
        row = self._database.row("select * from webhooks where event_id = ?", event_id)
        if row is None:
            return
        # Pushed back before sending: neither the sender nor an early delivery may pick it up in the meantime.
        attempts = row["attempts"] + 1
        if attempts > len(_RETRY_AFTER_S):
            self._database.run("delete from webhooks where event_id = ?", event_id)
            return
        again = stamp(self._clock.now() + timedelta(seconds=_RETRY_AFTER_S[attempts - 1] + 5))
        self._database.run("update webhooks set attempts = ?, due_at = ? where event_id = ?", attempts, again, event_id)
        taken = [await self._post(row["body"]) for _ in range(row["copies"])]
        if all(taken):
            self._database.run("delete from webhooks where event_id = ?", event_id)
            return
        soon = stamp(self._clock.now() + timedelta(seconds=_RETRY_AFTER_S[attempts - 1]))
        self._database.run("update webhooks set due_at = ? where event_id = ?", soon, event_id)

    async def _post(self, body: str) -> bool:
        if self._session is None or self._url is None:
            return False
        moment = int(self._clock.now().timestamp())
        headers = {"content-type": "application/json", "x-payments-signature": sign(self._secret, moment, body)}
        try:
            async with self._session.post(self._url, data=body.encode(), headers=headers) as answer:
                return 200 <= answer.status < 300
        except (aiohttp.ClientError, TimeoutError) as error:
            _LOG.info("webhook not taken: %s", error)
            return False

    def _pause_s(self, next_due: str | None) -> float:
        row = self._database.row("select min(due_at) as at from webhooks")
        moments = [at for at in (next_due, row["at"] if row else None) if at]
        if not moments:
            return _IDLE_S
        # At most the idle pause, so that a clock that jumps can't put the sender to sleep for long.
        ahead = (datetime.fromisoformat(min(moments)) - self._clock.now()).total_seconds()
        return min(_IDLE_S, max(0.01, ahead))


def sign(secret: bytes, moment: int, body: str) -> str:
    """Return the signature header: ``t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">``."""
    digest = hmac.new(secret, f"{moment}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"
