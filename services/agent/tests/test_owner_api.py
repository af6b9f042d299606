"""The owner API over HTTP: who may call, which moves are possible, and what a takeover leaves behind."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from agent.adapters.store import save_state
from agent.core.state import ConversationState, Memory
from agent.owner_api import owner_routes
from agent.settings import AgentSettings
from common.clock import SystemClock
from common.http import install_problem_handlers
from common.statements import Signer, Verifier


@pytest.fixture
async def api(make_bench: Any, make_work: Any, keys: Path) -> AsyncIterator[Any]:
    bench = make_bench()
    await bench.arrive(make_work())
    settings = AgentSettings(database_url="-", port=1, toolgateway_url="-", gateway_url="-")
    app = FastAPI()
    install_problem_handlers(app)
    verifier = Verifier.from_file(keys / "trusted.jwks.json")
    app.include_router(
        owner_routes(bench.pool, bench.parts.runs, verifier, SystemClock(), settings, ledger=bench.parts.ledger)
    )
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://agent") as client:
        client.headers["Authorization"] = bearer(keys, "approvals")
        client.bench = bench  # type: ignore[attr-defined]
        yield client


def bearer(keys: Path, service: str) -> str:
    signer = Signer.from_file(service, keys / f"{service}.pem")
    return f"Bearer {signer.sign('agent.service', {'sub': service}, 300, datetime.now(UTC))}"


async def move(api: Any, action: str, staff: str = "dana", **more: Any) -> Any:
    return await api.post("/v1/conversations/conv_1/owner", json={"action": action, "staff": staff, **more})


async def test_a_takeover_opens_a_handoff_that_is_already_theirs(api: Any) -> None:
    answer = await move(api, "takeover")
    handoff_id = await api.bench.pool.fetchval("select id from handoffs")
    assert answer.json() == {"status": "with_person", "owner": "dana", "owner_version": 2, "handoff_id": handoff_id}
    assert await api.bench.pool.fetchval("select count(*) from handoffs") == 1
    assert await api.bench.pool.fetchval("select count(*) from outbox where topic = 'support.handoffs.v1'") == 1


async def test_a_conversation_goes_there_and_back_with_a_rising_version(api: Any) -> None:
    versions = [
        (await move(api, action)).json()["owner_version"] for action in ("takeover", "return", "takeover", "close")
    ]
    assert versions == [2, 3, 4, 5]
    assert (await api.get("/v1/conversations/conv_1")).json()["status"] == "closed"


async def test_of_two_claimers_the_second_gets_a_conflict(api: Any) -> None:
    await move(api, "takeover")
    assert (await move(api, "claim", "erik")).status_code == 409


async def test_who_takes_over_from_a_colleague_gets_the_same_handoff_and_the_queue_hears_of_it_again(api: Any) -> None:
    first = (await move(api, "takeover")).json()
    second = (await move(api, "takeover", "erik")).json()
    assert second == {**first, "owner": "erik", "owner_version": 3}
    told = await api.bench.pool.fetch("select payload from outbox where topic = 'support.handoffs.v1' order by id")
    assert [json.loads(row["payload"])["handoff_id"] for row in told] == [first["handoff_id"]] * 2
    assert json.loads(told[0]["payload"])["packet"] == json.loads(told[1]["payload"])["packet"]


async def test_a_repeated_move_keeps_the_version_and_what_the_customer_began_since(api: Any) -> None:
    handoff_id = (await move(api, "takeover")).json()["handoff_id"]
    claimed = await move(api, "claim", handoff_id=handoff_id)
    assert claimed.json()["owner_version"] == 2
    returned = await move(api, "return", handoff_id=handoff_id)
    assert returned.json() == {"status": "active", "owner": "agent", "owner_version": 3, "handoff_id": None}
    again = await move(api, "takeover", "erik")
    late = await move(api, "return", handoff_id=handoff_id)
    assert (late.status_code, late.json()) == (200, again.json())


@pytest.mark.parametrize("more", [{"succeeds": "dana"}, {"succeeds": "dana", "expected_owner_version": 2}])
async def test_who_succeeds_a_colleague_says_which_owner_of_what_they_saw(api: Any, more: dict[str, Any]) -> None:
    await move(api, "takeover")
    assert (await move(api, "claim", "erik", **more)).status_code == 422


async def test_a_stale_version_is_a_conflict(api: Any) -> None:
    assert (await move(api, "takeover", expected_owner_version=7)).status_code == 409


async def test_a_missing_conversation_is_not_found(api: Any) -> None:
    answer = await api.post("/v1/conversations/conv_x/owner", json={"action": "takeover", "staff": "dana"})
    assert answer.status_code == 404


@pytest.mark.parametrize(("service", "status"), [("router", None), ("reconciler", 403), ("toolgateway", 403)])
async def test_only_approvals_may_change_an_owner(api: Any, keys: Path, service: str, status: int | None) -> None:
    if not (keys / f"{service}.pem").exists():
        api.headers["Authorization"] = "Bearer nonsense"
        status = 401
    else:
        api.headers["Authorization"] = bearer(keys, service)
    assert (await move(api, "takeover")).status_code == status


async def test_the_transcript_comes_with_the_conversation(api: Any) -> None:
    found = (await api.get("/v1/conversations/conv_1")).json()
    assert [entry["sender"] for entry in found["transcript"]] == ["customer"]
    assert found["owner_version"] == 1


async def test_what_models_used_comes_with_the_conversation(api: Any) -> None:
    assert (await api.get("/v1/conversations/conv_1")).json()["usage"] == {"model_tokens": 0, "model_cost_usd": "0"}
    memory = Memory(tokens=1_240, cost_usd=Decimal("0.00486"))
    async with api.bench.pool.acquire() as conn:
        await save_state(conn, "conv_1", ConversationState(memory=memory).model_dump(mode="json"))
    found = (await api.get("/v1/conversations/conv_1")).json()
    assert found["usage"] == {"model_tokens": 1_240, "model_cost_usd": "0.00486"}


async def test_the_reconciler_releases_expired_runs(api: Any, keys: Path) -> None:
    api.headers["Authorization"] = bearer(keys, "reconciler")
    assert (await api.post("/v1/runs/release-expired")).json() == {"released": []}
    assert (await api.get("/v1/limits")).json() == {"claim_ttl_s": 4.0, "turn_budget_s": 60.0}


WAITING = {"key": "refund:4417028:L2", "kind": "refund", "status": "awaiting_approval", "version": 1}


async def remember(api: Any, **row: Any) -> None:
    async with api.bench.pool.acquire() as conn:
        state = ConversationState(memory=Memory(actions={WAITING["key"]: WAITING | row}))
        await save_state(conn, "conv_1", state.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("remembered", "ledger", "status"),
    [
        (None, {}, "waiting_approval"),  # a colleague's own deed, of which no event tells us
        ({}, {}, "waiting_approval"),
        ({}, {"status": "succeeded", "version": 3}, "active"),
        ({"status": "succeeded", "version": 3}, {"version": 2}, "active"),  # the ledger was read before the decision
        ({}, None, "waiting_approval"),
        ({"status": "rejected", "version": 3}, None, "active"),
    ],
)
async def test_what_is_given_back_waits_as_long_as_a_row_waits_for_approval(
    api: Any, remembered: dict[str, Any] | None, ledger: dict[str, Any] | None, status: str
) -> None:
    await move(api, "takeover")
    if remembered is not None:
        await remember(api, **remembered)
    api.bench.tools.ledger_down = ledger is None
    api.bench.tools.ledger[WAITING["key"]] = WAITING | (ledger or {})
    assert (await move(api, "return")).json()["status"] == status
    assert (await api.get("/v1/conversations/conv_1")).json()["status"] == status


@pytest.mark.parametrize(("row", "status"), [({}, "waiting_approval"), ({"status": "succeeded"}, "active")])
async def test_a_closed_conversation_opens_again_as_its_rows_stand(
    api: Any, make_work: Any, row: dict[str, Any], status: str
) -> None:
    await move(api, "takeover")
    api.bench.tools.ledger[WAITING["key"]] = WAITING | row
    assert (await move(api, "close")).json()["status"] == "closed"
    await api.bench.arrive(make_work(message_id="msg_2"))
    assert await api.bench.pool.fetchval("select status from conversations") == status
