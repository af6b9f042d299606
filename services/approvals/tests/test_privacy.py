"""What approvals holds of one customer: exported, erased, and no late event fills it again."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.privacy import Privacy
from common.consumer import Received
from common.events import ApprovalRequested, HandoffOpened
from common.privacy.command import Unfinished
from common.privacy.subject import Subject

NOW = datetime(2026, 11, 29, tzinfo=UTC)
MAYA = Subject(
    customer_id="C-1001", conversations=frozenset({"conv_maya", "conv_mail"}), keys=frozenset({"refund:1:L1"})
)


def handoff(conversation: str, customer: str | None, name: str) -> HandoffOpened:
    return HandoffOpened(
        handoff_id=f"ho_{conversation}", conversation_id=conversation, customer_id=customer, channel="chat",
        language="en", owner_version=2, reason="asked", priority="high", queue="general",
        packet={"customer": {"name": name}}, opened_at=NOW,
    )  # fmt: skip


def request(key: str, customer: str, street: str, version: int = 1) -> ApprovalRequested:
    return ApprovalRequested(
        key=key, version=version, digest="d", kind="refund", customer_id=customer, args={}, requested_at=NOW,
        order={"address": {"line1": street}}, policy_version="1", policy_reason="r", expires_at=NOW,
    )  # fmt: skip


def received(event: Any, event_id: str) -> Any:
    return Received(event, event_id, "k", NOW, {})


async def opened(office: Any, *events: HandoffOpened, prefix: str = "ev") -> None:
    for n, event in enumerate(events):
        office.neighbours.owners.ensure_handoff(event.conversation_id, event.handoff_id)
        await office.handlers.on_handoff_opened([received(event, f"{prefix}_{event.handoff_id}_{n}")])


async def requested(office: Any, *events: ApprovalRequested) -> None:
    await office.handlers.on_approval_requested([received(e, f"ev_{n}") for n, e in enumerate(events)])


MAYAS = (handoff("conv_maya", "C-1001", "maya"), handoff("conv_mail", None, "maya by mail"))
REQUESTS = (request("refund:1:L1", "C-1001", "maya street"), request("refund:2:L1", "C-2002", "bob street"))


@pytest.fixture
async def privacy(office: Any) -> Privacy:
    """Maya's and Bob's handoffs, closed, with what staff wrote."""
    await opened(office, *MAYAS, handoff("conv_bob", "C-2002", "bob"))
    await requested(office, *REQUESTS)
    for conversation, name in (("conv_maya", "maya"), ("conv_bob", "bob")):
        path = f"/v1/handoffs/ho_{conversation}"
        for move, body in (("claim", {}), ("reply", {"text": f"Dear {name}"}), ("close", {})):
            answer = await office.http.post(f"{path}/{move}", json=body, headers=office.headers())
            assert answer.status_code == 200, answer.text
    await office.pool.execute("update handoffs set status = 'closed' where id = 'ho_conv_mail'")
    return Privacy(office.pool)


async def everything(pool: Any) -> str:
    tables = ("requests", "handoffs", "staff_messages", "takeovers")
    rows = [[r[0] for r in await pool.fetch(f"select t::text from {table} t")] for table in tables]
    events = [r[0] for r in await pool.fetch("select convert_from(payload, 'UTF8') from outbox")]
    return str([*rows, events])


async def test_an_export_holds_all_of_theirs_and_nothing_of_anybody_else(privacy: Privacy) -> None:
    found = [item async for item in privacy.export(await privacy.find(MAYA))]
    text = json.dumps(found)
    assert {i["table"] for i in found} == {"requests", "handoffs", "staff_messages", "outbox"}
    assert all(words in text for words in ("maya street", "maya by mail", "Dear maya"))
    assert "bob" not in text


async def test_an_erasure_takes_all_of_theirs_and_nothing_of_anybody_else(office: Any, privacy: Privacy) -> None:
    counts = await privacy.erase(MAYA, "erased-1")
    assert {n: c for n, c in counts.items() if n != "outbox"} == {
        "requests": 1, "staff_messages": 1, "takeovers": 0, "handoffs": 2,
    }  # fmt: skip
    left = await everything(office.pool)
    assert "maya" not in left
    assert all(words in left for words in ("bob street", "Dear bob"))


async def test_what_comes_late_fills_nothing_again(office: Any, privacy: Privacy) -> None:
    known = MAYA.model_copy(update={"keys": MAYA.keys | {"refund:9:L1"}})
    await privacy.erase(known, "erased-1")
    await opened(office, *MAYAS, prefix="again")
    # The request that was read here, and one that was still on its way.
    await requested(office, REQUESTS[0], request("refund:9:L1", "C-1001", "maya street"))
    assert "maya" not in await everything(office.pool)
    await opened(office, handoff("conv_new", "C-1001", "maya anew"))
    assert "maya anew" in await everything(office.pool), "what she begins anew is served"


async def test_an_open_handoff_has_to_end_first_and_lives_on(office: Any, privacy: Privacy) -> None:
    await opened(office, handoff("conv_open", "C-1001", "maya waits"))
    with pytest.raises(Unfinished, match="1 handoff"):
        await privacy.erase(MAYA, "erased-1")
    assert "Dear maya" in await everything(office.pool)
    assert await office.pool.fetchval("select count(*) from erased_conversations") == 0


async def test_a_request_from_before_there_was_an_owner_is_found_by_its_key(office: Any, privacy: Privacy) -> None:
    await office.pool.execute("update requests set customer_id = null")
    assert (await privacy.erase(MAYA, "erased-1"))["requests"] == 1
    left = await everything(office.pool)
    assert "maya street" not in left
    assert "bob street" in left
