"""The one budget of a turn: whatever doesn't answer, a person has the conversation before the minute is over."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.adapters.customers import Customers
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import TakenOver
from agent.adapters.store import save_owner
from agent.adapters.toolgateway import Toolgateway
from agent.loop.catalogue import Catalogue
from agent.loop.play import play_agent_run
from agent.outcomes import Outcomes
from common.clock import SystemClock
from common.consumer import Received
from common.errors import OutcomeUnknown
from common.events import ActionChanged
from common.http import ServiceClient
from common.models import ModelTurn, ToolCall, Usage
from common.statements import ServiceCredentials, Signer

READ = ("get_order", '{"order_id": "4417028"}')
REFUND_ARGS = {"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}
REFUND = ("issue_refund", json.dumps(REFUND_ARGS))
REFUND_ROW: dict[str, Any] = {
    "key": "refund:4417028:L2",
    "kind": "refund",
    "customer_id": "C-1001",
    "conversation_id": "conv_1",
    "order_id": "4417028",
    "line_id": "L2",
    "amount": "64.00",
    "currency": "USD",
    "status": "succeeded",
    "verdict": "auto",
    "policy_version": "1",
    "policy_reason": "within limits",
}
BUDGET_S = 60.0
# For the packet.
ROWS = "GET /v1/actions?conversation_id=conv_1"


def calls(*tools: tuple[str, str]) -> ModelTurn:
    made = tuple(ToolCall(f"toolu_{name}_{n}", name, raw) for n, (name, raw) in enumerate(tools))
    return ModelTurn("", made, "tool_use", Usage(100, 20), "fake", "fake-large")


@dataclass
class Silent:
    """A server that takes every request and never answers; ``asked`` holds the first line of each."""

    url: str = ""
    asked: list[str] = field(default_factory=list)

    async def on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readline()).decode().rpartition(" ")[0])
        # Until the caller has had enough.
        while await reader.read(1024):
            pass
        writer.close()


@pytest.fixture
async def silent() -> AsyncIterator[Silent]:
    made = Silent()
    server = await asyncio.start_server(made.on_connection, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield made
    server.close()
    await server.wait_closed()


class Mute:
    """The agent before a tool gateway that takes every call and answers none."""

    def __init__(self, bench: Any, clock: Any, tools: Toolgateway, asked: list[str]) -> None:
        self.bench, self.clock, self.asked = bench, clock, asked
        customers = Customers(tools, bench.parts.sessions)
        self.bench.parts = replace(
            bench.parts, tools=tools, ledger=Ledger(tools, clock), customers=customers, clock=clock
        )

    async def play(self, work: Any) -> float:
        """Answer a message; returns the seconds that the customer waited."""
        await self.bench.arrive(work)
        began_s = self.clock.monotonic()
        await play_agent_run(self.bench.parts, await self.bench.claim(ttl_s=600.0))
        return float(self.clock.monotonic() - began_s)


@pytest.fixture
async def mute(make_bench: Any, quick_time: Any, silent: Any, keys: Path) -> AsyncIterator[Mute]:
    client = ServiceClient(silent.url, timeout_s=20.0)
    credentials = ServiceCredentials(Signer.from_file("agent", keys / "agent.pem"), "toolgateway.service")
    bench = make_bench()
    # As in a worker that has answered before.
    await bench.parts.catalogue.bundle()
    yield Mute(bench, quick_time, Toolgateway(client, credentials, quick_time), silent.asked)
    await client.close()


async def test_a_read_that_is_never_answered_ends_with_a_person_within_the_turns_time(
    mute: Mute, make_work: Any
) -> None:
    mute.bench.models.turns = [calls(READ)] * 8
    waited_s = await mute.play(make_work())
    assert waited_s <= BUDGET_S
    assert (await mute.bench.done())["handoff_reason"] == "budget"
    assert set(mute.asked) == {"GET /v1/customer", "POST /v1/tools/get_order", ROWS}


async def test_a_write_that_is_never_answered_is_looked_for_and_goes_to_a_person_within_the_turns_time(
    mute: Mute, make_work: Any
) -> None:
    mute.bench.models.turns = [calls(REFUND)]
    waited_s = await mute.play(make_work())
    assert waited_s <= BUDGET_S
    done = await mute.bench.done()
    assert done["handoff_reason"] == "policy"
    assert done["reply"].startswith("I couldn't find out whether what you asked for has gone through.")
    packet = await mute.bench.pool.fetchval("select packet from handoffs")
    assert "refund:4417028:L2" in packet["next_step"]
    assert mute.asked.count("POST /v1/tools/issue_refund") == 3
    assert "GET /v1/actions?conversation_id=conv_1" in mute.asked[mute.asked.index("POST /v1/tools/issue_refund") + 3 :]


async def test_a_lost_write_is_remembered_before_its_row_is_looked_for_and_told_when_the_ledger_settles_it(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    """The tool gateway still believes that its caller listens, and marks how it ended as told."""
    bench = make_bench(calls(REFUND))
    bench.tools.answers["issue_refund"] = [unknown_outcome]
    seen: list[Any] = []

    async def look(_conversation_id: str) -> list[Any]:
        seen.append(await bench.pool.fetchval("select run_state #> '{memory,unheard}' from conversations"))
        return []

    bench.tools.list_actions = look
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim())
    assert seen[-1] == [{"kind": "refund", "order_id": "4417028", "line_id": "L2", "besides": []}]
    settled = ActionChanged(
        **REFUND_ROW, version=2, previous_status="pending", changed_at=datetime.now(UTC), cause="settled", inline=True
    )
    outcomes = Outcomes(bench.pool, bench.parts.customers, bench.parts.ledger, SystemClock())
    await outcomes.on_action_changed([Received(settled, "ev_1", settled.key, datetime.now(UTC), {})])
    told = await bench.pool.fetchval("select text from messages where message_id <> 'msg_1' and sender = 'agent'")
    assert told == "Good news: your refund of 64.00 USD for order 4417028 has gone through."


async def test_a_write_that_was_lost_while_a_person_came_is_not_forgotten(
    make_bench: Any, make_work: Any, unknown_outcome: OutcomeUnknown
) -> None:
    bench = make_bench(calls(REFUND))
    await bench.arrive(make_work())
    run = await bench.claim()

    async def call(*_: Any) -> Any:
        async with bench.pool.acquire() as conn:
            await save_owner(conn, "conv_1", 1, "dana", "with_person")
        raise unknown_outcome

    bench.tools.call = call
    with pytest.raises(TakenOver):
        await play_agent_run(bench.parts, run)
    await bench.parts.runs.leave(run, datetime.now(UTC))
    unheard = await bench.pool.fetchval("select run_state #> '{memory,unheard}' from conversations")
    assert [fact["line_id"] for fact in unheard] == ["L2"]


async def test_a_worker_that_never_gets_the_list_of_tools_hands_over_within_the_turns_time(
    mute: Mute, make_work: Any
) -> None:
    parts = mute.bench.parts
    mute.bench.parts = replace(parts, catalogue=Catalogue(parts.tools, parts.limits, ("fake-large",)))
    waited_s = await mute.play(make_work())
    assert waited_s <= BUDGET_S
    done = await mute.bench.done()
    assert (done["handoff"], set(mute.asked)) == (True, {"GET /v1/tools", "GET /v1/customer", ROWS})


async def test_the_next_worker_has_only_what_the_first_one_left_of_the_turns_time(mute: Mute, make_work: Any) -> None:
    mute.bench.models.turns = [calls(READ)] * 8
    await mute.bench.arrive(make_work())
    run = await mute.bench.claim(ttl_s=600.0)
    progress = run.state.run_for(run.message_id)
    progress.started_at = (mute.clock.now() - timedelta(seconds=50)).isoformat()
    began_s = mute.clock.monotonic()
    await play_agent_run(mute.bench.parts, run)
    assert mute.clock.monotonic() - began_s <= BUDGET_S - 50


async def test_no_write_begins_with_too_little_time_to_hear_how_it_ended(
    make_bench: Any, make_work: Any, quick_time: Any
) -> None:
    bench = make_bench(calls(REFUND))
    bench.parts = replace(bench.parts, clock=quick_time)
    real = bench.models.ask

    async def ask(*args: Any, **named: Any) -> Any:
        await asyncio.sleep(47.0)
        return await real(*args, **named)

    bench.models.ask = ask
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim(ttl_s=600.0))
    assert (bench.tools.calls, bench.tools.paid) == ([], [])
    assert (await bench.done())["handoff_reason"] == "budget"


async def test_words_that_are_ready_still_go_out_when_the_time_is_over(
    make_bench: Any, make_work: Any, quick_time: Any
) -> None:
    bench = make_bench(ModelTurn("Which item arrived broken?", (), "end_turn", Usage(100, 20), "fake", "fake-large"))
    bench.parts = replace(bench.parts, clock=quick_time)
    real = bench.models.ask

    async def ask(*args: Any, **named: Any) -> Any:
        await asyncio.sleep(58.5)
        return await real(*args, **named)

    bench.models.ask = ask
    await bench.arrive(make_work())
    await play_agent_run(bench.parts, await bench.claim(ttl_s=600.0))
    assert (await bench.done())["reply"] == "Which item arrived broken?"
