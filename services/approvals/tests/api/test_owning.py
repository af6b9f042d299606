"""Moves that change hands here and at the agent service: whatever fails or dies in between, nobody is stranded."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from common import crash
from common.consumer import Received
from common.events import HandoffOpened
from tests.owners.fake import Talk


class Killed(BaseException):
    """Nothing after this runs, as after kill -9."""


async def die() -> None:
    raise Killed


@pytest.fixture(autouse=True)
def nothing_armed() -> Any:
    yield
    crash.disarm()


@dataclass
class Queue:
    """The queue and the agent service's side of it, conversation ``conv_1`` handed over as ``ho_1``."""

    office: Any

    async def arrive(self, handoff_id: str = "ho_1", event_id: str = "") -> None:
        self.owners.ensure_handoff("conv_1", handoff_id)
        event = HandoffOpened(
            handoff_id=handoff_id, conversation_id="conv_1", customer_id="C-1001", channel="chat", language="en",
            owner_version=self.talk.owner_version, reason="asked", priority="high", queue="general", packet={},
            opened_at=datetime.now(UTC),
        )  # fmt: skip
        received = Received(event, event_id or f"ev-{handoff_id}", "conv_1", event.opened_at, {})
        await self.office.handlers.on_handoff_opened([received])

    @property
    def owners(self) -> Any:
        return self.office.neighbours.owners

    @property
    def talk(self) -> Any:
        return self.owners.talks["conv_1"]

    async def post(self, path: str, staff: str = "dana") -> Any:
        return await self.office.http.post(f"/v1/{path}", json={}, headers=self.office.headers(staff))

    async def killed(self, point: str, path: str, staff: str = "dana") -> None:
        crash.arm(point, die)
        with pytest.raises(Killed):
            await self.post(path, staff)
        crash.disarm()

    async def row(self, handoff_id: str = "ho_1") -> tuple[str, str | None]:
        row = await self.office.pool.fetchrow("select status, owner from handoffs where id = $1", handoff_id)
        return row["status"], row["owner"]

    async def run_out(self) -> None:
        """Half an hour goes by."""
        await self.office.pool.execute("update handoffs set lease_until = now() - interval '1 s'")


@pytest.fixture
async def queue(office: Any) -> Queue:
    queue = Queue(office)
    await queue.arrive()
    return queue


@pytest.fixture
async def danas(queue: Queue) -> Queue:
    assert (await queue.post("handoffs/ho_1/claim")).status_code == 200
    return queue


async def test_when_a_lease_has_run_out_another_claims_here_and_at_the_agent_service(danas: Queue) -> None:
    assert (await danas.post("handoffs/ho_1/claim", "erik")).status_code == 409
    await danas.run_out()
    listed = (await danas.office.http.get("/v1/handoffs", headers=danas.office.headers("erik"))).json()["items"]
    assert [(h["owner"], h["lease_over"]) for h in listed] == [("dana", True)]
    claimed = await danas.post("handoffs/ho_1/claim", "erik")
    assert (claimed.status_code, claimed.json()["owner"], claimed.json()["lease_over"]) == (200, "erik", False)
    assert (await danas.row(), danas.talk.owner) == (("claimed", "erik"), "erik")
    assert danas.owners.changes[-1] == {
        "conversation_id": "conv_1", "action": "claim", "staff": "erik", "handoff_id": "ho_1",
        "expected_owner_version": 3, "succeeds": "dana",
    }  # fmt: skip
    assert (await danas.post("handoffs/ho_1/return", "dana")).status_code == 409
    assert (await danas.post("handoffs/ho_1/return", "erik")).status_code == 200
    assert danas.talk.owner == "agent"


async def test_a_takeover_of_what_a_colleague_left_lying_is_that_claim(danas: Queue) -> None:
    assert (await danas.post("conversations/conv_1/takeover", "erik")).status_code == 409
    await danas.run_out()
    assert (await danas.post("conversations/conv_1/takeover", "erik")).status_code == 200
    assert (await danas.row(), danas.talk.owner) == (("claimed", "erik"), "erik")


async def test_of_two_who_claim_what_was_left_lying_the_agent_service_hears_of_the_one_who_got_it(danas: Queue) -> None:
    await danas.run_out()
    answers = [await danas.post("handoffs/ho_1/claim", name) for name in ("erik", "omar")]
    assert [a.status_code for a in answers] == [200, 409]
    assert danas.talk.owner == "erik"


@pytest.mark.parametrize("fault", ["down", "lost"])
async def test_a_claim_without_an_answer_is_anybodys_again(queue: Queue, fault: str) -> None:
    queue.office.neighbours.owners_fault = fault
    refused = await queue.post("handoffs/ho_1/claim")
    assert refused.status_code in (502, 503, 504)
    assert "back in the queue" in refused.json()["detail"]
    assert await queue.row() == ("waiting", None)
    queue.office.neighbours.owners_fault = ""
    assert (await queue.post("handoffs/ho_1/claim", "erik")).status_code == 200
    assert (await queue.row(), queue.talk.owner) == (("claimed", "erik"), "erik")


async def test_a_claim_the_agent_service_refuses_goes_back_to_the_queue(queue: Queue) -> None:
    queue.office.neighbours.owners_fault = "raced"
    refused = await queue.post("handoffs/ho_1/claim")
    assert (refused.status_code, refused.json()["detail"]) == (409, "the owner has changed")
    assert (await queue.row(), queue.talk.owner) == (("waiting", None), "people")


@pytest.mark.parametrize("verb", ["return", "close"])
async def test_an_end_the_agent_service_refuses_leaves_the_handoff_with_who_had_it(danas: Queue, verb: str) -> None:
    danas.office.neighbours.owners_fault = "raced"
    assert (await danas.post(f"handoffs/ho_1/{verb}")).status_code == 409
    assert (await danas.row(), danas.talk.owner) == (("claimed", "dana"), "dana")
    danas.office.neighbours.owners_fault = ""
    assert (await danas.post(f"handoffs/ho_1/{verb}")).status_code == 200


@pytest.mark.parametrize("verb", ["return", "close"])
async def test_the_handoff_of_a_conversation_that_is_forgotten_can_be_ended(danas: Queue, verb: str) -> None:
    danas.owners.talks.clear()
    assert (await danas.post(f"handoffs/ho_1/{verb}")).status_code == 200


async def test_claiming_again_what_is_mine_while_the_agent_service_is_away_loses_nothing(danas: Queue) -> None:
    danas.office.neighbours.owners_fault = "down"
    refused = await danas.post("handoffs/ho_1/claim")
    assert "still yours" in refused.json()["detail"]
    assert await danas.row() == ("claimed", "dana")


@pytest.mark.parametrize("fault", ["down", "lost"])
@pytest.mark.parametrize(("verb", "status"), [("return", "returned"), ("close", "closed")])
async def test_an_end_without_an_answer_stays_theirs_and_is_done_when_tried_again(
    danas: Queue, verb: str, status: str, fault: str
) -> None:
    danas.office.neighbours.owners_fault = fault
    refused = await danas.post(f"handoffs/ho_1/{verb}")
    assert refused.status_code in (502, 503, 504)
    assert "still yours, try again" in refused.json()["detail"]
    assert await danas.row() == ("claimed", "dana")
    danas.office.neighbours.owners_fault = ""
    for _ in range(2):
        ended = await danas.post(f"handoffs/ho_1/{verb}")
        assert (ended.status_code, ended.json()["status"]) == (200, status)
    assert (await danas.row(), danas.talk.owner) == ((status, "dana"), "agent")


async def test_only_who_ended_a_handoff_may_say_so_again(danas: Queue) -> None:
    await danas.post("handoffs/ho_1/return")
    version = danas.talk.owner_version
    assert (await danas.post("handoffs/ho_1/return", "erik")).status_code == 409
    assert (await danas.post("handoffs/ho_1/close")).status_code == 409
    assert danas.talk.owner_version == version


CLAIM_POINTS = ("claim.before_owner", "claim.after_owner")
RETURN_POINTS = ("return.before_owner", "return.after_owner")
TAKEOVER_POINTS = ("takeover.before_owner", "takeover.after_owner")


async def test_the_points_of_each_move_are_the_ones_tried_here(danas: Queue) -> None:
    reached = crash.record()
    await danas.post("handoffs/ho_1/claim")
    await danas.post("handoffs/ho_1/return")
    await danas.post("conversations/conv_1/takeover")
    assert tuple(reached) == (*CLAIM_POINTS, *RETURN_POINTS, *TAKEOVER_POINTS)


@pytest.mark.parametrize("point", CLAIM_POINTS)
async def test_killed_in_a_claim_the_same_person_claims_again(queue: Queue, point: str) -> None:
    await queue.killed(point, "handoffs/ho_1/claim")
    assert (await queue.post("handoffs/ho_1/claim")).status_code == 200
    assert (await queue.row(), queue.talk.owner) == (("claimed", "dana"), "dana")


@pytest.mark.parametrize("verb", ["claim", "return", "close"])
@pytest.mark.parametrize("point", CLAIM_POINTS)
async def test_killed_in_a_claim_after_somebody_elses_whoever_claims_next_succeeds_whom_the_agent_service_has(
    danas: Queue, point: str, verb: str
) -> None:
    await danas.run_out()
    await danas.killed(point, "handoffs/ho_1/claim", "erik")
    assert danas.talk.owner == ("dana" if point == "claim.before_owner" else "erik")
    by = "erik"
    if verb == "claim":
        await danas.run_out()
        by = "omar"
    assert (await danas.post(f"handoffs/ho_1/{verb}", by)).status_code == 200
    assert danas.talk.owner == ("omar" if verb == "claim" else "agent")


@pytest.mark.parametrize("when", ["before_owner", "after_owner"])
@pytest.mark.parametrize(("verb", "status"), [("return", "returned"), ("close", "closed")])
async def test_killed_in_an_end_the_same_person_ends_it(danas: Queue, when: str, verb: str, status: str) -> None:
    await danas.killed(f"{verb}.{when}", f"handoffs/ho_1/{verb}")
    assert await danas.row() == ("claimed", "dana")
    assert (await danas.post(f"handoffs/ho_1/{verb}")).status_code == 200
    assert (await danas.row(), danas.talk.owner, danas.talk.owner_version) == ((status, "dana"), "agent", 4)


@pytest.mark.parametrize(("point", "status", "row"), [
    ("return.before_owner", 200, ("claimed", "erik")), ("return.after_owner", 409, ("returned", "dana")),
])  # fmt: skip
async def test_killed_in_an_end_and_gone_home_the_next_claimer_gets_it_or_hears_that_it_is_over(
    danas: Queue, point: str, status: int, row: tuple[str, str]
) -> None:
    await danas.killed(point, "handoffs/ho_1/return")
    await danas.run_out()
    answer = await danas.post("handoffs/ho_1/claim", "erik")
    assert answer.status_code == status
    assert await danas.row() == row
    assert danas.talk.owner == ("erik" if status == 200 else "agent")


async def test_an_end_tried_again_late_leaves_the_next_handoff_alone(danas: Queue) -> None:
    await danas.killed("return.after_owner", "handoffs/ho_1/return")
    await danas.arrive("ho_2")
    assert (await danas.post("handoffs/ho_2/claim", "erik")).status_code == 200
    assert (await danas.post("handoffs/ho_1/return")).json()["status"] == "returned"
    assert (await danas.row("ho_2"), danas.talk.owner) == (("claimed", "erik"), "erik")


async def test_a_conversation_that_is_back_with_the_agent_is_taken_over_anew_whatever_the_queue_still_says(
    danas: Queue,
) -> None:
    await danas.killed("return.after_owner", "handoffs/ho_1/return")
    taken = (await danas.post("conversations/conv_1/takeover", "erik")).json()
    assert await danas.row() == ("returned", "dana")
    await danas.arrive(taken["handoff_id"])
    assert await danas.row(taken["handoff_id"]) == ("claimed", "erik")


async def test_somebody_who_steps_in_unasked_owns_the_handoff_that_follows_and_gives_it_back(office: Any) -> None:
    queue = Queue(office)
    office.neighbours.owners.talks["conv_1"] = Talk()
    answer = await queue.post("conversations/conv_1/takeover")
    handoff_id = answer.json()["handoff_id"]
    assert (answer.status_code, answer.json()["owner"]) == (200, "dana")
    await queue.arrive(handoff_id)
    assert await queue.row(handoff_id) == ("claimed", "dana")
    assert (await queue.post(f"handoffs/{handoff_id}/return")).status_code == 200
    assert queue.talk.owner == "agent"
    assert (await queue.post("conversations/missing/takeover")).status_code == 404


@pytest.mark.parametrize("verb", ["return", "close"])
async def test_what_stayed_with_somebody_whose_handoff_is_ended_here_is_taken_over_and_ended(
    danas: Queue, verb: str
) -> None:
    """The queue once wrote an end first; the agent service, away just then, still has dana."""
    await danas.office.pool.execute("update handoffs set status = 'returned', lease_until = null")
    taken = await danas.post("conversations/conv_1/takeover", "erik")
    assert (taken.status_code, taken.json()["handoff_id"]) == (200, "ho_1")
    assert (await danas.row(), danas.talk.owner) == (("claimed", "erik"), "erik")
    await danas.arrive(event_id="announced again")
    assert await danas.row() == ("claimed", "erik")
    assert (await danas.post(f"handoffs/ho_1/{verb}", "erik")).status_code == 200
    assert danas.talk.owner == "agent"
    assert await danas.office.pool.fetchval("select count(*) from takeovers") == 0


async def test_what_stayed_with_somebody_whose_handoff_is_ended_here_they_end_again(danas: Queue) -> None:
    await danas.office.pool.execute("update handoffs set status = 'returned', lease_until = null")
    assert (await danas.post("handoffs/ho_1/return")).status_code == 200
    assert danas.talk.owner == "agent"


@pytest.mark.parametrize("point", TAKEOVER_POINTS)
async def test_killed_in_a_takeover_it_is_tried_again_and_given_back(office: Any, point: str) -> None:
    queue = Queue(office)
    office.neighbours.owners.talks["conv_1"] = Talk()
    await queue.killed(point, "conversations/conv_1/takeover")
    taken = await queue.post("conversations/conv_1/takeover")
    assert taken.status_code == 200
    handoff_id = taken.json()["handoff_id"]
    await queue.arrive(handoff_id)
    assert await queue.row(handoff_id) == ("claimed", "dana")
    assert (await queue.post(f"handoffs/{handoff_id}/return")).status_code == 200
    assert queue.talk.owner == "agent"


async def test_a_takeover_whose_answer_was_lost_leaves_a_handoff_that_anybody_may_claim(office: Any) -> None:
    queue = Queue(office)
    office.neighbours.owners.talks["conv_1"] = Talk()
    office.neighbours.owners_fault = "lost"
    assert (await queue.post("conversations/conv_1/takeover")).status_code in (502, 504)
    office.neighbours.owners_fault = ""
    handoff_id = queue.talk.open_handoff
    await queue.arrive(handoff_id)
    assert await queue.row(handoff_id) == ("waiting", None)
    assert (await queue.post(f"handoffs/{handoff_id}/claim", "erik")).status_code == 200
    assert queue.talk.owner == "erik"


async def test_a_planned_takeover_that_never_happened_doesnt_catch_a_later_handoff(office: Any) -> None:
    queue = Queue(office)
    office.neighbours.owners.talks["conv_1"] = Talk()
    await queue.killed("takeover.before_owner", "conversations/conv_1/takeover")
    await office.pool.execute("update takeovers set at = now() - interval '1 hour'")
    await queue.arrive("ho_2")
    assert await queue.row("ho_2") == ("waiting", None)
