"""The payment provider: idempotency keys, every fault, paging and webhooks, seen from outside."""

import hashlib
import hmac
import json
import threading
import time
from typing import Any

import httpx2
import pytest


def test_a_refund_moves_money_once_however_often_its_key_is_sent(sandbox: Any, order_id: str) -> None:
    first, again = sandbox.refund("k1" + order_id, order_id), sandbox.refund("k1" + order_id, order_id)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    moved = sandbox.moved(order_id)
    assert [(refund["line_id"], refund["amount"], refund["status"]) for refund in moved] == [
        ("L2", "64.00", "succeeded")
    ]
    assert moved[0]["idempotency_key"] == "k1" + order_id


def test_the_same_key_with_another_body_is_a_mismatch_and_moves_nothing(sandbox: Any, order_id: str) -> None:
    sandbox.refund("m" + order_id, order_id)
    other = sandbox.refund("m" + order_id, order_id, minor=100)
    assert other.status_code == 400
    assert other.json()["error"]["code"] == "idempotency_mismatch"
    assert len(sandbox.moved(order_id)) == 1


def test_forgotten_keys_pay_again_and_only_the_captured_rest_stands_in_the_way(sandbox: Any, order_id: str) -> None:
    sandbox.refund("e" + order_id, order_id)
    assert sandbox.call("POST", "/_sandbox/payments/expire-keys").json()["forgotten"] >= 1
    assert sandbox.refund("e" + order_id, order_id).status_code == 200
    assert len(sandbox.moved(order_id)) == 2
    too_much = sandbox.refund("rest" + order_id, order_id, minor=36050)
    assert (too_much.status_code, too_much.json()["error"]["code"]) == (402, "amount_too_large")


def test_an_answer_lost_after_the_effect_has_moved_money_and_the_key_finds_it(sandbox: Any, order_id: str) -> None:
    sandbox.fault("timeout_after_effect", delay_ms=50)
    assert sandbox.refund("t" + order_id, order_id).status_code == 504
    assert len(sandbox.moved(order_id)) == 1
    assert sandbox.refund("t" + order_id, order_id).json()["status"] == "succeeded"
    assert len(sandbox.moved(order_id)) == 1


def test_a_client_that_gives_up_waiting_leaves_a_refund_that_moved(sandbox: Any, order_id: str) -> None:
    sandbox.fault("timeout_after_effect", delay_ms=1500)
    body = {"order_id": order_id, "line_id": "L2", "amount_minor": 6400, "currency": "USD", "metadata": {}}
    headers = {"Idempotency-Key": "gone" + order_id}
    with pytest.raises(httpx2.TimeoutException):
        httpx2.post(f"{sandbox.url}/payments/v1/refunds", json=body, headers=headers, timeout=0.3)
    assert len(sandbox.moved(order_id)) == 1


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("timeout_before_effect", 504, "timeout"),
        ("error_500", 500, "internal"),
        ("error_429", 429, "rate_limited"),
        ("down", 503, "unavailable"),
        ("conflict_409", 409, "idempotency_key_in_use"),
        ("param_mismatch", 400, "idempotency_mismatch"),
    ],
)
def test_faults_before_the_effect_move_nothing_and_are_over_after_their_times(
    sandbox: Any, order_id: str, kind: str, status: int, code: str
) -> None:
    sandbox.fault(kind, times=2, delay_ms=20)
    for _ in range(2):
        answer = sandbox.refund(kind + order_id, order_id)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert ("retry-after" in answer.headers) == (status == 429)
    assert sandbox.moved(order_id) == []
    assert sandbox.refund(kind + order_id, order_id).status_code == 200


@pytest.mark.parametrize(("kind", "status"), [("stored_500", 500), ("refuse", 402)])
def test_a_stored_failure_is_replayed_for_ever_under_its_key(
    sandbox: Any, order_id: str, kind: str, status: int
) -> None:
    sandbox.fault(kind)
    assert [sandbox.refund("s" + order_id, order_id).status_code for _ in range(4)] == [status] * 4
    assert sandbox.moved(order_id) == []
    assert sandbox.refund("s" + order_id + "~2", order_id).status_code == 200


def test_a_key_that_is_still_being_worked_on_is_a_conflict(sandbox: Any, order_id: str) -> None:
    sandbox.fault("slow", delay_ms=800)
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(_own_refund(sandbox, "p" + order_id, order_id)))
    thread.start()
    until = time.monotonic() + 5
    # The fault is used up the moment the slow call has the key.
    while sandbox.call("GET", "/_sandbox/faults").json() and time.monotonic() < until:
        time.sleep(0.01)
    assert sandbox.refund("p" + order_id, order_id).json()["error"]["code"] == "idempotency_key_in_use"
    thread.join()
    assert answers == [200]
    assert len(sandbox.moved(order_id)) == 1


def test_an_order_id_narrows_a_fault_to_that_order(sandbox: Any, order_id: str, processing_order: str) -> None:
    sandbox.fault("error_500", order_id=order_id)
    assert sandbox.refund("n" + processing_order, processing_order).status_code == 200
    assert sandbox.refund("n" + order_id, order_id).status_code == 500


def test_look_ups_do_not_use_up_a_fault_meant_for_the_refund(sandbox: Any, order_id: str) -> None:
    sandbox.fault("error_500")
    assert sandbox.call("GET", f"/payments/v1/payments/{order_id}").status_code == 200
    assert sandbox.call("GET", f"/payments/v1/refunds?order_id={order_id}").status_code == 200
    assert sandbox.refund("l" + order_id, order_id).status_code == 500


def test_a_late_failure_is_listed_as_failed_and_its_money_can_be_refunded_again(
    sandbox: Any, order_id: str, receiver: Any
) -> None:
    sandbox.fault("late_failure", delay_ms=200)
    assert sandbox.refund("f" + order_id, order_id).json()["status"] == "succeeded"
    kinds = [_take(receiver, order_id)["type"], _take(receiver, order_id)["type"]]
    assert sorted(kinds) == ["refund.failed", "refund.updated"]
    assert [refund["status"] for refund in sandbox.moved(order_id)] == ["failed"]
    assert sandbox.call("GET", f"/payments/v1/payments/{order_id}").json()["refunded_minor"] == 0


def test_a_dispute_takes_the_whole_payment_and_ends_refunds(sandbox: Any, order_id: str, receiver: Any) -> None:
    sandbox.fault("dispute")
    assert sandbox.refund("d" + order_id, order_id).status_code == 200
    payment = sandbox.call("GET", f"/payments/v1/payments/{order_id}").json()
    assert (payment["disputed"], payment["disputed_minor"]) == (True, 36050)
    assert sandbox.refund("d2" + order_id, order_id, "L1", 100).json()["error"]["code"] == "charge_disputed"
    assert {_take(receiver, order_id)["type"], _take(receiver, order_id)["type"]} == {
        "dispute.created",
        "refund.updated",
    }


def test_webhooks_are_signed_and_tried_again_until_taken(sandbox: Any, order_id: str, receiver: Any) -> None:
    receiver.refuse(order_id)
    sandbox.refund("w" + order_id, order_id)
    (headers, body), (_, again) = _taken(receiver, order_id), _taken(receiver, order_id)
    assert body == again
    moment, signature = (part.partition("=")[2] for part in headers["x-payments-signature"].split(","))
    expected = hmac.new(b"whsec_test", f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    assert signature == expected
    assert json.loads(body)["data"]["idempotency_key"] == "w" + order_id


def test_a_webhook_may_come_twice_with_the_same_id(sandbox: Any, order_id: str, receiver: Any) -> None:
    sandbox.fault("webhook_twice")
    sandbox.refund("w2" + order_id, order_id)
    assert _take(receiver, order_id)["id"] == _take(receiver, order_id)["id"]


def test_an_early_webhook_arrives_before_the_answer(sandbox: Any, order_id: str, receiver: Any) -> None:
    sandbox.fault("webhook_early")
    answer = sandbox.refund("w3" + order_id, order_id)
    there = [json.loads(body) for _, body in list(receiver.taken.queue)]
    assert order_id in [event["data"]["order_id"] for event in there], "it was there when the answer came"
    assert _take(receiver, order_id)["data"]["refund_id"] == answer.json()["refund_id"]


def test_a_lagging_list_shows_the_refund_only_later(sandbox: Any, order_id: str) -> None:
    sandbox.fault("lookup_lag", delay_ms=400)
    sandbox.refund("g" + order_id, order_id)
    path = f"/payments/v1/refunds?order_id={order_id}"
    assert sandbox.call("GET", path).json()["items"] == []
    assert len(sandbox.moved(order_id)) == 1, "the judge is never late"
    until = time.monotonic() + 5
    while not sandbox.call("GET", path).json()["items"] and time.monotonic() < until:
        time.sleep(0.02)
    assert len(sandbox.call("GET", path).json()["items"]) == 1


def test_a_lag_planned_after_the_refund_hides_it_from_the_next_look_up(sandbox: Any, order_id: str) -> None:
    sandbox.refund("g2" + order_id, order_id)
    sandbox.fault("lookup_lag", delay_ms=5_000)
    assert sandbox.call("GET", f"/payments/v1/refunds?order_id={order_id}").json()["items"] == []


def test_the_list_is_paged_newest_first_without_gap_or_repeat(sandbox: Any, order_id: str) -> None:
    made = [sandbox.refund(f"pg{n}{order_id}", order_id, minor=100 + n).json()["refund_id"] for n in range(5)]
    seen: list[str] = []
    after = ""
    while True:
        page = sandbox.call("GET", f"/payments/v1/refunds?order_id={order_id}&limit=2{after}").json()
        seen += [refund["refund_id"] for refund in page["items"]]
        if not page["has_more"]:
            break
        after = f"&starting_after={seen[-1]}"
    assert seen == made[::-1]
    assert sandbox.call("GET", "/payments/v1/refunds?starting_after=re_none").status_code == 400


def test_the_providers_habit_with_keys_can_be_changed(sandbox: Any, order_id: str) -> None:
    sandbox.call("PUT", "/_sandbox/payments/keys", {"mode": "no_compare"})
    sandbox.refund("h" + order_id, order_id)
    assert sandbox.refund("h" + order_id, order_id, minor=1).json()["amount_minor"] == 6400
    sandbox.call("PUT", "/_sandbox/payments/keys", {"mode": "success_only"})
    sandbox.fault("stored_500")
    assert [sandbox.refund("h2" + order_id, order_id).status_code for _ in range(2)] == [500, 200]


def test_a_refund_from_outside_counts_against_the_payment(sandbox: Any, order_id: str) -> None:
    body = {"order_id": order_id, "line_id": "L3", "amount": "250.00", "currency": "USD"}
    assert sandbox.call("POST", "/_sandbox/refunds", body).status_code == 201
    assert sandbox.call("GET", f"/payments/v1/payments/{order_id}").json()["refunded_minor"] == 25000
    assert sandbox.call("POST", "/_sandbox/refunds", body).status_code == 409


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"amount_minor": 0}, 422),
        ({"amount_minor": 1.5}, 422),
        ({"amount_minor": "64"}, 422),
        ({"amount_minor": 10**30}, 422),
        ({"currency": "EUR"}, 402),
        ({"order_id": "404404"}, 402),
        ({"line_id": "x" * 500}, 422),
    ],
)
def test_bad_refunds_are_refused(sandbox: Any, order_id: str, change: dict[str, Any], status: int) -> None:
    body = {"order_id": order_id, "line_id": "L2", "amount_minor": 6400, "currency": "USD", "metadata": {}, **change}
    assert sandbox.call("POST", "/payments/v1/refunds", body, "bad" + order_id).status_code == status
    assert sandbox.moved(order_id) == []


def test_a_refund_without_a_key_is_refused(sandbox: Any, order_id: str) -> None:
    body = {"order_id": order_id, "line_id": "L2", "amount_minor": 6400, "currency": "USD"}
    assert sandbox.call("POST", "/payments/v1/refunds", body).status_code == 422


def _own_refund(sandbox: Any, key: str, order_id: str) -> int:
    body = {"order_id": order_id, "line_id": "L2", "amount_minor": 6400, "currency": "USD", "metadata": {}}
    return httpx2.post(
        f"{sandbox.url}/payments/v1/refunds", json=body, headers={"Idempotency-Key": key}, timeout=10
    ).status_code


def _taken(receiver: Any, order_id: str) -> tuple[dict[str, str], bytes]:
    """Return the next webhook about this order; those of earlier tests may still be coming in."""
    while True:
        headers, body = receiver.taken.get(timeout=10)
        if json.loads(body)["data"]["order_id"] == order_id:
            return headers, body


def _take(receiver: Any, order_id: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(_taken(receiver, order_id)[1])
    return event
