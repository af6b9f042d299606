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
from common.telemetry import _with_trace, continue_trace, traceparent

CAME = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_within_the_block_the_callers_ids_are_sent_on_and_logged() -> None:
    with continue_trace("work", {"traceparent": CAME}):
        assert traceparent() == CAME
        assert event_headers("ev_1", datetime.now(UTC))["traceparent"] == CAME
        assert _with_trace(None, "info", {})["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
        with continue_trace("inner", {}):
            assert traceparent() == CAME
    assert traceparent() != CAME
    assert "trace_id" not in _with_trace(None, "info", {})


@pytest.mark.parametrize(
    "came",
    ["", "nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", CAME[:-3], CAME + "\n", CAME.upper(), "ff" + CAME[2:]],
)
def test_what_is_no_trace_begins_a_new_one(came: str) -> None:
    with continue_trace("work", {"traceparent": came}):
        assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", traceparent())


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
