"""A decision is carried to the toolgateway under the decider's own name, or refused with a reason."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest

from common.statements import ServiceCredentials, Signer

KEY = "refund:4417028:L3"
PATH = f"/v1/approvals/{quote(KEY, safe='')}"
APPROVE = {"decision": "approve", "note": "photo seen"}


@pytest.fixture
def waiting(office: Any) -> dict[str, Any]:
    row = {"key": KEY, "version": 3, "status": "awaiting_approval", "kind": "refund", "amount": "250.00"}
    office.neighbours.rows[KEY] = row
    return row


async def test_waiting_rows_are_listed_with_their_version(office: Any, waiting: dict[str, Any]) -> None:
    answer = await office.http.get("/v1/approvals?status=awaiting_approval", headers=office.headers())
    assert answer.json() == {"items": [waiting]}
    one = await office.http.get(PATH, headers=office.headers(role="viewer"))
    assert one.headers["ETag"] == '"3"'


async def test_a_decision_names_who_decides_and_with_what_ceiling(office: Any, waiting: dict[str, Any]) -> None:
    answer = await office.http.post(f"{PATH}/decision", json=APPROVE, headers=office.headers(**{"If-Match": '"3"'}))
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    [(key, body, statement)] = office.neighbours.decisions
    assert (key, body) == (KEY, {"decision": "approve", "note": "photo seen", "version": 3})
    assert (statement.staff, statement.role, statement.ceiling) == ("dana", "approver", Decimal("500.00"))


@pytest.mark.parametrize(
    ("role", "headers", "body", "status"),
    [
        ("approver", {}, APPROVE, 428),
        ("viewer", {"If-Match": '"3"'}, APPROVE, 403),
        ("approver", {"If-Match": '"2"'}, APPROVE, 409),
        ("approver", {"If-Match": "*"}, APPROVE, 409),
        ("approver", {"If-Match": '"3"'}, {"decision": "maybe"}, 422),
        ("approver", {"If-Match": '"3"'}, {"decision": None}, 422),
        ("approver", {"If-Match": '"3"'}, {}, 422),
        ("approver", {"If-Match": '"3"'}, {"decision": "approve", "extra": 1}, 422),
        ("approver", {"If-Match": '"3"'}, {"decision": "approve", "note": "nul\x00"}, 422),
    ],
)
async def test_anything_else_decides_nothing(  # noqa: PLR0917 - a table's columns
    office: Any, waiting: dict[str, Any], role: str, headers: dict[str, str], body: object, status: int
) -> None:
    answer = await office.http.post(f"{PATH}/decision", json=body, headers=office.headers(role=role, **headers))
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]
    assert waiting["status"] == "awaiting_approval"


async def test_the_second_of_two_decisions_is_told_so(office: Any, waiting: dict[str, Any]) -> None:
    headers = office.headers(**{"If-Match": '"3"'})
    first = await office.http.post(f"{PATH}/decision", json=APPROVE, headers=headers)
    second = await office.http.post(f"{PATH}/decision", json={"decision": "reject"}, headers=headers)
    assert (first.status_code, second.status_code, waiting["status"]) == (200, 409, "succeeded")


@pytest.mark.parametrize("authorization", [None, "", "Bearer ", "Bearer x.y.z", "Basic ZGFuYQ=="])
async def test_nobody_gets_in_without_a_staff_token(office: Any, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    for path in ("/v1/approvals", PATH, "/v1/handoffs", "/v1/me", "/v1/changes"):
        answer = await office.http.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_closed_staff_account_is_turned_away_whatever_its_token_says(office: Any) -> None:
    await office.http.get("/v1/me", headers=office.headers())
    await office.pool.execute("update staff set active = false where staff = 'dana'")
    assert (await office.http.get("/v1/me", headers=office.headers())).status_code == 403


@pytest.mark.parametrize("path", ["/v1/approvals/none", "/v1/approvals/%00", "/v1/approvals/" + "x" * 600])
async def test_an_unknown_row_is_missing(office: Any, path: str) -> None:
    assert (await office.http.get(path, headers=office.headers())).status_code == 404


async def test_the_toolgateway_can_ask_who_somebody_is(office: Any, keys: Any) -> None:
    await office.http.get("/v1/me", headers=office.headers())
    bearer = ServiceCredentials(Signer.from_file("toolgateway", keys / "toolgateway.pem"), "approvals.service")
    headers = {"Authorization": bearer.bearer(datetime.now(UTC))}
    answer = await office.http.get("/v1/internal/staff/dana", headers=headers)
    assert answer.json() == {"staff": "dana", "role": "approver", "ceiling": "500.00", "active": True}
    assert (await office.http.get("/v1/internal/staff/nobody", headers=headers)).status_code == 404
    assert (await office.http.get("/v1/internal/staff/dana", headers=office.headers())).status_code == 401
