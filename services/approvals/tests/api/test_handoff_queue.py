"""The queue: one claimer, answers to the customer, staff tools, and nothing half done when a neighbour says no."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from approvals import document
from common.consumer import Received
from common.events import HandoffOpened
from tests.owners.fake import Talk

OPENED = HandoffOpened(
    handoff_id="ho_1",
    conversation_id="conv_1",
    customer_id="C-1001",
    channel="chat",
    language="en",
    owner_version=2,
    reason="asked",
    priority="high",
    queue="general",
    packet={"customer": {"name": "Maya"}},
    opened_at=datetime(2026, 11, 29, tzinfo=UTC),
)


async def arrive(office: Any, event: HandoffOpened = OPENED, event_id: str = "ev-1") -> None:
    """The agent handed over, unless it did before, and the event comes."""
    office.neighbours.owners.ensure_handoff(event.conversation_id, event.handoff_id)
    await office.handlers.on_handoff_opened([Received(event, event_id, event.conversation_id, event.opened_at, {})])


async def test_a_handoff_stands_in_the_queue_once_however_often_it_is_delivered(office: Any) -> None:
    await arrive(office)
    await arrive(office)
    items = (await office.http.get("/v1/handoffs", headers=office.headers())).json()["items"]
    assert [(i["id"], i["conversation_id"], i["status"], i["owner"]) for i in items] == [
        ("ho_1", "conv_1", "waiting", None)
    ]
    whole = (await office.http.get("/v1/handoffs/ho_1", headers=office.headers())).json()
    assert whole["packet"] == {"customer": {"name": "Maya"}}
    assert whole["transcript"] == [{"from": "customer", "text": "<b>hi</b>"}]


async def test_a_summary_that_comes_later_fills_the_packet_and_leaves_the_claim_alone(office: Any) -> None:
    await arrive(office)
    await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers())
    fuller = OPENED.model_copy(update={"packet": OPENED.packet | {"model_summary": "three lines"}})
    await arrive(office, fuller, "ev-2")
    row = await office.pool.fetchrow("select packet, status, owner from handoffs")
    assert (row["packet"]["model_summary"], row["status"], row["owner"]) == ("three lines", "claimed", "dana")


async def test_of_many_claimers_one_gets_it_and_the_agent_service_hears_of_that_one(office: Any) -> None:
    await arrive(office)
    names = [f"staff{n}" for n in range(8)]
    answers = await asyncio.gather(
        *(office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers(name)) for name in names)
    )
    assert sorted(a.status_code for a in answers) == [200] + [409] * 7
    [change] = office.neighbours.owners.changes
    winner = next(a.json()["owner"] for a in answers if a.status_code == 200)
    assert (change["action"], change["staff"], change["handoff_id"]) == ("claim", winner, "ho_1")


async def test_a_reply_leaves_as_a_message_of_its_own_with_its_record(office: Any) -> None:
    await arrive(office)
    early = await office.http.post("/v1/handoffs/ho_1/reply", json={"text": "Hi"}, headers=office.headers())
    assert early.status_code == 409
    await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers())
    text = "Hello, Dana here. <script>alert(1)</script>"
    sent = await office.http.post("/v1/handoffs/ho_1/reply", json={"text": text}, headers=office.headers())
    assert sent.status_code == 200
    rows = await office.pool.fetch("select payload from outbox order by id")
    token, done = (json.loads(row["payload"]) for row in rows)
    assert (token["seq"], token["event"], token["data"]) == (1, "token", {"text": text})
    assert (done["seq"], done["event"], done["data"]["reply"], done["data"]["route"]) == (2, "done", text, "human")
    assert {e["writer"] for e in (token, done)} == {"approvals"}
    assert {e["owner_version"] for e in (token, done)} == {3}
    assert token["message_id"] == done["message_id"] == sent.json()["message_id"]
    assert await office.pool.fetchval("select text from staff_messages") == text


@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": " "}, {"text": "x" * 8001}, {"text": "a\x00"}, {"text": 1}, {}, []]
)
async def test_a_reply_that_says_nothing_sendable_is_refused(office: Any, body: object) -> None:
    await arrive(office)
    await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers())
    answer = await office.http.post("/v1/handoffs/ho_1/reply", json=body, headers=office.headers())
    assert answer.status_code == 422
    assert await office.pool.fetchval("select count(*) from outbox") == 0


async def test_a_staff_tool_runs_under_the_staff_members_own_name_for_the_handoffs_customer(office: Any) -> None:
    await arrive(office)
    await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers())
    act = {
        "tool": "issue_refund",
        "args": {"order_id": "4417028", "line_id": "L3", "amount": "250.00", "reason": "damaged"},
    }
    answer = await office.http.post("/v1/handoffs/ho_1/actions", json=act, headers=office.headers())
    assert answer.json()["status"] == "succeeded"
    [(tool, body, statement)] = office.neighbours.tool_calls
    assert (tool, body["args"]) == ("issue_refund", act["args"])
    assert (statement.staff, statement.customer_id, statement.handoff_id) == ("dana", "C-1001", "ho_1")
    other = await office.http.post("/v1/handoffs/ho_1/actions", json=act, headers=office.headers("omar"))
    assert other.status_code == 409
    viewer = await office.http.post("/v1/handoffs/ho_1/actions", json=act, headers=office.headers(role="viewer"))
    assert viewer.status_code == 403


@pytest.mark.parametrize(("verb", "status"), [("return", "returned"), ("close", "closed")])
async def test_a_handoff_ends_where_its_owner_says(office: Any, verb: str, status: str) -> None:
    await arrive(office)
    await office.http.post("/v1/handoffs/ho_1/claim", json={}, headers=office.headers())
    other = await office.http.post(f"/v1/handoffs/ho_1/{verb}", json={}, headers=office.headers("omar"))
    assert other.status_code == 409
    answer = await office.http.post(f"/v1/handoffs/ho_1/{verb}", json={}, headers=office.headers())
    assert answer.json()["status"] == status
    assert office.neighbours.owners.changes[-1]["action"] == verb


async def take_over(office: Any, conversation_id: str, customer_id: str | None = "C-1001") -> dict[str, Any]:
    office.neighbours.owners.talks[conversation_id] = Talk(customer_id=customer_id)
    path = f"/v1/conversations/{conversation_id}/takeover"
    answer = await office.http.post(path, json={}, headers=office.headers())
    assert answer.status_code == 200
    change: dict[str, Any] = office.neighbours.owners.changes[-1]
    return change


async def test_a_takeover_brings_the_customers_record_read_under_the_persons_own_statement(office: Any) -> None:
    change = await take_over(office, "conv_1")
    assert change["customer"] == {
        "customer_id": "C-1001", "name": "Big Corp", "tier": "enterprise", "lifetime_value": "9.00", "open_tickets": [],
    }  # fmt: skip
    (asked,) = office.neighbours.customers_asked
    assert (asked.staff, asked.customer_id, asked.conversation_id) == ("dana", "C-1001", "conv_1")


async def test_a_takeover_waits_for_no_account_system_and_asks_nothing_about_a_visitor(office: Any) -> None:
    office.neighbours.hanging = True
    async with asyncio.timeout(5):
        assert (await take_over(office, "conv_1"))["customer"] is None
    assert (await take_over(office, "conv_visitor", None))["customer"] is None
    assert len(office.neighbours.customers_asked) == 1


@pytest.mark.parametrize("handoff_id", ["none", "%00", "x" * 500])
async def test_an_unknown_handoff_is_missing(office: Any, handoff_id: str) -> None:
    for verb in ("claim", "return", "close"):
        answer = await office.http.post(f"/v1/handoffs/{handoff_id}/{verb}", json={}, headers=office.headers())
        assert answer.status_code == 404


async def test_the_console_runs_no_script_but_its_own(office: Any) -> None:
    page = await office.http.get("/")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert (await office.http.get("/static/console.js")).status_code == 200
    assert (await office.http.get("/static/..%2Fapp.py")).status_code == 404


def test_the_committed_openapi_is_what_the_code_says() -> None:
    committed = (Path(__file__).parents[2] / "openapi.json").read_text()
    assert committed == document.text(), "run: python -m approvals openapi > services/approvals/openapi.json"
