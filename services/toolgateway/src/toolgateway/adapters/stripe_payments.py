"""Stripe on its official SDK: keyed refunds of a payment intent, found again by listing, never by searching."""

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import stripe

from common.errors import Malformed, OutcomeUnknown, Refused, Transient
from toolgateway.adapters.calls import Caller, KeyInUse, KeyMismatch, Missing, StoredFailure
from toolgateway.adapters.payments import Payment, PaymentEvent, ProviderRefund, RefundStatus

_T = TypeVar("_T")
PaymentOf = Callable[[str], Awaitable[str | None]]
# Stripe keeps the customer's money in `requires_action` until they act: taken, and not final yet.
_STATUSES: dict[str, RefundStatus] = {
    "succeeded": "succeeded",
    "pending": "pending",
    "requires_action": "pending",
    "failed": "failed",
    "canceled": "failed",
}
_TOLERANCE_S = 300


class StripePayments:
    """The payments port before Stripe. ``payment_of`` names an order's payment intent, as the store recorded it.

    The SDK's own retries are off: who may repeat what is decided by the runner, which looks first (R4).
    """

    def __init__(
        self, caller: Caller, payment_of: PaymentOf, *, api_key: str, webhook_secret: str, timeout_s: float,
        base_url: str | None = None,
    ) -> None:  # fmt: skip
        self._caller, self._payment_of, self._secret = caller, payment_of, webhook_secret
        self._http = stripe.AIOHTTPClient(timeout=timeout_s)
        self._client = stripe.StripeClient(
            api_key,
            base_addresses={"api": base_url} if base_url else None,
            http_client=self._http,
            max_network_retries=0,
        )

    async def close(self) -> None:
        """Close the SDK's connections."""
        await self._http.close_async()  # type: ignore[no-untyped-call]

    async def load_payment(self, order_id: str) -> Payment:
        """Return what was captured for an order, what was refunded, and whether it is disputed."""
        intent = await self._intent(order_id)
        raw = await self._call(
            "payment",
            lambda: self._client.v1.payment_intents.retrieve_async(intent, params={"expand": ["latest_charge"]}),
        )
        found: Any = raw.to_dict()
        charge: Any = found.get("latest_charge")
        if not isinstance(charge, Mapping):
            raise Missing("the payment has no charge")
        return Payment(
            currency=str(found["currency"]).upper(),
            captured_minor=int(charge["amount_captured"]),
            refunded_minor=int(charge["amount_refunded"]),
            disputed=bool(charge["disputed"]),
        )

    async def list_refunds(self, order_id: str) -> tuple[ProviderRefund, ...]:
        """Return every refund of an order's payment, all pages."""
        intent = await self._intent(order_id)

        async def all_pages() -> list[Any]:
            first = await self._client.v1.refunds.list_async(params={"payment_intent": intent, "limit": 100})
            return [refund.to_dict() async for refund in first.auto_paging_iter()]

        return tuple(_refund(item, order_id) for item in await self._call("list_refunds", all_pages))

    async def list_all_refunds(self) -> tuple[ProviderRefund, ...]:
        """Return every refund of the account; one that names no order of ours carries an empty order id."""

        async def all_pages() -> list[Any]:
            first = await self._client.v1.refunds.list_async(params={"limit": 100})
            return [refund.to_dict() async for refund in first.auto_paging_iter()]

        items = await self._call("list_refunds", all_pages)
        return tuple(_refund(item, str((item.get("metadata") or {}).get("order_id") or "")) for item in items)

    async def refund(self, key: str, frozen_request: str) -> ProviderRefund:
        """Send one refund under ``key``; OutcomeUnknown means that money may have moved."""
        asked = json.loads(frozen_request)
        order_id = asked["order_id"]
        intent = await self._intent(order_id)
        made = await self._call(
            "refund",
            lambda: self._client.v1.refunds.create_async(
                params={
                    "payment_intent": intent,
                    "amount": asked["amount_minor"],
                    "metadata": {"ledger_key": key, "order_id": order_id, "line_id": asked["line_id"]},
                },
                options={"idempotency_key": key},
            ),
        )
        item = made.to_dict()
        if str(item["currency"]).upper() != asked["currency"]:
            raise OutcomeUnknown("the payment is in another currency than the order")
        return _refund(item, order_id)

    def read_event(self, headers: Mapping[str, str], body: bytes, now: datetime) -> PaymentEvent:  # noqa: ARG002
        """Return a webhook whose signature holds (the SDK compares its time stamp with the clock)."""
        try:
            text = body.decode()
            stripe.WebhookSignature.verify_header(text, headers.get("stripe-signature", ""), self._secret, _TOLERANCE_S)
            event = json.loads(text)
            about = event["data"]["object"]
            names = about.get("metadata") or {}
            kind = {"charge.dispute.created": "dispute.created"}.get(event["type"], event["type"])
            return PaymentEvent(str(event["id"]), kind, names.get("order_id"), names.get("ledger_key"))
        except (stripe.SignatureVerificationError, ValueError, KeyError, TypeError, IndexError, AttributeError) as e:
            raise Malformed("the webhook's signature does not hold") from e

    async def _intent(self, order_id: str) -> str:
        intent = await self._payment_of(order_id)
        if not intent:
            raise Missing("the store names no payment for this order")
        return intent

    async def _call(self, operation: str, call: Callable[[], Awaitable[_T]]) -> _T:
        async def judged() -> _T:
            try:
                return await call()
            except stripe.StripeError as e:
                raise _verdict(e) from e

        return await self._caller.guarded(operation, judged)


def _verdict(error: stripe.StripeError) -> Exception:  # noqa: PLR0911 - one return for each class of Stripe's errors
    """Turn an SDK error into what it says about the money."""
    code = str(error.code or (error.error.code if error.error is not None else "") or "")
    if isinstance(error, stripe.RateLimitError):
        # Also `lock_timeout`: another request holds the object. Neither did anything.
        return Transient(code or "rate_limited")
    if isinstance(error, stripe.IdempotencyError):
        return KeyMismatch("idempotency_mismatch")
    if error.http_status == 409:
        return KeyInUse(code or "idempotency_key_in_use")
    if isinstance(error, stripe.AuthenticationError | stripe.PermissionError):
        # Our own fault, seen before Stripe looks at the request: mended by us, not by failing the customer's row.
        return Transient("stripe refused our key")
    if isinstance(error, stripe.APIConnectionError):
        return OutcomeUnknown("stripe gave no answer")
    if isinstance(error, stripe.InvalidRequestError | stripe.CardError):
        return Missing(code) if error.http_status == 404 else Refused(code or "invalid_request")
    return StoredFailure(f"stripe: {error.http_status} {code}".strip())


def _refund(item: Any, order_id: str) -> ProviderRefund:
    names = item.get("metadata") or {}
    status = _STATUSES.get(str(item["status"]))
    if status is None:
        raise OutcomeUnknown(f"stripe wrote the status {item['status']!r:.40}")
    return ProviderRefund(
        refund_id=str(item["id"]),
        order_id=order_id,
        line_id=names.get("line_id"),
        amount_minor=int(item["amount"]),
        currency=str(item["currency"]).upper(),
        status=status,
        key=names.get("ledger_key"),
    )
