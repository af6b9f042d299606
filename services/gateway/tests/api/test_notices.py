"""A changed email or phone is told to where the customer was reached before."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from common.errors import OutcomeUnknown, Transient
from common.events import AccountChanged, Addressee
from common.ids import new_id
from common.topics import ACCOUNTS_CHANGED

pytestmark = pytest.mark.asyncio(loop_scope="module")

OLD = Addressee(channel="email", address="old@example.com")


async def changed(
    world: Any, key: str, *, tell: tuple[Addressee, ...] = (OLD,), event_id: str = "", **about: Any
) -> str:
    about = {"customer_id": "C-1", "field": "email", **about}
    event = AccountChanged(key=key, version=2, tell=tell, changed_at=datetime.now(UTC), **about)
    event_id = event_id or new_id("ev")
    await world.producer.send(ACCOUNTS_CHANGED, key, event, event_id=event_id, occurred_at=datetime.now(UTC))
    return event_id


@pytest.mark.parametrize(
    ("locale", "field", "subject", "said"),
    [
        ("en-GB", "email", "Your account details were changed", "The email address of your customer account"),
        ("es", "email", "Se cambiaron los datos de su cuenta", "Se cambió la dirección de correo"),
        ("fr", "phone", "Les données de votre compte ont été modifiées", "Le numéro de téléphone de votre compte"),
        ("de", "phone", "Ihre Kontodaten wurden geändert", "Die Telefonnummer Ihres Kundenkontos"),
        (None, "email", "Your account details were changed", "The email address of your customer account"),
    ],
)
async def test_a_notice_is_written_in_the_customers_language(
    world: Any, locale: str | None, field: str, subject: str, said: str
) -> None:
    await changed(world, f"account_change:C-1:{field}:{locale}", locale=locale, field=field)
    [mail] = await world.mail.wait_for(1)
    assert (mail["to"], mail["channel"], mail["subject"]) == ("old@example.com", "email", subject)
    assert mail["text"].startswith(said)


async def test_an_unknown_language_is_the_conversations_own(world: Any) -> None:
    maya, nobody_there = world.customer("C-1"), "conv_gone"
    conversation = await maya.open()
    await world.pool.execute("update conversations set locale = 'de-DE' where id = $1", conversation)
    await changed(world, "a:1", conversation_id=conversation)
    # Somebody else's conversation says nothing about this customer's language.
    await changed(world, "a:2", conversation_id=conversation, customer_id="C-2")
    await changed(world, "a:3", conversation_id=nobody_there)
    subjects = sorted(mail["subject"] for mail in await world.mail.wait_for(3))
    assert subjects == ["Ihre Kontodaten wurden geändert"] + ["Your account details were changed"] * 2


async def test_an_event_that_comes_twice_is_told_once_at_each_address(world: Any) -> None:
    tell = (Addressee(channel="whatsapp", address="+15550001"), OLD)
    event_id = await changed(world, "a:1", tell=tell)
    await world.mail.wait_for(2)
    await changed(world, "a:1", tell=tell, event_id=event_id)
    await changed(world, "a:2")
    sent = await world.mail.wait_for(3)
    assert sorted((m["channel"], m["to"]) for m in sent) == [
        ("email", "old@example.com"), ("email", "old@example.com"), ("whatsapp", "+15550001"),
    ]  # fmt: skip


@pytest.mark.parametrize("trouble", [Transient("mail is away"), OutcomeUnknown("no answer")])
async def test_a_notice_whose_answer_was_lost_goes_again_under_the_same_key(world: Any, trouble: Any) -> None:
    world.mail.trouble.append(trouble)
    await changed(world, "a:1")
    [mail] = await world.mail.wait_for(1)
    row = await world.pool.fetchrow("select id, attempts from deliveries")
    assert (mail["key"], row["attempts"]) == (row["id"], 2)


async def test_a_gateway_that_died_while_sending_leaves_the_notice_to_the_next(world: Any) -> None:
    await world.pool.execute(
        "insert into deliveries (id, channel, address, subject, text, kind, state, attempts, sending_at)"
        " values ('n1', 'email', 'old@example.com', 's', 't', 'notice', 'sending', 1, now() - interval '2 minutes'),"
        " ('a1', 'email', 'x@example.com', 's', 't', 'answer', 'sending', 1, now() - interval '2 minutes')"
    )
    world.gateway.postman.wake()
    assert [mail["key"] for mail in await world.mail.wait_for(1)] == ["n1"]
    assert await world.pool.fetchval("select state from deliveries where id = 'a1'") == "unknown"


async def test_once_told_the_address_is_forgotten(world: Any) -> None:
    await changed(world, "a:1")
    await world.mail.wait_for(1)
    kept = "select address, text from deliveries where state = 'sent'"
    async with asyncio.timeout(10):
        while (row := await world.pool.fetchrow(kept)) is None:  # noqa: ASYNC110 - the postman offers no event
            await asyncio.sleep(0.02)
    assert tuple(row) == ("", "")
