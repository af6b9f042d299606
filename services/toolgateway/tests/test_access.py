"""Who gets in, what each statement opens, and how little another customer's order gives away."""

from typing import Any

import pytest

GET = {"order_id": "4417028"}


async def call(gateway: Any, tool: str, args: Any, *, service: str | None = "agent", **headers: str) -> tuple[int, Any]:
    body = {"args": args, "context": {"guard": "clean", "intent_confidence": 1.0}}
    result: tuple[int, Any] = await gateway.send("POST", f"/v1/tools/{tool}", body, service=service, **headers)
    return result


async def test_a_bad_assertion_is_401_with_one_body_for_every_order_and_before_any_look_up(gateway: Any) -> None:
    expired, forged = gateway.session(ttl_s=-60), gateway.session()[:-6] + "AAAAAA"
    bodies = set()
    for assertion in (expired, forged, "", "x.y.z", gateway.staff(), gateway.job("4417028", "refund")):
        for order_id in ("4417028", "9999999", "not an order"):
            status, body = await call(gateway, "get_order", {"order_id": order_id}, X_Session_Assertion=assertion)
            assert status == 401
            bodies.add(str(body))
    assert len(bodies) == 1
    assert gateway.provider.calls == []


async def test_a_missing_or_foreign_credential_opens_nothing(gateway: Any) -> None:
    session = gateway.session()
    assert (await call(gateway, "get_order", GET, service=None, X_Session_Assertion=session))[0] == 401
    assert (
        await call(gateway, "get_order", GET, X_Session_Assertion=session, Authorization=gateway.bearer(ttl_s=-60))
    )[0] == 401
    assert (await call(gateway, "get_order", GET))[0] == 401
    assert (await call(gateway, "get_order", GET, service="gateway", X_Session_Assertion=session))[0] == 403
    assert (await call(gateway, "get_order", GET, service="approvals", X_Session_Assertion=session))[0] == 401
    assert (
        await call(gateway, "cancel_order", GET, service="reconciler", X_Job_Assertion=gateway.job("4417028", "refund"))
    )[0] == 403
    assert gateway.provider.calls == []


async def test_anothers_order_reads_exactly_like_a_missing_one(gateway: Any) -> None:
    gateway.provider.put_order("8800001", "C-2002")
    theirs = await gateway.tool("get_order", {"order_id": "8800001"})
    missing = await gateway.tool("get_order", {"order_id": "8800002"})
    assert (
        theirs == missing == {"status": "not_found", "result": {"reason": "the signed-in customer has no such order"}}
    )
    looked_up = [what for what, _ in gateway.provider.calls]
    assert looked_up == ["order", "order"]


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("issue_refund", {"line_id": "L2", "amount": "64.00", "reason": "damaged"}),
        ("cancel_order", {"reason": "x"}),
        ("change_address", {"address": {"line1": "1", "city": "c", "postal_code": "1", "country": "US"}}),
        ("create_return_label", {"line_ids": ["L2"], "reason": "x"}),
    ],
)
async def test_bb_inj_03_no_write_reaches_another_customers_order(
    gateway: Any, tool: str, more: dict[str, Any]
) -> None:
    gateway.provider.put_order("8800001", "C-2002")
    theirs = await gateway.tool(tool, {"order_id": "8800001", **more})
    missing = await gateway.tool(tool, {"order_id": "8800002", **more})
    assert theirs == missing
    assert theirs["status"] == "not_found"
    assert await gateway.pool.fetchval("select count(*) from actions") == 0


async def test_list_orders_shows_only_ones_own_whatever_the_order_system_says(gateway: Any) -> None:
    gateway.provider.put_order("8800001", "C-2002")
    orders = (await gateway.tool("list_orders", {}))["result"]["orders"]
    assert [order["order_id"] for order in orders] == ["4417028"]


async def test_a_model_s_wrong_arguments_are_invalid_and_a_malformed_body_is_422(gateway: Any) -> None:
    for args in ({}, {"order_id": 5}, [], None, "x", {**GET, "customer_id": "C-2002"}):
        assert (await call(gateway, "get_order", args, X_Session_Assertion=gateway.session()))[1]["status"] == "invalid"
    headers = {"Authorization": gateway.bearer(), "X-Session-Assertion": gateway.session()}
    for raw in (b"", b"{", b"[]", b'{"args":{},"context":3}', b'{"context":{}}', b'{"args":{"a":NaN}}', b"[" * 5000):
        async with gateway.http.post(f"{gateway.url}/v1/tools/get_order", data=raw, headers=headers) as answer:
            assert answer.status == 422, raw
    assert (await call(gateway, "issue_store_credit", {}, X_Session_Assertion=gateway.session()))[0] == 404


async def test_a_job_refunds_only_the_order_it_names(gateway: Any) -> None:
    args = {"order_id": "4417028", "line_id": "shipping", "amount": "7.50", "reason": "late"}
    other = gateway.job("4417029", "refund")
    answer = await call(gateway, "issue_refund", args, service="reconciler", X_Job_Assertion=other)
    assert answer[1]["status"] == "not_found"
    mine = gateway.job("4417028", "refund")
    answer = await call(gateway, "issue_refund", args, service="reconciler", X_Job_Assertion=mine)
    assert answer[1]["status"] == "succeeded"
    row = await gateway.row("refund:4417028:shipping")
    assert (row["customer_id"], row["requested_by"]) == ("C-1001", "reconciler")
    assert [e["inline"] for e in await gateway.events()] == [False, False]


async def test_an_account_field_needs_the_one_time_code(gateway: Any) -> None:
    args = {"field": "email", "value": "maya@new.example"}
    before = await gateway.tool("update_account_field", args)
    assert (before["status"], before["result"]["reason"]) == ("denied", "step_up_required")
    stepped_up = gateway.session("C-1001", "conv_1", "otp")
    after = await gateway.tool("update_account_field", args, session=stepped_up)
    assert (after["status"], after["result"]["key"]) == ("succeeded", "account_change:C-1001:email:1")
    assert gateway.provider.customers["C-1001"]["email"] == "maya@new.example"
    assert (await gateway.tool("update_account_field", args, session=stepped_up))["result"]["repeated"] is True
    back = await gateway.tool("update_account_field", {**args, "value": "maya@example.com"}, session=stepped_up)
    assert back["result"]["key"] == "account_change:C-1001:email:2"


async def test_orders_that_have_not_left_can_be_changed_and_cancelled(gateway: Any) -> None:
    gateway.provider.put_order("7700001", status="processing", delivered_at=None, shipped_at=None)
    address = {"line1": "5 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}
    moved = await gateway.tool("change_address", {"order_id": "7700001", "address": address})
    assert (moved["status"], moved["result"]["key"]) == ("succeeded", "address_change:7700001:1")
    assert gateway.provider.orders["7700001"]["address"] == address
    gone = await gateway.tool("cancel_order", {"order_id": "7700001", "reason": "changed my mind"})
    assert (gone["status"], gone["result"]["amount"]) == ("succeeded", "360.50")
    refund = await gateway.refund("L1", "39.00", order="7700001")
    assert refund["status"] == "denied"
    late = await gateway.tool("cancel_order", {"order_id": "4417028", "reason": "x"})
    assert (late["status"], late["result"]["reason"]) == ("denied", "already_shipped")


async def test_a_return_label_is_made_once_for_the_same_lines(gateway: Any) -> None:
    one = await gateway.tool("create_return_label", {"order_id": "4417028", "line_ids": ["L2", "L1"], "reason": "x"})
    two = await gateway.tool("create_return_label", {"order_id": "4417028", "line_ids": ["L1", "L2"], "reason": "y"})
    assert one["result"]["reference"] == two["result"]["reference"]
    assert two["result"]["repeated"] is True
    assert len(gateway.provider.labels["4417028"]) == 1


async def test_an_open_refund_and_a_cancellation_exclude_each_other(gateway: Any) -> None:
    await gateway.refund("L3", "250.00")
    gateway.provider.orders["4417028"]["status"] = "processing"
    denied = await gateway.tool("cancel_order", {"order_id": "4417028", "reason": "x"})
    assert (denied["status"], denied["result"]["reason"]) == ("denied", "order_has_refund")


async def test_routes_of_other_services_stay_shut(gateway: Any) -> None:
    for method, path, service in [
        ("GET", "/v1/reconcile/pending", "agent"),
        ("POST", "/v1/approvals/escalate-overdue", "approvals"),
        ("GET", "/v1/actions?conversation_id=c", "gateway"),
        ("POST", "/v1/actions/x/resume", "agent"),
        ("POST", "/v1/approvals/x/decision", "agent"),
    ]:
        assert (await gateway.send(method, path, {}, service=service))[0] == 403, path


async def test_a_customers_record_opens_to_their_session_and_to_the_staff_who_serves_them(gateway: Any) -> None:
    mine = await gateway.send("GET", "/v1/customer", X_Session_Assertion=gateway.session())
    served = await gateway.send(
        "GET", "/v1/customer", service="approvals", X_Staff_Assertion=gateway.staff(customer_id="C-1001")
    )
    assert mine == served
    assert mine[0] == 200
    assert {"name", "tier", "lifetime_value", "open_tickets"} <= mine[1].keys()
    assert "fraud_score" not in mine[1]


async def test_a_customers_record_stays_shut_without_the_right_service_and_statement(gateway: Any) -> None:
    staff, session = gateway.staff(customer_id="C-1001"), gateway.session()
    calls: list[dict[str, Any]] = [
        {"service": "approvals"},
        {"service": "approvals", "X_Session_Assertion": session},
        {"service": "approvals", "X_Staff_Assertion": gateway.staff()},
        {"service": "agent", "X_Staff_Assertion": staff},
        {"service": "agent"},
    ]
    assert [(await gateway.send("GET", "/v1/customer", **call))[0] for call in calls] == [401] * 5
    barred = await gateway.send("GET", "/v1/customer", service="reconciler", X_Staff_Assertion=staff)
    assert barred[0] == 403
    assert gateway.provider.calls == []


async def test_a_ledger_row_tells_the_agent_whose_it_is_and_nobody_else(gateway: Any) -> None:
    await gateway.refund("L2", "64.00")
    path = "/v1/actions/refund%3A4417028%3AL2/customer"
    status, body = await gateway.send("GET", path)
    assert (status, body["customer_id"]) == (200, "C-1001")
    assert "fraud_score" not in body
    assert [(await gateway.send("GET", path, service=s))[0] for s in ("approvals", "reconciler", None)] == [
        403, 403, 401,
    ]  # fmt: skip
    assert (await gateway.send("GET", "/v1/actions/refund%3A4417028%3AL9/customer"))[0] == 404
