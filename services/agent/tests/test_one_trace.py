"""A run's tool calls and replies stay in the trace of the message that began it, whichever worker answers and when."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent.adapters.toolgateway import Toolgateway
from agent.handlers import LOOP_GROUP
from agent.intake import Intake
from agent.loop.catalogue import Catalogue
from agent.loop.play import play_agent_run
from agent.outcomes import Outcomes
from agent.worker import Worker
from common import telemetry
from common.clock import SystemClock
from common.consumer import Received
from common.events import ActionChanged
from common.http import ServiceClient
from common.models import ModelTurn, ToolCall, Usage
from common.producer import event_headers
from common.statements import ServiceCredentials, Signer
from common.telemetry import continue_trace

TRACE = "0af7651916cd43dd8448eb211c80319c"
STATE = "shop=t61rcWkgMzE,other@vendor=00f067aa0ba902b7"
CAME = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "tracestate": STATE}
REFUND = '{"order_id": "4417028", "line_id": "L2", "amount": "64.00", "reason": "damaged"}'
TRUE_WORDS = "I have refunded 64.00 USD for the blender of order 4417028."


def calls(name: str, arguments: str) -> ModelTurn:
    call = ToolCall(f"toolu_{name}", name, arguments)
    return ModelTurn("", (call,), "tool_use", Usage(100, 20), "fake", "fake-large")


def refund_turns() -> list[ModelTurn]:
    said = ModelTurn(TRUE_WORDS, (), "end_turn", Usage(100, 20), "fake", "fake-large")
    return [calls("get_order", '{"order_id": "4417028"}'), calls("issue_refund", REFUND), said]


class SilentProducer:
    """Keeps the trace headers under which events are sent past the outbox."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []

    async def start_event(self, _topic: Any, _key: str, event: Any, **_: Any) -> "asyncio.Future[None]":
        self.headers.append(event_headers("ev", datetime.now(UTC)))
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged


@pytest.fixture(params=["collected", "passed on"])
def spans(request: Any, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that ended as a collector would get them; none where ids only travel."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if request.param == "collected":
        monkeypatch.setattr(telemetry, "_recording", True)
        monkeypatch.setattr(telemetry, "tracer", lambda: provider.get_tracer("test"))
    return exporter


class Shop:
    """The agent with its own client, before a tool gateway that keeps the headers of every tool call."""

    def __init__(self, bench: Any, intake: Intake, producer: SilentProducer) -> None:
        self.bench, self.intake, self.producer = bench, intake, producer
        self.asked: list[Mapping[str, str]] = []
        self.called = asyncio.Event()

    async def on_call(self, request: web.Request) -> web.Response:
        self.asked.append(dict(request.headers))
        self.called.set()
        called = await request.json()
        return web.json_response(
            await self.bench.tools.call(request.match_info["name"], called["args"], called["context"], None)
        )

    async def on_list(self, _: web.Request) -> web.Response:
        return web.json_response({"tools": await self.bench.tools.list_tools()})

    async def take_in(self, work: Any, headers: dict[str, str], event_id: str = "ev_1") -> None:
        """As the consumer does, which reads the record's headers."""
        received = Received(work, event_id, work.message.conversation_id, datetime.now(UTC), headers)
        with continue_trace("support.work.agent.v1 process", headers):
            await self.intake.on_work([received])

    @asynccontextmanager
    async def working(self, name: str) -> AsyncIterator[asyncio.Queue[str]]:
        """A worker of its own, in no trace; the queue gets the runs it has ended."""
        ended: asyncio.Queue[str] = asyncio.Queue()

        async def play(run: Any) -> None:
            await play_agent_run(self.bench.parts, run)
            ended.put_nowait(run.message_id)

        async def never(_run: Any, why: str) -> None:
            raise AssertionError(why)

        worker = Worker(name, ("agent",), self.bench.parts.runs, SystemClock(), play, never)
        running = asyncio.create_task(worker.run())
        try:
            yield ended
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def reply_headers(self) -> list[dict[str, str]]:
        rows = await self.bench.pool.fetch("select headers from outbox order by id")
        return [row["headers"] for row in rows]


@pytest.fixture
async def shop(make_bench: Any, keys: Path) -> AsyncIterator[Shop]:
    bench, producer, clock = make_bench(), SilentProducer(), SystemClock()
    any_producer: Any = producer
    intake = Intake(LOOP_GROUP, bench.pool, bench.parts.runs, any_producer, clock)
    made = Shop(bench, intake, producer)
    app = web.Application()
    app.add_routes([web.get("/v1/tools", made.on_list), web.post("/v1/tools/{name}", made.on_call)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    client = ServiceClient(f"http://127.0.0.1:{runner.addresses[0][1]}", timeout_s=5.0)
    credentials = ServiceCredentials(Signer.from_file("agent", keys / "agent.pem"), "toolgateway.service")
    tools = Toolgateway(client, credentials, clock)
    catalogue = Catalogue(tools, bench.parts.limits, ("fake-large",))
    # Fetched once a process and belongs to no run.
    await catalogue.bundle()
    bench.parts = replace(bench.parts, tools=tools, catalogue=catalogue)
    yield made
    await client.close()
    await runner.cleanup()


def assert_in_trace(headers: Mapping[str, str]) -> None:
    """The ids, the sampled flag and the vendors' state as they came."""
    version, trace_id, _, flags = headers["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", TRACE, "01")
    assert headers["tracestate"] == STATE


async def soon(queue: "asyncio.Queue[str]") -> str:
    return await asyncio.wait_for(queue.get(), 10)


async def test_a_run_taken_from_the_topic_calls_tools_and_answers_in_its_messages_trace(
    shop: Shop, make_work: Any, spans: InMemorySpanExporter
) -> None:
    shop.bench.models.turns = refund_turns()
    await shop.take_in(make_work(), CAME)
    async with shop.working("w1") as ended:
        assert await soon(ended) == "msg_1"
    assert len(shop.asked) == 2
    replies = await shop.reply_headers()
    assert len(replies) == 3
    for headers in [*shop.producer.headers, *shop.asked, *replies]:
        assert_in_trace(headers)
    played = [span for span in spans.get_finished_spans() if span.name == "run play"]
    assert all(span.context.trace_state.to_header() == STATE for span in played)
    if spans.get_finished_spans():
        # Its tool calls are its children: what is found under a call has a way up to the message.
        assert {f"{span.context.span_id:016x}" for span in played} == {
            asked["traceparent"].split("-")[2] for asked in shop.asked
        }


async def test_a_run_another_worker_resumes_after_a_crash_stays_in_its_messages_trace(
    shop: Shop, make_work: Any, spans: InMemorySpanExporter
) -> None:
    shop.bench.models.turns = refund_turns()
    await shop.take_in(make_work(), CAME)
    first = await shop.bench.claim("killed")
    shop.bench.models.pause = asyncio.Event()
    shop.bench.models.pause.set()
    playing = asyncio.create_task(play_agent_run(shop.bench.parts, first))
    await asyncio.wait_for(shop.called.wait(), 10)
    shop.bench.models.pause.clear()
    while len(shop.bench.models.requests) < 2:  # noqa: ASYNC110 - the scripted model offers no event
        await asyncio.sleep(0.01)
    # Dead in the second model call: nothing is handed back, its claim runs out.
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await shop.bench.pool.execute("update runs set claim_expires_at = clock_timestamp() - interval '1 second'")
    shop.asked.clear()
    shop.bench.models.pause.set()
    async with shop.working("w2") as ended:
        assert await soon(ended) == "msg_1"
    assert [name for name, _, _ in shop.bench.tools.calls] == ["get_order", "issue_refund"]
    assert len(shop.asked) == 1
    for headers in [*shop.asked, *await shop.reply_headers()]:
        assert_in_trace(headers)


async def test_what_a_decision_settles_is_told_in_the_decisions_trace(
    shop: Shop, make_work: Any, spans: InMemorySpanExporter
) -> None:
    await shop.bench.arrive(make_work())
    settled = ActionChanged(
        key="refund:4417028:L2", version=3, kind="refund", customer_id="C-1001", conversation_id="conv_1",
        order_id="4417028", line_id="L2", amount="64.00", currency="USD", status="succeeded", verdict="approval",
        policy_version="1", policy_reason="amount", changed_at=datetime.now(UTC), cause="settled",
    )  # fmt: skip
    with continue_trace("ledger.actions.v1 process", CAME):
        event = Received(settled, "ev_l1", settled.key, datetime.now(UTC), CAME)
        await Outcomes(
            shop.bench.pool, shop.bench.parts.customers, shop.bench.parts.ledger, SystemClock()
        ).on_action_changed([event])
    told = await shop.reply_headers()
    assert len(told) == 3
    for headers in told:
        assert_in_trace(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"traceparent": "nonsense", "tracestate": STATE},
        {"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"},
        {"traceparent": CAME["traceparent"] + "\x00", "tracestate": "a=\x00"},
        {"traceparent": "00-\ufffd", "tracestate": "\ufffd"},
    ],
    ids=["missing", "nonsense", "zeros", "nul", "not-ascii"],
)
async def test_a_message_without_a_usable_trace_is_answered_all_the_same(
    shop: Shop, make_work: Any, spans: InMemorySpanExporter, headers: dict[str, str]
) -> None:
    shop.bench.models.turns = refund_turns()
    await shop.take_in(make_work(), headers)
    async with shop.working("w1") as ended:
        assert await soon(ended) == "msg_1"
    assert len({asked["traceparent"].split("-")[1] for asked in shop.asked}) == 1
    assert not any("tracestate" in asked for asked in shop.asked)


async def test_a_run_stored_before_traces_were_kept_is_answered(
    shop: Shop, make_work: Any, spans: InMemorySpanExporter
) -> None:
    shop.bench.models.turns = refund_turns()
    await shop.take_in(make_work(), CAME)
    await shop.bench.pool.execute("update runs set trace = null")
    async with shop.working("w1") as ended:
        assert await soon(ended) == "msg_1"
    assert len(shop.asked) == 2
