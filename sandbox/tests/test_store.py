"""Commerce, mail, guard, logins, the controls' contract table, and durability across kill -9."""

import threading
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def test_cancelling_gives_back_what_is_left_line_by_line_and_only_once(sandbox: Any, processing_order: str) -> None:
    order = processing_order
    sandbox.refund("before" + order, order, "L1", 3900)
    answers = [sandbox.call("POST", f"/commerce/orders/{order}/cancel", {}, f"cancel:{order}") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["status"], answers[0].json()["amount"]) == ("cancelled", "321.50")
    returned = {r["line_id"]: r["amount"] for r in sandbox.moved(order) if r["idempotency_key"] == f"cancel:{order}"}
    assert returned == {"L2": "64.00", "L3": "250.00", "shipping": "7.50"}
    assert sandbox.call("GET", f"/_sandbox/orders/{order}").json()["status"] == "cancelled"
    assert sandbox.call("POST", f"/commerce/orders/{order}/cancel", {}, "another").status_code == 409


def test_a_cancellation_whose_answer_is_lost_has_happened(sandbox: Any, processing_order: str) -> None:
    order = processing_order
    sandbox.fault("timeout_after_effect", "orders", delay_ms=20)
    assert sandbox.call("GET", f"/commerce/orders/{order}").status_code == 200, "reads don't use it up"
    assert sandbox.call("POST", f"/commerce/orders/{order}/cancel", {}, f"cancel:{order}").status_code == 504
    assert len(sandbox.moved(order)) == 4
    assert (
        sandbox.call("POST", f"/commerce/orders/{order}/cancel", {}, f"cancel:{order}").json()["status"] == "cancelled"
    )
    assert len(sandbox.moved(order)) == 4


def test_a_shipped_order_can_be_neither_cancelled_nor_readdressed(sandbox: Any, order_id: str) -> None:
    assert sandbox.call("POST", f"/commerce/orders/{order_id}/cancel", {}, "c" + order_id).status_code == 409
    address = {"line1": "2 Oak", "city": "X", "postal_code": "1", "country": "US"}
    assert sandbox.call("PUT", f"/commerce/orders/{order_id}/address", address, "a" + order_id).status_code == 409
    assert sandbox.moved(order_id) == []


def test_every_change_raises_the_orders_version(sandbox: Any, processing_order: str, fresh_order: Any) -> None:
    path = f"/commerce/orders/{processing_order}"
    before = sandbox.call("GET", path).json()
    address = {"line1": "2 Oak", "city": "Springfield", "postal_code": "62704", "country": "US"}
    sandbox.call("PUT", f"{path}/address", address, "v" + processing_order)
    after = sandbox.call("GET", path).json()
    assert (after["address"], after["version"]) == (address, before["version"] + 1)
    sandbox.call("PUT", f"/_sandbox/orders/{processing_order}", fresh_order)
    assert sandbox.call("GET", path).json()["version"] == before["version"] + 2


def test_a_label_is_made_once_per_key_and_listed(sandbox: Any, order_id: str) -> None:
    made = [
        sandbox.call("POST", f"/commerce/orders/{order_id}/labels", {"line_ids": ["L2"]}, "lb").json() for _ in range(2)
    ]
    assert made[0] == made[1]
    listed = sandbox.call("GET", f"/_sandbox/labels?order_id={order_id}").json()
    assert [label["label_id"] for label in listed] == [made[0]["label_id"]]
    assert sandbox.call("GET", f"/commerce/orders/{order_id}/labels").json()["items"] == listed
    unknown = sandbox.call("POST", f"/commerce/orders/{order_id}/labels", {"line_ids": ["L9"]}, "lb9")
    assert unknown.status_code == 422


def test_an_account_field_changes_and_customers_are_found_by_phone_and_email(sandbox: Any) -> None:
    body = {"name": "Zoe", "email": "zoe@example.com", "phone": "+15550177", "fraud_score": 0.1}
    assert sandbox.call("PUT", "/_sandbox/customers/C-7", body).status_code == 200
    change = {"field": "email", "value": "Zoe2@example.com"}
    assert sandbox.call("PATCH", "/commerce/customers/C-7", change, "acc-1").status_code == 200
    assert sandbox.call("GET", "/_sandbox/customers/C-7").json()["email"] == "Zoe2@example.com"
    for query in ("phone=%2B15550177", "email=zoe2@example.com"):
        found = sandbox.call("GET", f"/commerce/customers?{query}").json()["items"]
        assert [customer["customer_id"] for customer in found] == ["C-7"]
    assert sandbox.call("GET", "/commerce/customers").status_code == 400
    assert (
        sandbox.call("PATCH", "/commerce/customers/C-7", {"field": "address", "value": "x"}, "acc-2").status_code == 422
    )


def test_mail_is_kept_for_its_reader_oldest_first(sandbox: Any) -> None:
    for text in ("one", "two"):
        mail = {"to": "box@example.com", "channel": "email", "subject": "Code", "text": text}
        assert sandbox.call("POST", "/mail", mail).status_code == 202
    kept = sandbox.call("GET", "/_sandbox/mail?to=box@example.com").json()
    assert [item["text"] for item in kept] == ["one", "two"]
    assert set(kept[0]) == {"to", "channel", "subject", "text", "at"}


def test_the_guard_judges_and_can_be_down(sandbox: Any) -> None:
    ask = {"text": "Where is my parcel?", "where": "customer"}
    assert sandbox.call("POST", "/guard", ask).json() == {"verdict": "clean", "reasons": []}
    sandbox.fault("down", "guard")
    assert [sandbox.call("POST", "/guard", ask).status_code for _ in range(2)] == [503, 503], "down until cleared"
    sandbox.call("DELETE", "/_sandbox/faults")
    assert sandbox.call("POST", "/guard", ask).status_code == 200


@pytest.mark.parametrize(
    ("target", "path"),
    [("orders", "/commerce/orders/{}"), ("shipping", "/tracking/{}"), ("shipping", "/commerce/orders/{}/labels")],
)
def test_reads_of_the_store_suffer_outages(sandbox: Any, order_id: str, target: str, path: str) -> None:
    for kind, status in (("error_500", 500), ("error_429", 429), ("down", 503)):
        sandbox.fault(kind, target, times=1)
        assert sandbox.call("GET", path.format(order_id)).status_code == status
        assert sandbox.call("GET", path.format(order_id)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/_sandbox/customers/C-1", {"name": "A"}, 422),
        ("PUT", "/_sandbox/customers/C-1", {"name": "A", "email": "a@b.c", "tier": "gold"}, 422),
        ("PUT", "/_sandbox/customers/C-1", {"name": "A", "email": "a@b.c", "fraud_score": 1.5}, 422),
        ("PUT", "/_sandbox/orders/1", {"status": "flying"}, 422),
        ("GET", "/_sandbox/orders/404404", None, 404),
        ("GET", "/_sandbox/customers/nobody", None, 404),
        ("GET", "/_sandbox/refunds?order_id=404404", None, 200),
        ("GET", "/_sandbox/labels", None, 200),
        ("GET", "/_sandbox/mail", None, 200),
        ("POST", "/_sandbox/refunds", {"order_id": "404404", "amount": "1.00", "currency": "USD"}, 404),
        ("POST", "/_sandbox/refunds", {"order_id": "404404", "amount": "1", "currency": "USD"}, 422),
        ("POST", "/_sandbox/faults", {"target": "payments", "kind": "gremlins"}, 422),
        ("POST", "/_sandbox/faults", {"target": "guard", "kind": "dispute"}, 422),
        ("POST", "/_sandbox/faults", {"target": "payments", "kind": "slow", "times": 0}, 422),
        ("POST", "/_sandbox/faults", {"target": "payments", "kind": "slow", "delay_ms": -1}, 422),
        ("DELETE", "/_sandbox/faults", None, 204),
        ("POST", "/_sandbox/model/scripts", {"match": {"text_contains": "x"}, "turns": []}, 422),
        ("POST", "/_sandbox/model/scripts", {"match": {"text_contains": "x"}, "turns": [{}]}, 422),
        ("POST", "/_sandbox/model/scripts", {"turns": [{"text": "hi"}]}, 422),
        ("PUT", "/_sandbox/model/persona", {"persona": "saint"}, 422),
        ("GET", "/_sandbox/model/calls", None, 200),
        ("GET", "/_sandbox/nothing", None, 404),
        ("PUT", "/_sandbox/refunds", {}, 405),
        ("GET", "/login/jwks.json", None, 200),
        ("GET", "/staff-login/jwks.json", None, 200),
        ("GET", "/livez", None, 200),
        ("GET", "/openapi.json", None, 200),
    ],
)
def test_the_controls_keep_their_contract(sandbox: Any, method: str, path: str, body: Any, status: int) -> None:
    answer = sandbox.call(method, path, body)
    assert answer.status_code == status
    if status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
    elif path.startswith("/_sandbox/") and method == "GET":
        assert isinstance(answer.json(), list)


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff\xfe", b"[]", b"null", b'{"customer_id":"\\ud800"}', b'{"fraud_score":NaN}']
)
def test_broken_bodies_never_make_a_500(sandbox: Any, raw: bytes) -> None:
    for method, path in (
        ("PUT", "/_sandbox/orders/1"),
        ("PUT", "/_sandbox/customers/C-1"),
        ("POST", "/_sandbox/faults"),
        ("POST", "/_sandbox/model/scripts"),
        ("POST", "/payments/v1/refunds"),
        ("POST", "/mail"),
    ):
        answer = sandbox.client.request(method, path, content=raw, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, (path, answer.text)


@pytest.mark.parametrize(
    ("currency", "paid", "status"),
    [
        ("JPY", "6400", 200),
        ("JPY", "64.00", 422),
        ("KWD", "30.000", 200),
        ("KWD", "30.00", 422),
        ("USD", "1e3", 422),
        ("USD", "-1.00", 422),
        ("usd", "1.00", 422),
        ("CHF", "1.00", 200),
    ],
)
def test_amounts_have_exactly_their_currencys_decimals(
    sandbox: Any, fresh_order: Any, currency: str, paid: str, status: int
) -> None:
    line = {"line_id": "L1", "title": "Thing", "quantity": 1, "paid": paid}
    body = {**fresh_order, "currency": currency, "lines": [line]}
    assert sandbox.call("PUT", "/_sandbox/orders/6000001", body).status_code == status


def test_everything_stands_after_kill_9(own_sandbox: Any, fresh_order: Any) -> None:
    sandbox = own_sandbox
    sandbox.call("PUT", "/_sandbox/customers/C-1001", {"name": "Maya", "email": "maya@example.com"})
    sandbox.call("PUT", "/_sandbox/orders/4417028", fresh_order)
    answer = sandbox.refund("refund:4417028:L2", "4417028").json()
    sandbox.call("POST", "/commerce/orders/4417028/labels", {"line_ids": ["L1"]}, "label")
    sandbox.call("POST", "/mail", {"to": "maya@example.com", "channel": "email", "subject": "s", "text": "123456"})
    sandbox.fault("late_failure", delay_ms=300)
    sandbox.call("PUT", "/_sandbox/model/persona", {"persona": "looper"})
    script = {"match": {"text_contains": "zebra"}, "turns": [{"text": "scripted"}]}
    sandbox.call("POST", "/_sandbox/model/scripts", script)
    paths = [
        "/_sandbox/customers/C-1001",
        "/_sandbox/orders/4417028",
        "/_sandbox/refunds",
        "/_sandbox/labels",
        "/_sandbox/mail",
        "/_sandbox/faults",
        "/_sandbox/model/persona",
    ]
    before = [sandbox.call("GET", path).json() for path in paths]
    sandbox.kill()
    sandbox.start()
    assert [sandbox.call("GET", path).json() for path in paths] == before
    assert sandbox.refund("refund:4417028:L2", "4417028").json() == answer, "the key is remembered"
    assert len(sandbox.moved("4417028")) == 1
    question = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a zebra"}]}
    said = sandbox.client.post("/anthropic/v1/messages", json=question, headers={"x-api-key": "k"}).json()
    assert said["content"] == [{"type": "text", "text": "scripted"}]


def test_the_logins_public_keys_verify_what_their_private_halves_sign(tmp_path: Path, start_with: Any) -> None:
    tokens = {}
    for name in ("login", "stafflogin"):
        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(pem)
        tokens[name] = jwt.encode({"sub": "C-1001"}, private, algorithm="EdDSA", headers={"kid": f"{name}-1"})
    running = start_with({"SANDBOX_KEYS_DIR": str(tmp_path)})
    for path, name in (("/login/jwks.json", "login"), ("/staff-login/jwks.json", "stafflogin")):
        (key,) = running.call("GET", path).json()["keys"]
        assert key["kid"] == jwt.get_unverified_header(tokens[name])["kid"]
        assert "d" not in key, "the private half stays where it is"
        assert jwt.decode(tokens[name], jwt.PyJWK(key), algorithms=["EdDSA"])["sub"] == "C-1001"


def test_a_late_failure_still_comes_after_kill_9(own_sandbox: Any, fresh_order: Any) -> None:
    own_sandbox.call("PUT", "/_sandbox/orders/4417028", fresh_order)
    own_sandbox.fault("late_failure", delay_ms=100)
    own_sandbox.refund("late", "4417028")
    own_sandbox.kill()
    own_sandbox.start()
    for _ in range(200):
        if own_sandbox.moved("4417028")[0]["status"] == "failed":
            return
    pytest.fail("the refund never failed")


def test_killed_in_the_middle_of_many_refunds_every_answered_one_stands(own_sandbox: Any, fresh_order: Any) -> None:
    lines = [{"line_id": f"L{n}", "title": "Thing", "quantity": 1, "paid": "1.00"} for n in range(400)]
    own_sandbox.call("PUT", "/_sandbox/orders/4417028", {**fresh_order, "lines": lines})
    answered: list[str] = []
    enough = threading.Event()

    def pay() -> None:
        for n in range(400):
            try:
                if own_sandbox.refund(f"k{n}", "4417028", f"L{n}", 100).status_code == 200:
                    answered.append(f"k{n}")
            except httpx2.TransportError:
                return
            if n == 20:
                enough.set()

    thread = threading.Thread(target=pay)
    thread.start()
    assert enough.wait(20)
    own_sandbox.process.kill()
    thread.join()
    own_sandbox.kill()
    own_sandbox.start()
    kept = [refund["idempotency_key"] for refund in own_sandbox.moved("4417028")]
    assert len(kept) == len(set(kept))
    assert set(answered) <= set(kept)
    assert 20 < len(kept) < 400
