"""Traces and logs of whole turns name nobody: nothing in them has to be exported or erased (docs/decisions/0010)."""

import asyncio
import gzip
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from stack.demo.run import read_stack_file
from stack.lifecycle import down, up
from stack.paths import RUN
from tests.integration.world import World, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
# What a span may say beside its name; whoever adds one says here that it is nobody's. A path may hold a conversation's
# or a row's name.
ATTRIBUTES = {
    "kind", "server.address", "server.port", "url.path", "url.scheme", "http.request.method", "http.route",
    "http.response.status_code", "network.protocol.version", "code.function.name", "error.type",
}  # fmt: skip


class Collector:
    """Takes spans as an OpenTelemetry collector does and keeps them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def spans(self) -> list[tuple[str, Any]]:
        """Every span with the name of its service."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in list(self.bodies)]
        return [
            (next(a.value.string_value for a in found.resource.attributes if a.key == "service.name"), span)
            for request in requests
            for found in request.resource_spans
            for scope in found.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def run(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = RUN / f"traces-{os.getpid()}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "500")
    try:
        up(folder)
        yield folder
    finally:
        down(folder)
        shutil.rmtree(folder, ignore_errors=True)


async def test_neither_spans_nor_logs_of_a_turn_hold_anything_personal(run: Path, collector: Collector) -> None:
    tag = f"zelda{secrets.token_hex(4)}"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=90)) as http:
        world = World(read_stack_file(run), http)
        phone = f"+1503{secrets.randbelow(10**7):07d}"
        customer = await world.customer(name=f"{tag} {tag}", email=f"{tag}@mail.example", phone=phone)
        address = {"line1": f"{tag} Street", "city": "Bonn", "postal_code": "53111", "country": "DE"}
        order = await world.order(customer, "64.00", address=address, note=f"note {tag}")
        chat = await world.conversation(customer)
        turn = await world.say(customer, f"My blender arrived damaged, order {order}. Please refund the blender.", chat)
        assert [action["status"] for action in turn.actions] == ["succeeded"]
        await world.say(customer, f"Where is my order {order}? It was for aunt {tag}.", chat)
        await world.say(customer, f"I want to talk to a person. {tag}", chat)
        # A payment asked for past the agent, so that its trace begins here and is collected.
        other = await world.order(customer, "30.00", address=address)
        assert (await world.refund(customer, other, "L1", "30.00"))["status"] == "succeeded"
        async with asyncio.timeout(60):
            reported = {"gateway", "router", "agent-fixed", "agent-loop", "toolgateway", "approvals"}
            await until(_reported(collector, reported), "spans of every service")
    # One trace from the customer's request through every topic to the payment (SPEC §12).
    asked = {span.trace_id for service, span in collector.spans() if service == "gateway"}
    paid = {span.trace_id for _, span in collector.spans() if span.name == "ledger.execute"}
    assert paid & asked & {span.trace_id for service, span in collector.spans() if service == "agent-loop"}
    names = {span.name for _, span in collector.spans()}
    assert {"support.messages.v1 process", "support.work.agent.v1 process", "support.replies.v1 process"} <= names
    attributes = {a.key for _, span in collector.spans() for a in span.attributes}
    assert attributes <= ATTRIBUTES
    personal = (tag, phone, customer, order)
    for body in collector.bodies:
        assert not any(mark.encode() in body for mark in personal)
    logs = {log.name: log.read_text(errors="replace") for log in (run / "logs").iterdir()}
    assert len(logs) > 8
    # The store's own stand-in is no part of the product.
    said = {name for name, text in logs.items() if any(m in text for m in (tag, phone)) and "sandbox" not in name}
    assert said == set()


def _reported(collector: Collector, services: set[str]) -> Any:
    async def all_there() -> bool:
        spans = collector.spans()
        return services <= {service for service, _ in spans} and "ledger.execute" in {span.name for _, span in spans}

    return all_there
