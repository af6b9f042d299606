"""kill -9 of approvals between the queue and the agent service, and an agent service that restarts."""

from typing import Any

import httpx2
import pytest

from tests.owners.world import hand_over, until


async def claimed(desk: Any, staff: str = "dana") -> str:
    """A handoff has come over the topic and is theirs."""
    handoff_id = await hand_over(desk.support)
    await until(lambda: desk.row(handoff_id), "the handoff in the queue")
    assert (await desk.post(f"handoffs/{handoff_id}/claim", staff)).status_code == 200
    return handoff_id


async def killed(desk: Any, path: str, staff: str = "dana") -> None:
    with pytest.raises(httpx2.TransportError):
        await desk.post(path, staff)
    assert await desk.died() == -9
    await desk.start()


@pytest.mark.parametrize(
    ("point", "owner"), [("return.before_owner", ("with_person", "dana")), ("return.after_owner", ("active", "agent"))]
)
async def test_killed_in_a_return_it_is_made_by_the_same_person(desk: Any, point: str, owner: tuple[str, str]) -> None:
    await desk.start(crash_at=point)
    handoff_id = await claimed(desk)
    await killed(desk, f"handoffs/{handoff_id}/return")
    assert (await desk.row(handoff_id), await desk.owner()) == (("claimed", "dana"), owner)
    assert (await desk.post(f"handoffs/{handoff_id}/return")).status_code == 200
    assert (await desk.row(handoff_id), await desk.owner()) == (("returned", "dana"), ("active", "agent"))
    again = await claimed(desk, "erik")
    assert (await desk.row(again), await desk.owner()) == (("claimed", "erik"), ("with_person", "erik"))


async def test_killed_in_a_claim_and_gone_home_a_colleague_claims_and_closes_it(desk: Any) -> None:
    await desk.start(crash_at="claim.after_owner:2")
    handoff_id = await claimed(desk)
    await desk.approvals.execute("update handoffs set lease_until = now() - interval '1 s'")
    await killed(desk, f"handoffs/{handoff_id}/claim", "erik")
    assert (await desk.row(handoff_id), await desk.owner()) == (("claimed", "erik"), ("with_person", "erik"))
    assert (await desk.post(f"handoffs/{handoff_id}/claim", "omar")).status_code == 409
    await desk.approvals.execute("update handoffs set lease_until = now() - interval '1 s'")
    assert (await desk.post(f"handoffs/{handoff_id}/claim", "omar")).status_code == 200
    assert await desk.owner() == ("with_person", "omar")
    assert (await desk.post(f"handoffs/{handoff_id}/close", "omar")).status_code == 200
    assert (await desk.row(handoff_id), await desk.owner()) == (("closed", "omar"), ("closed", "agent"))


async def test_while_the_agent_service_restarts_a_close_says_so_and_is_made_afterwards(desk: Any) -> None:
    await desk.start()
    handoff_id = await claimed(desk)
    await desk.agent.stop()
    refused = await desk.post(f"handoffs/{handoff_id}/close")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    assert "the handoff is still yours, try again" in refused.json()["detail"]
    assert await desk.row(handoff_id) == ("claimed", "dana")
    await desk.agent.start()
    assert (await desk.post(f"handoffs/{handoff_id}/close")).status_code == 200
    assert (await desk.row(handoff_id), await desk.owner()) == (("closed", "dana"), ("closed", "agent"))


async def test_a_takeover_is_in_the_queue_as_theirs_and_given_back(desk: Any) -> None:
    await desk.start()
    taken = (await desk.post("conversations/conv_1/takeover")).json()

    async def theirs() -> bool:
        return bool(await desk.row(taken["handoff_id"]) == ("claimed", "dana"))

    await until(theirs, "the takeover in the queue")
    assert (await desk.post(f"handoffs/{taken['handoff_id']}/return")).status_code == 200
    assert await desk.owner() == ("active", "agent")
