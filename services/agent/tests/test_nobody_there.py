"""Outside the hours every way to a person says when somebody is back, in the customer's language and the packet."""

import asyncio
import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.adapters.search_index import SearchIndex
from agent.core.hours import StaffHours, parse_shifts
from agent.fixed import FixedFlow
from agent.intake import Intake
from agent.loop.play import play_agent_run
from agent.outcomes import Outcomes
from agent.rag import PolicyAnswers
from agent.settings import AgentSettings
from common.clock import FixedClock
from common.consumer import Received
from common.events import ActionChanged
from common.ids import OrderIds

# A Sunday.
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
OFFICE = StaffHours(UTC, parse_shifts("mon-fri 09:00-18:00"))
BACK = {
    "en": "Our team is back Monday at 09:00 (UTC).",
    "es": "Nuestro equipo vuelve el lunes a las 09:00 (UTC).",
    "fr": "Notre équipe est de retour lundi à 09:00 (UTC).",
    "de": "Unser Team ist am Montag um 09:00 (UTC) wieder da.",
}
STAFFING = {"on_duty": False, "back_at": "2026-11-30T09:00:00+00:00", "expected_wait_min": None}


class Sent:
    def __init__(self) -> None:
        self.events: list[Any] = []

    async def start_event(self, _topic: Any, _key: str, event: Any, **_: Any) -> "asyncio.Future[None]":
        self.events.append(event)
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


def received(event: Any, event_id: str = "ev_1") -> Received[Any]:
    return Received(event, event_id, "k", NOW, {})


async def staffing(bench: Any) -> Any:
    reason = await bench.pool.fetchval("select packet->'reason' from handoffs")
    return {name: reason[name] for name in STAFFING}


def flow_of(bench: Any, sent: Any) -> FixedFlow:
    parts = bench.parts
    return FixedFlow(
        bench.pool,
        parts.runs,
        parts.tools,
        parts.ledger,
        parts.sessions,
        parts.customers,
        sent,
        OrderIds(),
        FixedClock(NOW),
        OFFICE,
    )


@pytest.mark.parametrize("language", list(BACK))
async def test_who_asks_for_a_person_is_told_when_the_team_is_back(
    make_bench: Any, make_work: Any, language: str
) -> None:
    bench = make_bench()
    work = make_work("A person please", route="human", intent="asks_for_human", language=language, received_at=NOW)
    await flow_of(bench, Sent()).on_work([received(work)])
    assert (await bench.done())["reply"].endswith(BACK[language])
    assert await staffing(bench) == STAFFING
    said = await bench.pool.fetchval("select text from messages where sender = 'agent'")
    assert said == (await bench.done())["reply"]


async def test_the_loop_and_policy_answers_say_it_too(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    parts = dataclasses.replace(bench.parts, staff=OFFICE, clock=FixedClock(NOW))
    await bench.arrive(make_work(sentiment=-0.9, received_at=NOW))
    await play_agent_run(parts, await bench.claim())
    assert (await bench.done())["reply"].endswith(BACK["en"])
    assert await staffing(bench) == STAFFING


async def test_a_policy_question_of_somebody_upset_says_it_too(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    none: Any = None
    index: SearchIndex = none

    def grounded(_answer: str, _passages: Sequence[Any], _question: str) -> bool:
        return True

    answers = PolicyAnswers(
        bench.pool,
        bench.parts.runs,
        bench.parts.customers,
        bench.parts.ledger,
        index,
        none,
        bench.parts.tokens,
        none,
        grounded,
        FixedClock(NOW),
        "s",
        OFFICE,
    )
    await bench.arrive(make_work(route="rag", sentiment=-0.9, language="de", received_at=NOW))
    await answers.play(await bench.claim(routes=("rag",)))
    assert (await bench.done())["reply"].endswith(BACK["de"])


async def test_a_refund_that_came_back_at_night_says_when_somebody_sees_to_it(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    await bench.arrive(make_work(language="fr"))
    change = ActionChanged(
        key="refund:4417028:L2", version=4, kind="refund", customer_id="C-1001", conversation_id="conv_1",
        order_id="4417028", line_id="L2", amount="64.00", currency="USD", status="failed", verdict="auto",
        policy_version="1", policy_reason="r", changed_at=NOW, cause="bank_returned",
    )  # fmt: skip
    await Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, FixedClock(NOW), OFFICE).on_action_changed(
        [received(change)]
    )
    said = await bench.pool.fetchval("select text from messages where sender = 'agent'")
    assert said.endswith(BACK["fr"])
    assert await staffing(bench) == STAFFING


@pytest.mark.parametrize(("owner", "told"), [("people", True), ("dana", False)])
async def test_who_writes_again_while_waiting_is_reminded_and_who_has_a_person_is_not(
    make_bench: Any, make_work: Any, owner: str, told: bool
) -> None:
    bench, sent = make_bench(), Sent()
    any_sent: Any = sent
    await bench.arrive(make_work())
    await bench.pool.execute("update conversations set owner = $1, status = 'with_person', owner_version = 2", owner)
    intake = Intake("agent-loop", bench.pool, bench.parts.runs, any_sent, FixedClock(NOW), OFFICE)
    await intake.on_work([received(make_work(message_id="msg_2", seq=2), "ev_2")])
    await flow_of(bench, any_sent).on_work([received(make_work(message_id="msg_3", seq=3, route="fixed"), "ev_3")])
    assert [BACK["en"] in event.data["text"] for event in sent.events] == [told, told]


async def test_within_the_hours_nothing_is_added(make_bench: Any, make_work: Any) -> None:
    bench = make_bench()
    work = make_work("A person please", route="human", intent="asks_for_human", received_at=NOW)
    open_flow = dataclasses.replace(flow_of(bench, Sent()), staff=StaffHours())
    await open_flow.on_work([received(work)])
    assert "team" not in (await bench.done())["reply"]
    assert (await staffing(bench))["on_duty"] is True


def settings(**over: Any) -> AgentSettings:
    return AgentSettings(database_url="-", port=1, toolgateway_url="-", gateway_url="-", **over)


def test_the_hours_are_settings() -> None:
    made = settings(
        staff_zone="Europe/Madrid", staff_hours="mon-fri 09:00-18:00", staff_holidays="2026-12-25, 2027-01-01"
    )
    back = made.staff.back_at(datetime(2026, 12, 24, 20, tzinfo=UTC))
    assert back is not None
    assert back.isoformat() == "2026-12-28T09:00:00+01:00"
    assert settings().staff.back_at(NOW) is None


@pytest.mark.parametrize(
    "over", [{"staff_hours": "9 to 5"}, {"staff_zone": "Mars/Olympus"}, {"staff_holidays": "christmas"}]
)
def test_hours_that_cannot_be_read_stop_the_start(over: dict[str, str]) -> None:
    with pytest.raises((ValueError, KeyError)):
        settings(**over)
