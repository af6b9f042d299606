"""Sends what waits in PostgreSQL through the store's mail: answers at most once, one-time codes with fresh digits."""

import asyncio
import contextlib
import secrets
from typing import Protocol

import asyncpg
from prometheus_client import Counter

from common import db
from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient
from common.telemetry import get_logger
from gateway.adapters import thread_store
from gateway.adapters.code_store import CodeBook, CodeToSend
from gateway.adapters.directory import Directory
from gateway.adapters.thread_store import Delivery
from gateway.core.codes import format_code
from gateway.core.texts import code_mail

# What was queued wakes the postman at once; the poll finds what another process queued or a restart left.
_POLL_S = 2.0
_CODE_ATTEMPTS = 6
_sent = Counter("gateway_mail_total", "Mails by outcome", ["kind", "outcome"])
_AWAY: tuple[type[BaseException], ...] = (*db.UNAVAILABLE, asyncpg.PostgresError)
_log = get_logger()


class Mail(Protocol):
    """The store's own mail and message sender."""

    async def send(self, *, key: str, to: str, channel: str, subject: str, text: str) -> None:
        """Hand one message over, under a key that stays the same when it is handed over again.

        Transient: certainly not sent. OutcomeUnknown: perhaps sent.
        """
        ...


class StoreMail:
    """`POST {mail_url}` with ``{"to","channel","subject","text"}`` and an Idempotency-Key; a mail that keeps keys
    takes each message once.
    """

    def __init__(self, url: str) -> None:
        self._client = ServiceClient(url, timeout_s=5.0)

    async def send(self, *, key: str, to: str, channel: str, subject: str, text: str) -> None:
        body = {"to": to, "channel": channel, "subject": subject, "text": text}
        reply = await self._client.call("POST", "", json=body, headers={"Idempotency-Key": key})
        if reply.status >= 300:
            raise Transient(f"the store's mail answered {reply.status}")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class Postman:
    """One loop that empties both queues whenever something was put in."""

    def __init__(self, pool: db.Database, mail: Mail, directory: Directory, codes: CodeBook) -> None:
        self._pool, self._mail, self._directory, self._codes = pool, mail, directory, codes
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Say that something was queued and committed."""
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled; a database that is away is waited for."""
        while True:
            self._wake.clear()
            try:
                busy = await self.send_due()
            except _AWAY as e:
                _log.warning("mail waits for the database", error=type(e).__name__)
                busy = False
            if not busy:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), _POLL_S)

    async def send_due(self) -> bool:
        """Send what is due now; True when there was something."""
        lost = await thread_store.give_up_lost(self._pool)
        if lost:
            _sent.labels("answer", "unknown").inc(lost)
        codes = await self._codes.claim_to_send(self._pool)
        deliveries = await thread_store.claim_deliveries(self._pool)
        await asyncio.gather(*map(self._send_code, codes), *map(self._deliver, deliveries))
        return bool(codes or deliveries)

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            await self._mail.send(
                key=delivery.id,
                to=delivery.address,
                channel=delivery.channel,
                subject=delivery.subject,
                text=delivery.text,
            )
        except Transient as e:
            _log.warning("mail not taken", delivery=delivery.id, attempts=delivery.attempts, reason=e.reason)
            _sent.labels(delivery.kind, "again").inc()
            await thread_store.return_delivery(self._pool, delivery.id)
        except OutcomeUnknown as e:
            _log.error("mail with unknown outcome", delivery=delivery.id, kind=delivery.kind, reason=e.reason)
            _sent.labels(delivery.kind, "unknown").inc()
            again = thread_store.return_delivery if delivery.kind == "notice" else thread_store.mark_unknown
            await again(self._pool, delivery.id)
        else:
            _sent.labels(delivery.kind, "sent").inc()
            await thread_store.mark_delivered(self._pool, delivery.id)

    async def _send_code(self, code: CodeToSend) -> None:
        try:
            address = await self._directory.email_on_file(code.customer_id)
        except Transient:
            await self._codes.unsend(self._pool, code.id, give_up=code.attempts >= _CODE_ATTEMPTS)
            return
        if address is None:
            _log.warning("no address on file for a code", code=code.id)
            await self._codes.unsend(self._pool, code.id, give_up=True)
            return
        digits = format_code(secrets.randbelow(1_000_000))
        await self._codes.mark_sent(self._pool, code.id, digits)
        subject, text = code_mail(digits, self._codes.valid_s, code.locale)
        try:
            await self._mail.send(
                key=f"{code.id}:{code.attempts}", to=address, channel="email", subject=subject, text=text
            )
        except Transient:
            _sent.labels("code", "again").inc()
            await self._codes.unsend(self._pool, code.id, give_up=code.attempts >= _CODE_ATTEMPTS)
        except OutcomeUnknown:
            # It may have arrived; if not, the customer asks for another.
            _sent.labels("code", "unknown").inc()
        else:
            _sent.labels("code", "sent").inc()
