"""Two people, or one person twice, at one handoff at once: what was read before undoes nothing that was done since."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.adapters.neighbours import Conversations
from common import crash
from common.consumer import Received
from common.events import HandoffOpened

Between = Callable[[], Awaitable[None]]
# Where an end may stand still: its row is looked at, then the agent service, then the row again, then the agent service
# is told, and the row is written.
MOMENTS = (
    ("before", "load_standing"), ("after", "load_standing"), ("before", "change_owner"), ("after", "change_owner"),
)  # fmt: skip
# Of those the ones at which a colleague's claim comes first.
EARLY = 3


class Killed(BaseException):
    """Nothing after this runs, as after kill -9."""


@pytest.fixture(autouse=True)
def nothing_armed() -> Any:
    yield
    crash.disarm()


class Desk:
    """The office's queue with ``ho_1`` of ``conv_1``, which is dana's, and her lease has run out."""

    def __init__(self, office: Any) -> None:
        self.office = office

    async def open(self) -> None:
        self.office.neighbours.owners.ensure_handoff("conv_1", "ho_1")
        event = HandoffOpened(
            handoff_id="ho_1", conversation_id="conv_1", customer_id="C-1001", channel="chat", language="en",
            owner_version=self.talk.owner_version, reason="asked", priority="high", queue="general", packet={},
            opened_at=datetime.now(UTC),
        )  # fmt: skip
        await self.office.handlers.on_handoff_opened([Received(event, "ev-1", "conv_1", event.opened_at, {})])

    @property
    def talk(self) -> Any:
        return self.office.neighbours.owners.talks["conv_1"]

    async def post(self, move: str, staff: str, **body: str) -> Any:
        headers = self.office.headers(staff)
        return await self.office.http.post(f"/v1/handoffs/ho_1/{move}", json=body, headers=headers)

    async def stands(self) -> tuple[str, str | None, str]:
        """Return status and owner here, and the owner at the agent service."""
        row = await self.office.pool.fetchrow("select status, owner from handoffs where id = 'ho_1'")
        return row["status"], row["owner"], self.talk.owner

    async def run_out(self) -> None:
        """Half an hour goes by."""
        await self.office.pool.execute("update handoffs set lease_until = now() - interval '1 s'")


@pytest.fixture
async def desk(office: Any) -> Desk:
    desk = Desk(office)
    await desk.open()
    return desk


@pytest.fixture
async def stale(desk: Desk) -> Desk:
    assert (await desk.post("claim", "dana")).status_code == 200
    await desk.run_out()
    return desk


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Between], None]:
    """Do something once, just before or after one of the calls to the agent service."""

    def arm(when: str, call: str, do: Between) -> None:
        original = getattr(Conversations, call)

        async def held_up(self: Conversations, *args: Any) -> Any:
            monkeypatch.setattr(Conversations, call, original)
            if when == "before":
                await do()
            answer = await original(self, *args)
            if when == "after":
                await do()
            return answer

        monkeypatch.setattr(Conversations, call, held_up)

    return arm


@pytest.mark.parametrize("verb", ["return", "close"])
@pytest.mark.parametrize(("when", "call"), MOMENTS)
async def test_a_late_end_never_ends_a_colleagues_fresh_claim(
    stale: Desk, between: Any, when: str, call: str, verb: str
) -> None:
    said: list[int] = []

    async def erik_claims() -> None:
        said.append((await stale.post("claim", "erik")).status_code)

    between(when, call, erik_claims)
    ended = await stale.post(verb, "dana")
    if (when, call) in MOMENTS[:EARLY]:
        assert (ended.status_code, said) == (409, [200])
        assert await stale.stands() == ("claimed", "erik", "erik")
        assert (await stale.post("return", "erik")).status_code == 200
    else:
        assert (ended.status_code, said) == (200, [409])
        assert await stale.stands() == ("returned" if verb == "return" else "closed", "dana", "agent")


@pytest.mark.parametrize(("when", "call"), MOMENTS)
async def test_a_late_end_and_half_a_claim_leave_the_handoff_with_one_of_them(
    stale: Desk, between: Any, when: str, call: str
) -> None:
    async def die() -> None:
        raise Killed

    async def erik_claims_in_the_queue_and_dies() -> None:
        crash.arm("claim.before_owner", die)
        with pytest.raises(Killed):
            await stale.post("claim", "erik")
        crash.disarm()

    between(when, call, erik_claims_in_the_queue_and_dies)
    ended = await stale.post("return", "dana")
    assert ended.status_code == 409
    again = await stale.post("claim", "erik")
    if (when, call) in MOMENTS[:2]:
        assert again.status_code == 200
        assert await stale.stands() == ("claimed", "erik", "erik")
    else:
        assert again.status_code == 409
        assert (await stale.stands())[::2] == ("returned", "agent")


async def test_a_late_end_that_nobody_has_claimed_in_the_meantime_is_still_done(stale: Desk) -> None:
    assert (await stale.post("return", "dana")).status_code == 200
    assert await stale.stands() == ("returned", "dana", "agent")


async def test_who_may_not_end_it_hears_so_while_the_agent_service_is_away(stale: Desk) -> None:
    stale.office.neighbours.owners_fault = "down"
    assert (await stale.post("return", "erik")).status_code == 409


@pytest.mark.parametrize("fault", ["", "down", "lost"])
@pytest.mark.parametrize("since", ["claim", "reply"])
async def test_a_claim_that_fails_undoes_no_later_step_of_the_same_person(
    desk: Desk, between: Any, since: str, fault: str
) -> None:
    async def dana_goes_on() -> None:
        assert (await desk.post("claim", "dana")).status_code == 200
        if since == "reply":
            assert (await desk.post("reply", "dana", text="Hello")).status_code == 200
        desk.office.neighbours.owners_fault = fault

    between("before", "change_owner", dana_goes_on)
    late = await desk.post("claim", "dana")
    assert late.status_code == (502 if fault else 409)
    assert not fault or "still yours" in late.json()["detail"]
    assert await desk.stands() == ("claimed", "dana", "dana")
    desk.office.neighbours.owners_fault = ""
    assert (await desk.post("claim", "erik")).status_code == 409
    assert (await desk.post("return", "dana")).status_code == 200
