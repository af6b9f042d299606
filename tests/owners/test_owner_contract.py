"""What the queue of handoffs relies on at the agent service's owner API: one suite, on the fake and on the real one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from common import db
from common.clock import SystemClock
from common.statements import Signer, Verifier
from stack.databases import TestDatabase
from tests.owners.fake import FakeOwners, Talk, fake_app
from tests.owners.world import agent_app, begin, hand_over

Json = dict[str, Any]


@dataclass
class Owners:
    """The API under test, with one conversation ``conv_1`` of the agent's."""

    http: httpx2.AsyncClient
    # The agent hands the conversation over; returns the handoff's id.
    hand_over: Callable[[], Awaitable[str]]

    async def stands(self) -> Json:
        found = (await self.http.get("/v1/conversations/conv_1")).json()
        return {name: found[name] for name in ("status", "owner", "owner_version", "handoff_id")}

    async def move(self, action: str, staff: str = "dana", **more: Any) -> tuple[int, Json]:
        body = {"action": action, "staff": staff, **more}
        answer = await self.http.post("/v1/conversations/conv_1/owner", json=body)
        return answer.status_code, answer.json()


def bearer(keys: Path, service: str) -> str:
    signer = Signer.from_file(service, keys / f"{service}.pem")
    return f"Bearer {signer.sign('agent.service', {'sub': service}, 300, datetime.now(UTC))}"


@pytest.fixture(params=["fake", "real"])
async def owners(request: pytest.FixtureRequest, keys: Path, database: TestDatabase) -> AsyncIterator[Owners]:
    verifier = Verifier.from_file(keys / "trusted.jwks.json")
    pool = await db.open_pool(database.dsn("support"), "support", max_size=2)
    app, opens = _fake(verifier) if request.param == "fake" else await _real(pool, keys)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://agent") as http:
        http.headers["Authorization"] = bearer(keys, "approvals")
        yield Owners(http, opens)
    await pool.close()


def _fake(verifier: Verifier) -> tuple[FastAPI, Callable[[], Awaitable[str]]]:
    fake = FakeOwners(verifier, SystemClock(), {"conv_1": Talk()})

    async def open_next() -> str:
        handoff_id = f"ho_{fake.talks['conv_1'].owner_version}"
        fake.open_handoff("conv_1", handoff_id)
        return handoff_id

    return fake_app(fake), open_next


async def _real(pool: db.Database, keys: Path) -> tuple[FastAPI, Callable[[], Awaitable[str]]]:
    await begin(pool)
    return agent_app(pool, keys), lambda: hand_over(pool)


async def test_a_handoff_is_claimed_and_ended_with_a_rising_version(owners: Owners) -> None:
    assert await owners.stands() == {"status": "active", "owner": "agent", "owner_version": 1, "handoff_id": None}
    handoff = await owners.hand_over()
    assert await owners.stands() == {
        "status": "with_person", "owner": "people", "owner_version": 2, "handoff_id": handoff,
    }  # fmt: skip
    claimed = {"status": "with_person", "owner": "dana", "owner_version": 3, "handoff_id": handoff}
    assert await owners.move("claim", handoff_id=handoff) == (200, claimed)
    returned = {"status": "active", "owner": "agent", "owner_version": 4, "handoff_id": None}
    assert await owners.move("return", handoff_id=handoff) == (200, returned)
    second = await owners.hand_over()
    assert second != handoff
    closed = {"status": "closed", "owner": "agent", "owner_version": 6, "handoff_id": None}
    assert await owners.move("close", handoff_id=second) == (200, closed)


async def test_a_second_claimer_is_refused_and_so_are_a_strangers_return_and_close(owners: Owners) -> None:
    handoff = await owners.hand_over()
    await owners.move("claim", handoff_id=handoff)
    stands = await owners.stands()
    for action in ("claim", "return", "close"):
        assert (await owners.move(action, "erik", handoff_id=handoff))[0] == 409
        assert (await owners.move(action, "erik"))[0] == 409
    assert await owners.stands() == stands


@pytest.mark.parametrize(("action", "owner"), [("claim", "erik"), ("return", "agent"), ("close", "agent")])
async def test_whose_lease_is_over_is_succeeded_by_whoever_saw_them_own_it(
    owners: Owners, action: str, owner: str
) -> None:
    handoff = await owners.hand_over()
    version = (await owners.move("claim", handoff_id=handoff))[1]["owner_version"]
    whole = {"handoff_id": handoff, "succeeds": "dana", "expected_owner_version": version}
    assert (await owners.move(action, "erik", **{**whole, "succeeds": "omar"}))[0] == 409
    assert (await owners.move(action, "erik", **{**whole, "expected_owner_version": version - 1}))[0] == 409
    for left_out in ("handoff_id", "expected_owner_version"):
        assert (await owners.move(action, "erik", **{k: v for k, v in whole.items() if k != left_out}))[0] == 422
    status, now = await owners.move(action, "erik", **whole)
    assert (status, now["owner"], now["owner_version"]) == (200, owner, version + 1)


async def test_of_two_who_succeed_the_same_colleague_one_does(owners: Owners) -> None:
    handoff = await owners.hand_over()
    version = (await owners.move("claim", handoff_id=handoff))[1]["owner_version"]
    whole = {"handoff_id": handoff, "succeeds": "dana", "expected_owner_version": version}
    assert (await owners.move("claim", "erik", **whole))[0] == 200
    assert (await owners.move("claim", "omar", **whole))[0] == 409


@pytest.mark.parametrize("action", ["claim", "takeover", "return", "close"])
async def test_the_same_move_again_changes_nothing(owners: Owners, action: str) -> None:
    handoff = await owners.hand_over()
    if action in ("return", "close"):
        await owners.move("claim", handoff_id=handoff)
    first = await owners.move(action, handoff_id=handoff)
    assert first[0] == 200
    assert await owners.move(action, handoff_id=handoff) == first


@pytest.mark.parametrize("action", ["return", "close"])
async def test_a_late_end_of_one_handoff_leaves_the_next_alone(owners: Owners, action: str) -> None:
    first = await owners.hand_over()
    await owners.move("return", handoff_id=first)
    second = await owners.hand_over()
    stands = await owners.stands()
    assert await owners.move(action, handoff_id=first) == (200, stands)
    assert (await owners.move("claim", handoff_id=first))[0] == 409
    assert stands["handoff_id"] == second


async def test_nobody_claims_or_returns_what_is_the_agents(owners: Owners) -> None:
    assert (await owners.move("claim"))[0] == 409
    assert (await owners.move("return"))[0] == 409
    assert (await owners.move("claim", "people"))[0] == 409
    assert (await owners.move("takeover", "agent"))[0] == 409


async def test_a_takeover_opens_a_handoff_and_from_a_colleague_it_keeps_the_one_there_is(owners: Owners) -> None:
    status, taken = await owners.move("takeover")
    handoff = taken["handoff_id"]
    assert (status, taken) == (
        200, {"status": "with_person", "owner": "dana", "owner_version": 2, "handoff_id": handoff},
    )  # fmt: skip
    assert handoff
    assert (await owners.move("takeover", "erik"))[1] == {**taken, "owner": "erik", "owner_version": 3}
    assert (await owners.move("return", handoff_id=handoff))[0] == 409
    assert (await owners.move("return", "erik", handoff_id=handoff))[1]["owner"] == "agent"


async def test_a_stale_version_an_unknown_conversation_and_a_stranger_are_refused(owners: Owners, keys: Path) -> None:
    assert (await owners.move("takeover", expected_owner_version=7))[0] == 409
    missing = await owners.http.post("/v1/conversations/conv_x/owner", json={"action": "takeover", "staff": "dana"})
    assert missing.status_code == 404
    assert (await owners.http.get("/v1/conversations/conv_x")).status_code == 404
    owners.http.headers["Authorization"] = bearer(keys, "toolgateway")
    assert (await owners.move("takeover"))[0] == 403
    owners.http.headers["Authorization"] = "Bearer nonsense"
    assert (await owners.move("takeover"))[0] == 401
