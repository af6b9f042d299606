"""One coroutine per topic the gateway reads; the HTTP routes stand in ``api/``."""

from functools import partial
from itertools import groupby

from prometheus_client import Counter

from common import db
from common.consumer import Received, Subscription
from common.errors import Malformed, Refused, Transient
from common.events import AccountChanged, InboundMessage, ReplyEvent
from common.ids import new_id
from common.inbox import first_time
from common.topics import ACCOUNTS_CHANGED, CHANNEL_INBOUND, REPLIES
from gateway.adapters import thread_store
from gateway.adapters.events import Events
from gateway.adapters.hub import Hub
from gateway.adapters.postman import Postman
from gateway.adapters.thread_store import Delivery
from gateway.channels import Channels, FromChannel
from gateway.core.mail import clean
from gateway.core.rejections import Rejected
from gateway.core.requests import MAX_TEXT_CHARS, read_locale
from gateway.core.texts import account_changed

REPLIES_GROUP = "gateway-replies"
INBOUND_GROUP = "gateway-inbound"
NOTICES_GROUP = "gateway-notices"
_dropped = Counter("gateway_replies_dropped_total", "Reply events repeated, too late, or of an older owner")


class Replies:
    """Stores what is answered and hands it to whoever listens."""

    def __init__(self, events: Events, hub: Hub, postman: Postman) -> None:
        self._events, self._hub, self._postman = events, hub, postman

    async def on_replies(self, lane: list[Received[ReplyEvent]]) -> None:
        """Store one key's events in one statement, then tell the streams; repeated events change nothing."""
        for conversation_id, group in groupby(lane, key=lambda r: r.event.conversation_id):
            events = [received.event for received in group]
            saved = await self._events.save(conversation_id, events)
            self._hub.publish(saved.events)
            if saved.dropped:
                _dropped.inc(saved.dropped)
                # Stored by a try whose answer was lost, they were shown to nobody.
                self._hub.look_again({conversation_id, *(event.message_id for event in events)})
            if saved.mailed:
                self._postman.wake()


class Notices:
    """Tells old addresses that an email or phone was changed."""

    def __init__(self, pool: db.Database, postman: Postman) -> None:
        self._pool, self._postman = pool, postman

    async def on_account_changed(self, lane: list[Received[AccountChanged]]) -> None:
        """Queue one notice for each old address; the event's second delivery queues none."""
        for received in lane:
            await db.in_transaction(self._pool, partial(_queue_notices, event=received.event, id_=received.event_id))
        self._postman.wake()


async def _queue_notices(conn: db.Connection, *, event: AccountChanged, id_: str) -> None:
    if not await first_time(conn, NOTICES_GROUP, [id_]):
        return
    locale = event.locale
    if locale is None and event.conversation_id is not None:
        locale = await thread_store.find_locale(conn, event.conversation_id, event.customer_id)
    subject, text = account_changed(event.field, locale)
    for old in event.tell:
        notice = Delivery(new_id("notice"), old.channel, old.address, subject, text, 0)
        await thread_store.add_notice(conn, notice, event.conversation_id, event.customer_id)


class Inbound:
    """Takes messages that adapters outside write."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels

    async def on_inbound(self, lane: list[Received[InboundMessage]]) -> None:
        """Take each message once, by its thread and the adapter's message id."""
        for received in lane:
            try:
                await self._channels.take(from_topic(received.event))
            except Rejected as e:
                # Login keys that can't be had pass; a credential that doesn't hold never will.
                raise (Transient(e.detail) if e.status == 503 else Refused(e.detail)) from e


def from_topic(event: InboundMessage) -> FromChannel:
    """Return an adapter's message in the one shape all channels share; Malformed where it says nothing."""
    text = clean(event.text)
    if not text[:MAX_TEXT_CHARS].strip():
        raise Malformed("the message is empty")
    try:
        locale = read_locale(event.locale)
    except Rejected:
        locale = None
    by_token = event.credential.kind == "session_token"
    return FromChannel(
        source=f"topic:{event.channel}",
        source_id=f"{event.thread_ref}\n{event.message_id}",
        channel=event.channel,
        thread_ref=event.thread_ref,
        identity="" if by_token else clean(event.credential.value.strip())[:200],
        text=text,
        locale=locale,
        token=event.credential.value if by_token else None,
    )


def subscriptions(
    replies: Replies, inbound: Inbound, notices: Notices
) -> tuple[Subscription[ReplyEvent], Subscription[InboundMessage], Subscription[AccountChanged]]:
    """The table of contents: topic, group, model, handler."""
    return (
        Subscription(REPLIES, REPLIES_GROUP, ReplyEvent, replies.on_replies, busy_per_s=168.0),
        Subscription(CHANNEL_INBOUND, INBOUND_GROUP, InboundMessage, inbound.on_inbound),
        Subscription(ACCOUNTS_CHANGED, NOTICES_GROUP, AccountChanged, notices.on_account_changed),
    )
