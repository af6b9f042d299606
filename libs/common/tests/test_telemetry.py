"""A trace's ids travel on as they came, with no collector and no span; what is no trace begins a new one."""

import re
from datetime import UTC, datetime

import pytest
from aiokafka.partitioner import DefaultPartitioner

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
