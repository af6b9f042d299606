"""Logs, traces and metrics: structured, linked through Kafka headers, and without personal data."""

import json
import logging
import os
import random
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import structlog
from opentelemetry import context, propagate, trace

# Whether spans go anywhere; set once, when tracing is set up.
_recording = False
# The trace this work belongs to while nobody collects spans: its ids travel on as they came.
_passed_on: ContextVar[Mapping[str, str] | None] = ContextVar("trace", default=None)
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
# What neither a header nor jsonb could hold must not travel on; longer ones need not (W3C).
_TRACESTATE = re.compile(r"[ -~]{1,512}")
# Names under which personal data or a credential could slip into a log line.
_PRIVATE = frozenset(
    "text reply email phone name address token assertion credential authorization payload args body".split()
)


def setup_logging(service: str, level: str = "INFO") -> None:
    """Send one JSON object a line to standard error, for this service and the libraries under it."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s %(levelname)s %(message)s")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            lambda _logger, _method, event: {"service": service, **event},
            _with_trace,
            _without_private,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_as_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper(), logging.INFO)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def setup_tracing(service: str) -> None:
    """Export spans where ``OTEL_EXPORTER_OTLP_ENDPOINT`` points; without it trace ids travel, nothing is kept."""
    global _recording  # noqa: PLW0603 - as process-wide as the tracer provider itself
    if not os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return
    # Half a second of imports that a process without a collector needn't pay at every start.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _recording = True


def get_logger() -> Any:
    """Return the structured logger; pass facts as keyword arguments."""
    return structlog.get_logger()


def tracer() -> trace.Tracer:
    """Return the tracer of the product."""
    return trace.get_tracer("trusted-till")


def trace_headers() -> dict[str, str]:
    """Return the W3C trace context to send on: ``traceparent``, begun where none is, and ``tracestate`` if one came."""
    if passed_on := _passed_on.get():
        return dict(passed_on)
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {"traceparent": f"00-{random.getrandbits(128):032x}-{random.getrandbits(64):016x}-00"}
    parent = f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"
    return {"traceparent": parent, **_state(span.trace_state.to_header())}


@contextmanager
def span(name: str, **attributes: str) -> Iterator[None]:
    """Run the block as a span of its own where spans are collected; elsewhere it costs nothing.

    An error marks the span by its type: an exception's text may hold what somebody wrote, and a trace nothing of it.
    """
    if not _recording:
        yield
        return
    with tracer().start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except Exception as e:
            current.set_status(trace.StatusCode.ERROR, type(e).__name__)
            raise


@contextmanager
def continue_trace(name: str, headers: Mapping[str, str]) -> Iterator[None]:
    """Run the block as a span named ``name`` that belongs to the trace its caller's headers name."""
    if not _recording:
        with pass_on_trace(headers):
            yield
        return
    came = {"traceparent": headers.get("traceparent", ""), **_state(headers.get("tracestate", ""))}
    token = context.attach(propagate.extract(came))
    try:
        with span(name):
            yield
    finally:
        context.detach(token)


@contextmanager
def pass_on_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Send the caller's trace on from the block as it came; where spans are collected, they carry it."""
    came = headers.get("traceparent", "")
    # No span is made for nothing, nor the machinery started that would carry one.
    if _recording or not _TRACEPARENT.fullmatch(came):
        yield
        return
    passed_on = _passed_on.set({"traceparent": came, **_state(headers.get("tracestate", ""))})
    try:
        yield
    finally:
        _passed_on.reset(passed_on)


def _state(came: str) -> dict[str, str]:
    return {"tracestate": came} if _TRACESTATE.fullmatch(came) else {}


def _with_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if passed_on := _passed_on.get():
        event["trace_id"] = passed_on["traceparent"][3:35]
        return event
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        event["trace_id"] = f"{span.trace_id:032x}"
    return event


def _without_private(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if _PRIVATE.isdisjoint(event):
        return event
    return {name: "[private]" if name in _PRIVATE else value for name, value in event.items()}


# Made once: json.dumps with an option of its own makes an encoder for each line.
_LINES = json.JSONEncoder(default=repr)


def _as_json(event: Any, **_: Any) -> str:
    return _LINES.encode(event)
