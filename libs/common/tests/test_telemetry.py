"""A trace's ids travel on as they came, with no collector and no span; what is no trace begins a new one.

What is collected holds no text of an error.
"""

import re
from datetime import UTC, datetime

import pytest
from aiokafka.partitioner import DefaultPartitioner
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from common import telemetry
from common.producer import _partition_of, event_headers
from common.telemetry import _with_trace, continue_trace, trace_headers

CAME = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STATE = "shop=t61rcWkgMzE,other@vendor=00f067aa0ba902b7"


def test_within_the_block_the_callers_ids_are_sent_on_and_logged() -> None:
    with continue_trace("work", {"traceparent": CAME}):
        assert trace_headers() == {"traceparent": CAME}
        assert event_headers("ev_1", datetime.now(UTC))["traceparent"] == CAME
        assert _with_trace(None, "info", {})["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
        with continue_trace("inner", {}):
            assert trace_headers() == {"traceparent": CAME}
    assert trace_headers()["traceparent"] != CAME
    assert "trace_id" not in _with_trace(None, "info", {})


@pytest.mark.parametrize(
    "came",
    ["", "nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", CAME[:-3], CAME + "\n", CAME.upper(), "ff" + CAME[2:]],
)
def test_what_is_no_trace_begins_a_new_one(came: str) -> None:
    with continue_trace("work", {"traceparent": came}):
        assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", trace_headers()["traceparent"])


def test_a_key_goes_where_every_other_client_would_put_it() -> None:
    partitions = list(range(6))
    for n in range(200):
        key = f"conv_{n:032x}".encode()
        assert _partition_of(key, partitions, partitions) == DefaultPartitioner()(key, partitions, partitions)
    assert _partition_of(None, partitions, [4]) == 4


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that ended, as a collector would get them."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_recording", True)
    monkeypatch.setattr(telemetry, "tracer", lambda: provider.get_tracer("test"))
    return exporter


def test_a_span_that_ends_in_an_error_names_its_type_and_says_nothing_of_its_text(
    finished: InMemorySpanExporter,
) -> None:
    for block in (telemetry.span("inner", kind="refund"), continue_trace("outer", {"traceparent": CAME})):
        with pytest.raises(ValueError), block:
            raise ValueError("Key (address)=(ada@customers.example) already exists")
    inner, outer = finished.get_finished_spans()
    assert "ada@" not in inner.to_json() + outer.to_json()
    assert (inner.status.status_code, inner.status.description) == (StatusCode.ERROR, "ValueError")
    assert dict(inner.attributes or {}) == {"kind": "refund"}
    assert outer.parent is not None
    assert f"{outer.context.trace_id:032x}" in CAME


@pytest.mark.parametrize("flags", ["00", "01"])
def test_flags_and_tracestate_are_handed_on_as_they_came_without_a_collector(flags: str) -> None:
    came = {"traceparent": CAME[:-2] + flags, "tracestate": STATE}
    with continue_trace("work", came):
        assert trace_headers() == came
    assert "tracestate" not in trace_headers()


@pytest.mark.parametrize(("flags", "collected"), [("00", 0), ("01", 1)])
def test_flags_and_tracestate_are_handed_on_by_a_span_and_what_nobody_sampled_is_not_collected(
    finished: InMemorySpanExporter, flags: str, collected: int
) -> None:
    with continue_trace("work", {"traceparent": CAME[:-2] + flags, "tracestate": STATE}):
        sent = trace_headers()
    _, trace_id, parent, sampled = sent["traceparent"].split("-")
    assert (trace_id, sampled, sent["tracestate"]) == (CAME[3:35], flags, STATE)
    spans = finished.get_finished_spans()
    assert len(spans) == collected
    assert all(f"{span.context.span_id:016x}" == parent for span in spans)


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("state", ["", "a=\x00", "a=1\nb=2", "a=\ufffd", "a=" + "x" * 511], ids=ascii)
def test_a_tracestate_no_header_could_hold_is_left_behind_and_the_trace_goes_on(
    request: pytest.FixtureRequest, recording: bool, state: str
) -> None:
    if recording:
        request.getfixturevalue("finished")
    with continue_trace("work", {"traceparent": CAME, "tracestate": state}):
        sent = trace_headers()
    assert sent.keys() == {"traceparent"}
    assert sent["traceparent"][:35] == CAME[:35]


def test_a_tracestate_without_its_trace_is_left_behind() -> None:
    with continue_trace("work", {"traceparent": "nonsense", "tracestate": STATE}):
        assert "tracestate" not in trace_headers()
