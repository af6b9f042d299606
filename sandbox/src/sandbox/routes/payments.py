"""The payment provider: keyed refunds, a paged list, a balance, and webhooks."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse

from sandbox.adapters.answers import Answer, AnswerBook, KeyMode
from sandbox.adapters.choices import Choices
from sandbox.adapters.faults import FaultPlan
from sandbox.adapters.till import Ask, Till
from sandbox.adapters.webhooks import Webhooks
from sandbox.core.faults import ON_PAYMENT_READ, ON_REFUND
from sandbox.core.payment import check_refund
from sandbox.routes.bodies import Body, RefundAsk
from sandbox.trouble import Trouble, Write, refusal, respond

_SCOPE: Literal["payments"] = "payments"
_LATE_MS = 1_000
_LAG_MS = 2_000


class KeyModeBody(Body):
    """``PUT /_sandbox/payments/keys``: how this provider treats idempotency keys."""

    mode: Literal["stored", "success_only", "no_compare"]


class Payments:
    """One provider with the habits of real ones."""

    def __init__(
        self,
        *,
        till: Till,
        trouble: Trouble,
        faults: FaultPlan,
        answers: AnswerBook,
        webhooks: Webhooks,
        choices: Choices,
    ) -> None:
        self._till = till
        self._trouble = trouble
        self._faults = faults
        self._answers = answers
        self._webhooks = webhooks
        self._choices = choices

    async def create_refund(
        self, body: RefundAsk, key: Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=512)]
    ) -> JSONResponse:
        """Refund part of a payment: 200, 402 declined, 400 other parameters under this key, 409 key in use."""
        early: list[str] = []
        write = Write(
            _SCOPE, _SCOPE, key, body.model_dump(), frozenset({body.order_id}), 402, key_mode=self._choices.key_mode()
        )
        answer = await self._trouble.write(write, lambda: self._refund(key, body, early))
        for event_id in early:
            await self._webhooks.deliver(event_id)
        return respond(answer)

    async def list_refunds(
        self,
        order_id: Annotated[str | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        starting_after: Annotated[str | None, Query()] = None,
    ) -> JSONResponse:
        """Return a page of refunds, newest first."""
        failed = await self._trouble.read(_SCOPE, frozenset({order_id or ""}), ON_PAYMENT_READ)
        if failed is not None:
            return respond(failed)
        if starting_after is not None and not self._till.knows(starting_after):
            return respond(refusal(400, "resource_missing", "starting_after is no refund"))
        if order_id is not None:
            self._lag(order_id)
        items, has_more = self._till.page(order_id, limit, starting_after)
        return respond(Answer(200, {"items": items, "has_more": has_more}))

    async def get_payment(self, order_id: str) -> JSONResponse:
        """Return what was captured and given back for an order."""
        failed = await self._trouble.read(_SCOPE, frozenset({order_id}), ON_PAYMENT_READ)
        payment = self._till.payment(order_id)
        if payment is None:
            return respond(failed or refusal(404, "payment_missing", "there is no payment for this order"))
        body = {
            "order_id": order_id,
            "currency": payment.currency,
            "captured_minor": payment.captured_minor,
            "refunded_minor": payment.refunded_minor,
            "disputed_minor": payment.disputed_minor,
            "disputed": payment.disputed,
        }
        return respond(failed or Answer(200, body))

    async def expire_keys(self) -> dict[str, int]:
        """Forget every idempotency key, as real providers do after a while."""
        return {"forgotten": self._answers.forget(_SCOPE)}

    async def set_key_mode(self, body: KeyModeBody) -> dict[str, KeyMode]:
        """Choose the provider's habit: keeps every answer, only successes, or never compares parameters."""
        self._choices.set_key_mode(body.mode)
        return {"mode": body.mode}

    def _refund(self, key: str, body: RefundAsk, early: list[str]) -> Answer:
        declined = check_refund(self._till.payment(body.order_id), body.amount_minor, body.currency)
        if declined is not None:
            return refusal(402, declined.code, declined.message)
        plan = {kind: self._faults.take(_SCOPE, frozenset({kind}), frozenset({body.order_id})) for kind in ON_REFUND}
        late, lag = plan["late_failure"], plan["lookup_lag"]
        ask = Ask(body.order_id, body.line_id, body.amount_minor, body.currency, key, body.metadata)
        refund = self._till.record(
            ask,
            fails_in_ms=None if late is None else _or(late.delay_ms, _LATE_MS),
            hidden_ms=None if lag is None else _or(lag.delay_ms, _LAG_MS),
        )
        event_id = self._webhooks.queue("refund.updated", refund, copies=2 if plan["webhook_twice"] else 1)
        if plan["webhook_early"] and event_id is not None:
            early.append(event_id)
        if plan["dispute"]:
            self._charge_back(body.order_id)
        if late is not None:
            self._webhooks.nudge()
        return Answer(200, refund)

    def _charge_back(self, order_id: str) -> None:
        payment = self._till.payment(order_id)
        assert payment is not None, "a refund of it was just recorded"
        # The bank takes the whole payment, whatever was refunded before: that is what makes disputes dangerous.
        self._till.charge_back(order_id, payment.captured_minor)
        data: dict[str, object] = {
            "order_id": order_id, "amount_minor": payment.captured_minor, "currency": payment.currency,
        }  # fmt: skip
        self._webhooks.queue("dispute.created", data)

    def _lag(self, order_id: str) -> None:
        """Let a lag that no refund has used up hide the order's newest refunds from this look-up."""
        newest, _ = self._till.page(order_id, 1, None)
        if not newest:
            return
        lag = self._faults.take(_SCOPE, frozenset({"lookup_lag"}), frozenset({order_id}))
        if lag is not None:
            self._till.hide_newer(order_id, _or(lag.delay_ms, _LAG_MS))


def _or(delay_ms: int | None, default_ms: int) -> int:
    return default_ms if delay_ms is None else delay_ms


def router(payments: Payments) -> APIRouter:
    """Return the provider's routes and its two controls."""
    routes = APIRouter(tags=["payments"])
    routes.post("/payments/v1/refunds")(payments.create_refund)
    routes.get("/payments/v1/refunds")(payments.list_refunds)
    routes.get("/payments/v1/payments/{order_id}")(payments.get_payment)
    routes.post("/_sandbox/payments/expire-keys")(payments.expire_keys)
    routes.put("/_sandbox/payments/keys")(payments.set_key_mode)
    return routes
