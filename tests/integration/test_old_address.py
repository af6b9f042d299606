"""A changed email is told to the old address, over the whole product; read from the store's own mail."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.world import until


async def mails(world: Any, to: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await world.sandbox("GET", f"mail?to={quote(to, safe='')}")
    return found


async def code_sent(world: Any, to: str) -> str:
    async def newest() -> str | None:
        codes = [re.search(r"\b\d{6}\b", mail["text"]) for mail in await mails(world, to)]
        return codes[-1].group(0) if codes and codes[-1] else None

    return str(await until(newest, "a one-time code"))


@pytest.mark.parametrize(
    ("asked", "locale", "said"),
    [
        ("Please change my email to {new}", None, "email address"),
        ("Please change my email to {new}", "de-AT", "E-Mail-Adresse"),
        ("Cambie mi correo electrónico a {new}, por favor", None, "dirección de correo"),
    ],
)
async def test_a_change_by_chat_is_told_to_the_old_address_once(
    world: Any, asked: str, locale: str | None, said: str
) -> None:
    customer = await world.customer(**({"locale": locale} if locale else {}))
    old, new = f"{customer.lower()}@customers.example", f"{customer.lower()}.new@customers.example"
    conversation = await world.conversation(customer)
    await world.say(customer, asked.format(new=new), conversation)
    await world.say(customer, await code_sent(world, old), conversation)

    async def told() -> list[str]:
        return [mail["text"] for mail in await mails(world, old) if said in mail["text"]]

    await until(told, "a notice to the old address")
    assert (await world.sandbox("GET", f"customers/{customer}"))["email"] == new
    # Asked again the row answers; nobody is told again.
    await world.say(customer, asked.format(new=new), conversation)
    assert len(await told()) == 1
    assert new not in str(await told())
    assert await mails(world, new) == [], "the new address hears nothing of it"


async def test_killed_between_the_change_and_the_notice_the_old_address_is_still_told_once(world: Any) -> None:
    customer = await world.customer(phone="+15035550199", locale="fr")
    order = await world.order(customer, "10.00")
    old, new = f"{customer.lower()}@customers.example", f"{customer.lower()}.new@customers.example"
    # The store has changed the record, and its answer is under way when the tool gateway dies.
    await world.sandbox(
        "POST", "faults", {"target": "accounts", "kind": "timeout_after_effect", "order_id": order, "times": 1}
    )
    asking = world.start_tool(
        "update_account_field", {"field": "email", "value": new}, world.assertion(customer, stepped_up=True)
    )

    async def changed() -> bool:
        return bool((await world.sandbox("GET", f"customers/{customer}"))["email"] == new)

    await until(changed, "the record to change")
    world.kill("toolgateway")
    await asking
    key = f"account_change:{customer}:email:1"

    async def settled() -> bool:
        row = await world.row(key)
        return row is not None and row["status"] == "succeeded"

    assert await mails(world, old) == []
    await until(settled, "the reconciler to have it finished", seconds=90)

    async def told() -> list[str]:
        return [mail["text"] for mail in await mails(world, old)]

    await until(told, "a notice to the old address")
    [text] = await told()
    assert "adresse e-mail" in text
    assert await world.sql("select * from ledger.old_addresses where key = $1", key) == []
    logs = {
        log.stem: log.read_text(errors="replace") for log in (Path(world.stack["PIDS_DIR"]).parent / "logs").iterdir()
    }
    assert {"gateway", "toolgateway", "reconciler"} <= logs.keys()
    assert [name for name, said in logs.items() if old in said] == []
    kept = await world.sql("select address from gateway.deliveries where address = $1", old)
    assert kept == [], "once told, the address is forgotten"
