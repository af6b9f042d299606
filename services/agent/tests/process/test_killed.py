"""kill -9 and SIGSTOP of real agent processes at every named point: same money, one answer, nothing asked twice."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import agent
import common
from common.ids import derived_id

ASK = "My blender arrived damaged, order {order}. Please refund the blender."
WHERE = "Where is my order {order}?"
# A dead worker's run is another's after the claim's 1.5 s and the half second between two looks.
TAKEN_OVER_WITHIN_S = 10.0

# The points of a refund turn; each is tried at the 1st, 2nd, … time a turn reaches it until one gets through unharmed.
OF_A_RUN = (
    "run.after_claim",
    "model.before_call",
    "model.after_call",
    "run.before_checkpoint",
    "run.after_checkpoint",
    "tool.before_call",
    "tool.after_call",
    "run.before_finish",
    "run.after_finish",
)
OF_A_HANDOFF = ("handoff.before_commit", "handoff.after_commit")
OF_THE_OUTBOX = ("outbox.before_send", "outbox.after_send", "outbox.after_mark")
OF_A_CONSUMER = (
    "intake.before_commit",
    "intake.after_commit",
    "fixed.before_commit",
    "fixed.after_commit",
    "outcome.before_commit",
    "outcome.after_commit",
)


def test_every_crash_point_that_an_agent_can_reach_is_on_a_list_here() -> None:
    ours, shared = Path(agent.__file__).parent, Path(common.__file__).parent
    files = [*ours.rglob("*.py"), *(shared / "models").glob("*.py"), shared / "outbox.py", shared / "consumer.py"]
    named = {name for file in files for name in re.findall(r'crash_point\("([^"]+)"\)', file.read_text())}
    assert named == {*OF_A_RUN, *OF_A_HANDOFF, *OF_THE_OUTBOX, *OF_A_CONSUMER}


async def told_once(house: Any, message_id: str) -> dict[str, Any]:
    """Hold the message's records against what one healthy run sends; returns the data of ``done``."""
    by_seq: dict[int, dict[str, Any]] = {}
    for event_id, event in await house.replies(message_id):
        assert event_id == derived_id("reply", message_id, str(event["seq"]))
        # A relay that died before its mark sends the same record again; one of another content never leaves.
        assert by_seq.setdefault(event["seq"], event) == event, (by_seq[event["seq"]], event)
    events = [by_seq[n] for n in sorted(by_seq)]
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1)), events
    assert [e["event"] for e in events].count("done") == 1
    assert events[-1]["event"] == "done", events
    assert "".join(e["data"]["text"] for e in events if e["event"] == "token") == events[-1]["data"]["reply"]
    said = await house.pool.fetch("select text from messages where message_id = $1 and sender = 'agent'", message_id)
    assert [row["text"] for row in said] == [events[-1]["data"]["reply"]]
    done: dict[str, Any] = events[-1]["data"]
    return done


async def paid_once(house: Any, asked: Any) -> None:
    """Ledger, its history and the provider, as after one healthy run."""
    rows = await house.ledger.fetch("select key, status, amount from actions where order_id = $1", asked.order_id)
    assert [(r["key"], r["status"], str(r["amount"])) for r in rows] == [
        (f"refund:{asked.order_id}:L1", "succeeded", "64.00")
    ]
    steps = await house.ledger.fetch(
        "select status, cause from actions_history where key = $1 order by seq", rows[0]["key"]
    )
    assert [r["status"] for r in steps if r["cause"] not in ("claimed", "tried")] == ["pending", "succeeded"]
    assert await house.refunds(asked) == [("L1", "64.00")]


async def refunded_once(house: Any, asked: Any) -> None:
    done = await told_once(house, asked.message_id)
    assert done["handoff"] is False, done
    assert "64.00" in done["reply"], done
    await paid_once(house, asked)


async def refund_survives(house: Any, standby: Any, point: str, nth: int, *, leading: bool = False) -> bool:
    """Kill a worker where it says, in a refund turn, with ``standby`` at hand; False when the turn got by the point."""
    victim = house.start("loop", crash_at=f"{point}:{nth}", name="victim")
    try:
        await victim.ready()
        asked = await house.ask(ASK)
        with still(standby):
            if leading:
                await house.until_leading(victim)
            await house.take_in(asked)
            died = await victim.killed_or(lambda: house.all_said(asked))
            finished = await house.run_done(asked)
            saved, made = await house.saved_model_calls(asked), await house.model_calls(asked)
        took_s = await house.until_done(asked, TAKEN_OVER_WITHIN_S)
        await refunded_once(house, asked)
        whole = await house.saved_model_calls(asked)
        assert await house.model_calls(asked) == (made if finished else made + whole - saved), (saved, made, whole)
        print(f"{point}:{nth} {'killed' if died else 'unharmed'}, answered {took_s:.1f} s later", flush=True)
        return bool(died)
    finally:
        victim.end()


@contextmanager
def still(process: Any) -> Iterator[None]:
    """It stands still inside, so that the other one gets the run."""
    process.freeze()
    try:
        yield
    finally:
        process.thaw()


@pytest.mark.parametrize(("point", "nth"), [("run.after_checkpoint", 1), ("tool.after_call", 2)])
async def test_killed_in_a_refund_turn_the_other_worker_ends_it_once(
    house: Any, standby: Any, point: str, nth: int
) -> None:
    assert await refund_survives(house, standby, point, nth)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_killed_at_every_point_of_a_refund_turn_it_is_paid_once_and_answered_once(
    house: Any, standby: Any
) -> None:
    kills = 0
    for point in OF_A_RUN:
        nth = 1
        while await refund_survives(house, standby, point, nth):
            kills, nth = kills + 1, nth + 1
        assert nth > 1, f"no refund turn reaches {point}"
    for point in OF_THE_OUTBOX:
        kills += await refund_survives(house, standby, point, 1, leading=True)
        kills += await refund_survives(house, standby, point, 2, leading=True)
    print(f"killed {kills} times at {len(OF_A_RUN + OF_THE_OUTBOX)} points of a refund turn, 0 violations")


async def zombie_is_fenced_out(house: Any, standby: Any, point: str, nth: int) -> None:
    """Stop a worker past its claim where it says, let ``standby`` end the turn, wake it up: it changes nothing."""
    zombie = house.start("loop", crash_at=f"{point}:{nth}", action="freeze", name="zombie")
    try:
        await zombie.ready()
        asked = await house.ask(ASK)
        with still(standby):
            await house.take_in(asked)
            await zombie.stopped()
        took_s = await house.until_done(asked, TAKEN_OVER_WITHIN_S)
        await refunded_once(house, asked)
        before = await house.books(asked)
        zombie.thaw()
        await zombie.idle()
        assert await house.books(asked) == before, point
        await refunded_once(house, asked)
        print(f"{point}:{nth} stopped, answered {took_s:.1f} s later, fenced out", flush=True)
    finally:
        zombie.end()


async def test_a_worker_that_slept_past_its_claim_wakes_up_to_change_nothing(house: Any, standby: Any) -> None:
    await zombie_is_fenced_out(house, standby, "run.before_finish", 1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_worker_that_slept_past_its_claim_at_any_point_is_fenced_out(house: Any, standby: Any) -> None:
    cases = [(point, nth) for point in OF_A_RUN for nth in ((1,) if "finish" in point or "claim" in point else (1, 2))]
    for point, nth in cases:
        await zombie_is_fenced_out(house, standby, point, nth)
    print(f"stopped and woken {len(cases)} times at {len(OF_A_RUN)} points, 0 violations")


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_killed_while_it_hands_over_there_is_one_handoff_and_one_notice(house: Any, standby: Any) -> None:
    for point in OF_A_HANDOFF:
        victim = house.start("loop", crash_at=point, name="victim")
        await victim.ready()
        asked = await house.ask(ASK, sentiment=-0.9)
        with still(standby):
            await house.take_in(asked)
            assert await victim.killed_or(lambda asked=asked: house.all_said(asked)), point
        await house.until_done(asked, TAKEN_OVER_WITHIN_S)
        done = await told_once(house, asked.message_id)
        assert (done["handoff"], done["handoff_reason"]) == (True, "upset")
        conversation = asked.work.message.conversation_id
        opened = await house.pool.fetch(
            "select h.reason, c.owner_version from handoffs h join conversations c on c.id = h.conversation_id "
            "where c.id = $1", conversation
        )  # fmt: skip
        assert [tuple(row) for row in opened] == [("upset", 2)], point
        assert await house.refunds(asked) == []


async def survives_restart(house: Any, part: str, point: str, asked: Any, *, send: Any, done: Any) -> None:
    """Kill the only worker of ``part`` where it says and start it again, as a supervisor does; ``done`` then holds."""
    victim = house.start(part, crash_at=point, name=f"{part}-1")
    await victim.ready()
    await send()
    assert await victim.killed_or(lambda: house.all_said(asked)), point
    saved, made, finished = (
        await house.saved_model_calls(asked), await house.model_calls(asked), await house.run_done(asked)
    )  # fmt: skip
    again = house.start(part, name=f"{part}-1")
    try:
        await again.ready()
        await done()
        whole = await house.saved_model_calls(asked)
        assert await house.model_calls(asked) == (made if finished else made + whole - saved), point
        await again.leave()
        print(f"{part}: killed at {point}", flush=True)
    finally:
        again.end()


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_killed_at_any_point_a_policy_question_is_answered_once_and_asked_of_the_model_once(house: Any) -> None:
    points = ["intake.before_commit", "intake.after_commit", *(p for p in OF_A_RUN if not p.startswith("tool."))]
    for point in points:
        text = "How long do I have to send back something I don't want? Thanks, Ada {token}"
        asked = await house.ask(text, route="rag", intent="policy_question")

        async def answered(asked: Any = asked) -> None:
            await house.until_done(asked, 30)
            done = await told_once(house, asked.message_id)
            assert done["route"] == "rag"
            assert done["citations"], done

        await survives_restart(house, "rag", point, asked, send=lambda asked=asked: house.send(asked), done=answered)
    print(f"killed at {len(points)} points of a policy answer, 0 violations")


async def tracked_once(house: Any, asked: Any) -> None:
    await house.until_done(asked, 30)
    assert asked.order_id in (await told_once(house, asked.message_id))["reply"]


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_killed_at_any_point_a_tracking_question_is_answered_once(house: Any) -> None:
    for point in ("fixed.before_commit", "fixed.after_commit"):
        asked = await house.ask(WHERE, route="fixed", intent="where_is_my_order")

        async def answered(asked: Any = asked) -> None:
            await tracked_once(house, asked)

        await survives_restart(house, "fixed", point, asked, send=lambda asked=asked: house.send(asked), done=answered)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_killed_at_any_point_an_outcome_is_told_once(house: Any) -> None:
    for point in ("outcome.before_commit", "outcome.after_commit"):
        asked = await house.ask(WHERE, route="fixed", intent="where_is_my_order")
        change = house.paid_behind_the_customers_back(asked)

        async def send(asked: Any = asked, change: Any = change) -> None:
            await house.send(asked)
            await tracked_once(house, asked)
            await house.publish(change)

        async def told(asked: Any = asked, change: Any = change) -> None:
            outcome = f"msg_{derived_id('outcome', change.key, str(change.version))}"
            await house.until_published(outcome, 30)
            assert (
                f"64.00 USD for order {asked.order_id} has gone through" in (await told_once(house, outcome))["reply"]
            )

        await survives_restart(house, "fixed", point, asked, send=send, done=told)
