"""The payments port: what a provider must be able to do, and the sandbox's implementation of it."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from urllib.parse import quote

from common.errors import Malformed, OutcomeUnknown
from toolgateway.adapters.calls import Caller
from toolgateway.core.digests import canonical_json

RefundStatus = Literal["succeeded", "pending", "failed"]
# A list that never ends is a fault of the provider's, not a reason to read for ever.
_MAX_PAGES = 200


@dataclass(frozen=True)
class Payment:
    """A payment as its provider knows it; minor units."""

    currency: str
    captured_minor: int
    refunded_minor: int
    disputed: bool


@dataclass(frozen=True)
class ProviderRefund:
    """A refund at the provider; ``key`` is ours, or None when somebody else made it."""

    refund_id: str
    order_id: str
    line_id: str | None
    amount_minor: int
    currency: str
    status: RefundStatus
    key: str | None


@dataclass(frozen=True)
class RefundRequest:
    """What is asked for; its canonical JSON is frozen in the row before the first call."""

    key: str
    order_id: str
    line_id: str
    amount_minor: int
    currency: str

    def frozen(self) -> str:
        """Return the bytes that every attempt sends."""
        return canonical_json(
            {
                "order_id": self.order_id,
                "line_id": self.line_id,
                "amount_minor": self.amount_minor,
                "currency": self.currency,
                "metadata": {"ledger_key": self.key},
            }
        )


@dataclass(frozen=True)
class PaymentEvent:
    """A provider's webhook, checked: a hint to look, never a fact by itself."""

    event_id: str
    type: str
    order_id: str | None
    key: str | None


class Payments(Protocol):
    """The port. Every method raises the verdicts of ``common.errors`` and of ``adapters.calls``."""

    async def load_payment(self, order_id: str) -> Payment:
        """Return what was captured for an order, what was refunded, and whether it is disputed."""

    async def list_refunds(self, order_id: str) -> tuple[ProviderRefund, ...]:
        """Return every refund of an order's payment, all pages, failed ones included."""

    async def list_all_refunds(self) -> tuple[ProviderRefund, ...]:
        """Return every refund of every payment, for the daily comparison and for rebuilding after a restore."""

    async def refund(self, key: str, frozen_request: str) -> ProviderRefund:
        """Send one refund under ``key``; OutcomeUnknown means that money may have moved."""

    def read_event(self, headers: Mapping[str, str], body: bytes, now: datetime) -> PaymentEvent:
        """Return a webhook whose signature holds; raises Malformed."""


class SandboxPayments:
    """The sandbox's provider over HTTP."""

    def __init__(self, caller: Caller, webhook_secret: str, *, timeout_s: float) -> None:
        self._caller, self._secret, self._timeout_s = caller, webhook_secret, timeout_s

    async def load_payment(self, order_id: str) -> Payment:
        body = await self._caller.read("payment", f"/v1/payments/{quote(order_id, safe='')}")
        return Payment(body["currency"], body["captured_minor"], body["refunded_minor"], bool(body["disputed"]))

    async def list_refunds(self, order_id: str) -> tuple[ProviderRefund, ...]:
        return await self._pages({"order_id": order_id}, _MAX_PAGES)

    async def list_all_refunds(self) -> tuple[ProviderRefund, ...]:
        return await self._pages({}, 100 * _MAX_PAGES)

    async def _pages(self, query: dict[str, str], most: int) -> tuple[ProviderRefund, ...]:
        found: list[ProviderRefund] = []
        after: dict[str, str] = {}
        for _ in range(most):
            page = await self._caller.read("list_refunds", "/v1/refunds", params={**query, "limit": "100", **after})
            found += [_refund(item) for item in page["items"]]
            if not page.get("has_more") or not page["items"]:
                return tuple(found)
            after = {"starting_after": page["items"][-1]["refund_id"]}
        raise OutcomeUnknown("the provider's list of refunds has no end")

    async def refund(self, key: str, frozen_request: str) -> ProviderRefund:
        body = await self._caller.effect(
            "refund", "POST", "/v1/refunds",
            json=json.loads(frozen_request), headers={"Idempotency-Key": key}, timeout_s=self._timeout_s,
        )  # fmt: skip
        return _refund(body)

    def read_event(self, headers: Mapping[str, str], body: bytes, now: datetime) -> PaymentEvent:
        check_signature(headers.get("x-payments-signature", ""), body, self._secret, now)
        try:
            event = json.loads(body)
            data = event["data"]
            return PaymentEvent(str(event["id"]), str(event["type"]), data.get("order_id"), data.get("idempotency_key"))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise Malformed("a webhook has id, type and data") from e


# Wide enough for a provider's own retry, too narrow to replay last week's.
_TOLERANCE_S = 300


def check_signature(header: str, body: bytes, secret: str, now: datetime) -> None:
    """Raise Malformed unless ``t=<unix>,v1=<hex hmac sha256 of "t.body">`` holds and is recent."""
    parts = [part.partition("=") for part in header.split(",")]
    stamp = next((value for name, _, value in parts if name.strip() == "t"), "")
    given = [value for name, _, value in parts if name.strip() == "v1"]
    if not secret or not stamp.isascii() or not stamp.isdigit() or abs(now.timestamp() - int(stamp)) > _TOLERANCE_S:
        raise Malformed("the webhook's signature does not hold")
    expected = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not any(hmac.compare_digest(expected.encode(), value.encode()) for value in given):
        raise Malformed("the webhook's signature does not hold")


def _refund(item: Mapping[str, Any]) -> ProviderRefund:
    try:
        status: RefundStatus = item["status"]
        if status not in ("succeeded", "pending", "failed"):
            raise OutcomeUnknown(f"the provider wrote the status {status!r:.40}")
        return ProviderRefund(
            refund_id=str(item["refund_id"]),
            order_id=str(item["order_id"]),
            line_id=item.get("line_id"),
            amount_minor=int(item["amount_minor"]),
            currency=str(item["currency"]),
            status=status,
            key=item.get("idempotency_key"),
        )
    except (KeyError, TypeError, ValueError) as e:
        raise OutcomeUnknown("the provider's refund can't be read") from e
