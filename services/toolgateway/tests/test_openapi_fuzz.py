"""The committed OpenAPI against the running service: what fits it is answered as it says, and never with a crash."""

import asyncio
import json
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from toolgateway.documents import documents

CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


def fuzz(url: str, headers: dict[str, str]) -> int:
    """Call every operation with generated requests; returns how many calls were made."""
    schema = schemathesis.openapi.from_dict(json.loads(documents()["openapi.json"]))
    calls = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def run(case: Any) -> None:
            nonlocal calls
            calls += 1
            response = case.call(base_url=url, headers=headers)
            assert response.status_code != 500, response.text
            case.validate_response(response, checks=CHECKS)

        run()
    return calls


async def test_every_documented_operation_answers_as_documented(gateway: Any) -> None:
    for service in ("agent", "approvals", "reconciler"):
        statement = {
            "agent": {"X-Session-Assertion": gateway.session()},
            "approvals": {"X-Staff-Assertion": gateway.staff("dana", "lead", None, customer_id="C-1001")},
            "reconciler": {"X-Job-Assertion": gateway.job("4417028", "refund")},
        }[service]
        calls = await asyncio.to_thread(fuzz, gateway.url, {"Authorization": gateway.bearer(service), **statement})
        assert calls > 50
    assert gateway.provider.moved() == []
