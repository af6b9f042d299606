"""Money moves in the trace of the request that asked for it, or of the decision that let it go."""

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from common import telemetry

TRACE = "0af7651916cd43dd8448eb211c80319c"
STATE = "shop=t61rcWkgMzE,other@vendor=00f067aa0ba902b7"
CAME = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "tracestate": STATE}


@pytest.fixture(params=["collected", "passed on"])
def spans(request: Any, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that ended, the web framework's own too, as a collector would get them; none where ids only travel."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if request.param == "collected":
        monkeypatch.setattr(telemetry, "_recording", True)
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def assert_in_trace(headers: Mapping[str, str]) -> None:
    """The ids, the sampled flag and the vendors' state as they came."""
    version, trace_id, _, flags = headers["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", TRACE, "01")
    assert headers["tracestate"] == STATE


async def ask(gateway: Any, line: str, amount: str, headers: Mapping[str, str]) -> Any:
    args = {"order_id": "4417028", "line_id": line, "amount": amount, "reason": "damaged"}
    body = {"args": args, "context": {"guard": "clean", "intent_confidence": 0.95}}
    status, answer = await gateway.send(
        "POST", "/v1/tools/issue_refund", body, X_Session_Assertion=gateway.session(), **headers
    )
    assert status == 200, answer
    return answer


async def event_headers(gateway: Any) -> list[dict[str, str]]:
    return [row["headers"] for row in await gateway.pool.fetch("select headers from outbox order by id")]


async def test_a_refund_is_paid_and_told_in_the_trace_of_the_tool_call(
    gateway: Any, spans: InMemorySpanExporter
) -> None:
    assert (await ask(gateway, "L2", "64.00", CAME))["status"] == "succeeded"
    assert len(gateway.provider.asked) == 1
    events = await event_headers(gateway)
    assert len(events) >= 2
    for headers in [*gateway.provider.asked, *events]:
        assert_in_trace(headers)
    executed = [span for span in spans.get_finished_spans() if span.name == "ledger.execute"]
    # The provider is asked by the very span that names the payment.
    assert all(f"{s.context.span_id:016x}" in gateway.provider.asked[0]["traceparent"] for s in executed)
    assert len(executed) == bool(spans.get_finished_spans())


async def test_an_approved_refund_is_paid_and_told_in_the_trace_of_the_decision(
    gateway: Any, spans: InMemorySpanExporter
) -> None:
    asked_for = {"traceparent": f"00-{1:032x}-{1:016x}-01"}
    assert (await ask(gateway, "L3", "250.00", asked_for))["status"] == "awaiting_approval"
    before = await event_headers(gateway)
    assert {headers["traceparent"].split("-")[1] for headers in before} == {f"{1:032x}"}
    status, row = await gateway.send(
        "POST", "/v1/approvals/refund%3A4417028%3AL3/decision", {"decision": "approve", "note": "ok", "version": 1},
        service="approvals", X_Staff_Assertion=gateway.staff(), **CAME,
    )  # fmt: skip
    assert (status, row["status"]) == (200, "succeeded")
    after = (await event_headers(gateway))[len(before) :]
    assert len(after) == 2
    for headers in [*gateway.provider.asked, *after]:
        assert_in_trace(headers)


@pytest.mark.parametrize(
    "headers",
    [{}, {"traceparent": "nonsense", "tracestate": STATE}, {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}],
    ids=["missing", "nonsense", "zeros"],
)
async def test_a_bad_or_missing_trace_stops_no_refund(
    gateway: Any, spans: InMemorySpanExporter, headers: dict[str, str]
) -> None:
    assert (await ask(gateway, "L2", "64.00", headers))["status"] == "succeeded"
    assert len(gateway.provider.asked) == 1
    assert "tracestate" not in gateway.provider.asked[0]
