"""What each kind of row does to the outside world, and how to find out whether it was done (R3, R4)."""

import json
from dataclasses import dataclass
from typing import TypeAlias

from common.errors import OutcomeUnknown, Refused, Transient
from toolgateway.adapters.calls import KeyInUse, KeyMismatch, StoredFailure
from toolgateway.adapters.commerce import Commerce
from toolgateway.adapters.payments import Payments, ProviderRefund
from toolgateway.core.actions import Action


@dataclass(frozen=True)
class Done:
    """It happened; the provider's reference."""

    reference: str


@dataclass(frozen=True)
class Accepted:
    """The provider has taken it and will say later how it ended."""

    reference: str


@dataclass(frozen=True)
class NotDone:
    """A final no: it did not happen and will not under this key."""

    reason: str


@dataclass(frozen=True)
class NotSent:
    """It certainly did not happen this time, and asking again is right."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """It may have happened. ``stored`` counts: a server's own error that could be replayed for ever."""

    reason: str
    stored: bool = False


@dataclass(frozen=True)
class Mismatch:
    """Something stands under our key that isn't what we asked for: a person's case (R2)."""

    reason: str


Outcome: TypeAlias = Done | Accepted | NotDone | NotSent | Unknown | Mismatch


class Effects:
    """Carries rows out at the store's systems and the payment provider."""

    def __init__(self, commerce: Commerce, payments: Payments) -> None:
        self._commerce, self._payments = commerce, payments

    async def perform(self, action: Action) -> Outcome:
        """Send the row's frozen request once, under the row's key."""
        try:
            return await self._send(action)
        except KeyMismatch as e:
            return Mismatch(e.reason)
        except Refused as e:
            return NotDone(e.reason)
        except (Transient, KeyInUse) as e:
            return NotSent(e.reason)
        except OutcomeUnknown as e:
            return Unknown(e.reason, stored=isinstance(e, StoredFailure))

    async def look_up(self, action: Action) -> Outcome | None:
        """Ask whether the row's effect is there; None when it isn't. Raises what the other side raises."""
        match action.kind:
            case "refund":
                return await self._find_refund(action)
            case "cancel":
                order = await self._commerce.load_order(action.order_id or "")
                return Done(f"cancelled:{action.order_id}") if order and order.status == "cancelled" else None
            case "address_change":
                order = await self._commerce.load_order(action.order_id or "")
                there = order is not None and order.address == action.args["address"]
                return Done(f"address:{action.order_id}") if there else None
            case "return_label":
                label = await self._commerce.find_label(action.order_id or "", action.args["line_ids"])
                return Done(label) if label else None
            case "account_change":
                customer = await self._commerce.load_customer(action.customer_id)
                field = action.args["field"]
                there = customer is not None and getattr(customer, field) == action.args["value"]
                return Done(f"account:{action.customer_id}:{field}") if there else None

    async def _send(self, action: Action) -> Outcome:
        request = json.loads(action.request)
        order_id = action.order_id or ""
        match action.kind:
            case "refund":
                return _of_refund(await self._payments.refund(action.key, action.request), action)
            case "cancel":
                return Done(await self._commerce.cancel(action.key, order_id))
            case "address_change":
                return Done(await self._commerce.change_address(action.key, order_id, request["address"]))
            case "return_label":
                return Done(await self._commerce.create_label(action.key, order_id, request["line_ids"]))
            case "account_change":
                field, value = request["field"], request["value"]
                return Done(await self._commerce.change_account(action.key, action.customer_id, field, value))

    async def _find_refund(self, action: Action) -> Outcome | None:
        ours = [r for r in await self._payments.list_refunds(action.order_id or "") if r.key == action.key]
        # One that moved money outranks one that failed, should a provider hold both under a forgotten key.
        ours.sort(key=lambda r: ("succeeded", "pending", "failed").index(r.status))
        return _of_refund(ours[0], action) if ours else None


def _of_refund(refund: ProviderRefund, action: Action) -> Outcome:
    same = (refund.order_id, refund.amount_minor, refund.currency) == (
        action.order_id,
        action.minor_units,
        action.currency,
    )
    if not same or refund.line_id not in (None, action.line_id):
        return Mismatch("the provider holds another refund under this key")
    match refund.status:
        case "succeeded":
            return Done(refund.refund_id)
        case "pending":
            return Accepted(refund.refund_id)
        case "failed":
            return NotDone("returned_by_bank")
