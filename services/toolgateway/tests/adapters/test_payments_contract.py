"""One contract, every provider: the sandbox's wire, and Stripe's by its SDK, each before a stand-in that keeps keys."""

import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from common.errors import Malformed, OutcomeUnknown, Refused, Transient
from common.http import ServiceClient
from toolgateway.adapters.calls import Caller, KeyInUse, KeyMismatch, Missing, StoredFailure
from toolgateway.adapters.payments import Payments, RefundRequest, SandboxPayments
from toolgateway.adapters.stripe_payments import StripePayments

SECRET = "whsec-contract"
FORM_FAULTS = {
    "500": (500, {"type": "api_error", "code": "internal", "message": "x"}),
    "429": (429, {"type": "invalid_request_error", "code": "lock_timeout", "message": "x"}),
    "409": (409, {"type": "invalid_request_error", "code": "idempotency_key_in_use", "message": "x"}),
    "402": (402, {"type": "card_error", "code": "charge_disputed", "message": "x"}),
    "401": (401, {"type": "invalid_request_error", "message": "bad key"}),
}


class StripeStandIn:
    """What the official mock can't do: keys that are kept and forgotten, conflicts, lost answers, late failures."""

    def __init__(self) -> None:
        self.refunds: list[dict[str, Any]] = []
        self.kept: dict[str, tuple[str, int, dict[str, Any]]] = {}
        self.faults: list[str] = []
        self.disputed = False
        self._ids = itertools.count(1)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/refunds", self.create)
        app.router.add_get("/v1/refunds", self.page)
        app.router.add_get("/v1/payment_intents/{intent}", self.intent)
        return app

    async def create(self, request: web.Request) -> web.Response:
        fault = self.faults.pop(0) if self.faults else ""
        if fault in FORM_FAULTS:
            status, error = FORM_FAULTS[fault]
            return web.json_response({"error": error}, status=status)
        key, raw = request.headers["Idempotency-Key"], await request.text()
        if key in self.kept:
            before, status, body = self.kept[key]
            if before != raw:
                error = {"type": "idempotency_error", "message": "Keys for idempotent requests can only be reused"}
                return web.json_response({"error": error}, status=400)
            return web.json_response(body, status=status)
        form = await request.post()
        refund = {
            "id": f"re_{next(self._ids)}",
            "object": "refund",
            "amount": int(str(form["amount"])),
            "currency": "usd",
            "payment_intent": form["payment_intent"],
            "status": "succeeded",
            "metadata": {name: form[f"metadata[{name}]"] for name in ("ledger_key", "order_id", "line_id")},
        }
        self.refunds.append(refund)
        self.kept[key] = (raw, 200, refund)
        if fault == "lost":
            request.transport.close()  # type: ignore[union-attr]
        return web.json_response(refund)

    async def page(self, request: web.Request) -> web.Response:
        mine = [r for r in reversed(self.refunds) if r["payment_intent"] == request.query["payment_intent"]]
        after = request.query.get("starting_after")
        start = next((n + 1 for n, r in enumerate(mine) if r["id"] == after), 0)
        found = mine[start : start + 2]
        return web.json_response(
            {"object": "list", "url": "/v1/refunds", "data": found, "has_more": start + 2 < len(mine)}
        )

    async def intent(self, request: web.Request) -> web.Response:
        refunded = sum(r["amount"] for r in self.refunds if r["status"] != "failed")
        charge = {
            "id": "ch_1", "object": "charge", "amount_captured": 36050, "amount_refunded": refunded,
            "disputed": self.disputed,
        }  # fmt: skip
        return web.json_response(
            {"id": request.match_info["intent"], "object": "payment_intent", "currency": "usd", "latest_charge": charge}
        )


class Case:
    """An adapter, and its stand-in's controls in one vocabulary."""

    def __init__(self, payments: Payments, stand_in: Any, *, order_id: str = "4417028") -> None:
        self.payments, self.stand_in, self.order_id = payments, stand_in, order_id

    def fail_next(self, fault: str) -> None:
        self.stand_in.faults.append(fault)

    def forget_keys(self) -> None:
        (self.stand_in.kept if isinstance(self.stand_in, StripeStandIn) else self.stand_in.answers).clear()

    def dispute(self) -> None:
        if isinstance(self.stand_in, StripeStandIn):
            self.stand_in.disputed = True
        else:
            self.stand_in.disputed.add(self.order_id)

    def late_failure(self) -> None:
        self.stand_in.refunds[-1]["status"] = "failed"

    def request(self, key: str = "refund:4417028:L2", minor: int = 6400, line: str = "L2") -> tuple[str, str]:
        return key, RefundRequest(key, self.order_id, line, minor, "USD").frozen()


async def _serve(app: web.Application) -> tuple[web.AppRunner, str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    await web.SockSite(runner, sock).start()
    return runner, f"http://127.0.0.1:{sock.getsockname()[1]}"


def caller(url: str) -> Caller:
    return Caller("payments", ServiceClient(url, timeout_s=0.5), per_second=1000, tries=1, breaker_after=50)


async def intent_of(order_id: str) -> str | None:
    return None if order_id == "9999999" else f"pi_{order_id}"


@pytest.fixture(params=["sandbox", "stripe"])
async def case(request: pytest.FixtureRequest, provider: Any) -> AsyncIterator[Case]:
    stand_in = StripeStandIn() if request.param == "stripe" else provider
    runner, url = await _serve(stand_in.app())
    calls = caller(f"{url}/payments" if request.param == "sandbox" else url)
    if request.param == "sandbox":
        yield Case(SandboxPayments(calls, SECRET, timeout_s=0.5), stand_in)
    else:
        stripe = StripePayments(
            calls, intent_of, api_key="sk_test_x", webhook_secret=SECRET, timeout_s=0.5, base_url=url
        )
        yield Case(stripe, stand_in)
        await stripe.close()
    await calls.close()
    await runner.cleanup()


async def test_a_refund_is_made_listed_and_counted(case: Case) -> None:
    made = await case.payments.refund(*case.request())
    [listed] = await case.payments.list_refunds(case.order_id)
    assert listed == made
    assert (made.key, made.line_id, made.amount_minor, made.currency) == ("refund:4417028:L2", "L2", 6400, "USD")
    payment = await case.payments.load_payment(case.order_id)
    assert (payment.captured_minor, payment.refunded_minor, payment.disputed) == (36050, 6400, False)


async def test_the_same_key_and_bytes_pay_once(case: Case) -> None:
    first, second = [await case.payments.refund(*case.request()) for _ in range(2)]
    assert first == second
    assert len(await case.payments.list_refunds(case.order_id)) == 1


async def test_the_same_key_with_other_bytes_is_a_named_mismatch(case: Case) -> None:
    await case.payments.refund(*case.request())
    with pytest.raises(KeyMismatch):
        await case.payments.refund(*case.request(minor=100))


async def test_every_page_of_the_list_is_read(case: Case) -> None:
    for n in range(5):
        await case.payments.refund(*case.request(f"refund:4417028:L{n}", 100, f"L{n}"))
    listed = await case.payments.list_refunds(case.order_id)
    assert sorted(r.line_id or "" for r in listed) == ["L0", "L1", "L2", "L3", "L4"]


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [("500", StoredFailure), ("429", Transient), ("409", KeyInUse), ("402", Refused), ("lost", OutcomeUnknown)],
)
async def test_each_failure_says_what_it_knows_about_the_money(
    case: Case, fault: str, verdict: type[Exception]
) -> None:
    case.fail_next(fault)
    with pytest.raises(verdict):
        await case.payments.refund(*case.request())
    moved = len(await case.payments.list_refunds(case.order_id))
    assert moved == (1 if fault == "lost" else 0)


async def test_forgotten_keys_are_why_a_retry_looks_first(case: Case) -> None:
    case.fail_next("lost")
    with pytest.raises(OutcomeUnknown):
        await case.payments.refund(*case.request())
    case.forget_keys()
    [found] = await case.payments.list_refunds(case.order_id)
    assert found.key == "refund:4417028:L2"


async def test_a_late_failure_is_listed_as_failed_and_a_dispute_is_seen(case: Case) -> None:
    await case.payments.refund(*case.request())
    case.late_failure()
    case.dispute()
    [listed] = await case.payments.list_refunds(case.order_id)
    assert listed.status == "failed"
    payment = await case.payments.load_payment(case.order_id)
    assert (payment.refunded_minor, payment.disputed) == (0, True)


async def test_an_order_without_a_payment_is_missing(case: Case) -> None:
    with pytest.raises(Missing):
        await case.payments.load_payment("9999999")


def signed(payments: Payments, body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    import hashlib
    import hmac

    stamp = str(int(time.time() if at is None else at))
    mac = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    name = "stripe-signature" if isinstance(payments, StripePayments) else "x-payments-signature"
    return {name: f"t={stamp},v1={mac}"}


async def test_a_webhook_counts_only_signed_and_recent(case: Case) -> None:
    names = {"order_id": "4417028", "ledger_key": "refund:4417028:L2"}
    data: dict[str, Any] = {"order_id": "4417028", "idempotency_key": "refund:4417028:L2"}
    if isinstance(case.payments, StripePayments):
        data = {"object": {"id": "re_1", "metadata": names}}
    body = json.dumps({"id": "evt_1", "type": "refund.failed", "data": data}).encode()
    now = datetime.now(UTC)
    event = case.payments.read_event(signed(case.payments, body), body, now)
    assert (event.event_id, event.order_id, event.key) == ("evt_1", "4417028", "refund:4417028:L2")
    for headers in (
        {},
        signed(case.payments, body, "other"),
        signed(case.payments, body, at=time.time() - 3_600),
        signed(case.payments, body + b" "),
    ):
        with pytest.raises(Malformed):
            case.payments.read_event(headers, body, now)


@pytest.fixture(scope="module")
def stripe_mock() -> Iterator[str]:
    """Stripe's own mock server, a Go program."""
    program = shutil.which("stripe-mock") or shutil.which(str(Path.home() / "go" / "bin" / "stripe-mock"))
    if program is None:
        pytest.skip("stripe-mock is not installed: go install github.com/stripe/stripe-mock@v0.203.0 needs Go")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([program, "-http-port", str(port)], stdout=subprocess.DEVNULL) as process:
        for _ in range(100):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


async def test_stripes_own_mock_takes_our_requests_and_we_read_its_answers(stripe_mock: str) -> None:
    calls = caller(stripe_mock)
    payments = StripePayments(
        calls, intent_of, api_key="sk_test_123", webhook_secret=SECRET, timeout_s=5, base_url=stripe_mock
    )
    _, frozen = Case(payments, None).request()
    made = await payments.refund("refund:4417028:L2", frozen)
    assert made.refund_id
    assert made.amount_minor > 0
    assert await payments.list_refunds("4417028")
    wrong = json.dumps({**json.loads(frozen), "amount_minor": "a lot"})
    with pytest.raises(Refused):
        await payments.refund("refund:4417028:L3", wrong)
    await payments.close()
    await calls.close()
