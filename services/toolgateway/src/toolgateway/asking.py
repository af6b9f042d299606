"""Turns a tool's arguments into an ask with all its facts, or into the answer that there is nothing to ask."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from common.clock import Clock
from common.errors import Refused
from common.money import BadAmount, parse_amount
from toolgateway.core.actions import Action
from toolgateway.core.arguments import (
    Arguments,
    CancelOrder,
    ChangeAddress,
    CreateReturnLabel,
    IssueRefund,
    UpdateAccountField,
)
from toolgateway.core.asks import AccountChange, AddressChange, Ask, Cancellation, RefundOfLine, ReturnLabel
from toolgateway.core.ceilings import Person, own_ceiling
from toolgateway.core.changes import Doubts
from toolgateway.core.orders import Order
from toolgateway.core.policy import Policy, Rollout
from toolgateway.facts import Facts


class OrderMissing(Refused):
    """The customer has no such order; another's order reads the same."""


class WrongAmount(Refused):
    """The amount isn't written in the order's currency; the reason may be shown to the model."""


@dataclass(frozen=True)
class Asker:
    """Who asks, from verified statements only. ``customer_id`` None: a job, whose order names the customer."""

    service: str
    customer_id: str | None
    conversation_id: str | None
    stepped_up: bool = False
    person: Person | None = None
    job_order_id: str | None = None

    @property
    def name(self) -> str:
        """Who asks, as rows and audit entries name them."""
        return f"staff:{self.person.staff}" if self.person else self.service

    @property
    def waits(self) -> bool:
        """Whether a customer's agent gets the outcome as its answer, so that no event needs to tell them."""
        return self.person is None and self.job_order_id is None


@dataclass(frozen=True)
class Context:
    """What the caller says about its input; it can only tighten. The rest is recorded."""

    guard: str | None = None
    intent_confidence: float | None = None
    recorded: dict[str, Any] | None = None


class Asking:
    """Builds asks: for a call of a tool, and again for a row that is about to run."""

    def __init__(self, facts: Facts, rollout: Rollout, clock: Clock) -> None:
        self._facts, self._rollout, self._clock = facts, rollout, clock

    def policy_for(self, customer_id: str) -> Policy:
        """Return the policy that judges this customer's asks."""
        return self._rollout.policy_for(customer_id)

    async def of_call(self, args: Arguments, asker: Asker, context: Context) -> Ask:
        """Return the ask of a tool call; raises OrderMissing or WrongAmount."""
        doubts = Doubts(context.guard, context.intent_confidence, by_staff=asker.person is not None)
        if isinstance(args, UpdateAccountField):
            customer_id = _named(asker.customer_id)
            return AccountChange(
                customer_id=customer_id,
                doubts=doubts,
                field=args.field,
                value=args.plain(),
                stepped_up=asker.stepped_up,
            )
        order = await self._order(str(getattr(args, "order_id", "")), asker)
        ceiling = self._ceiling(asker, order)
        match args:
            case IssueRefund():
                return await self._refund(order, args, doubts, ceiling)
            case CancelOrder():
                return await self._cancellation(order, args.reason, doubts, ceiling)
            case ChangeAddress():
                return self._address(order, args.address.plain(), doubts)
            case CreateReturnLabel():
                return self._label(order, args.line_ids, args.reason, doubts)
            case _:
                raise TypeError(f"{type(args).__name__} asks for nothing")

    async def of_row(self, row: Action) -> Ask:
        """Return the ask of a stored row with today's facts; what made it wait has been weighed by a person."""
        doubts = Doubts("clean", 1.0, by_staff=row.requested_staff is not None)
        args = row.args
        if row.kind == "account_change":
            return AccountChange(
                customer_id=row.customer_id, doubts=doubts, field=args["field"], value=args["value"], stepped_up=True
            )
        order = await self._facts.own_order(row.order_id or "", row.customer_id)
        if order is None:
            raise OrderMissing("the order is gone")
        match row.kind:
            case "refund":
                return await self._refund(order, IssueRefund(**args), doubts, None, row.key)
            case "cancel":
                return await self._cancellation(order, args["reason"], doubts, None)
            case "address_change":
                return self._address(order, args["address"], doubts)
            case "return_label":
                return self._label(order, tuple(args["line_ids"]), args["reason"], doubts)

    async def _order(self, order_id: str, asker: Asker) -> Order:
        if asker.customer_id is None:
            # A job's statement is for one order, and that order says whose it is.
            order = await self._facts.order(order_id) if order_id == asker.job_order_id else None
        else:
            order = await self._facts.own_order(order_id, asker.customer_id)
        if order is None:
            raise OrderMissing("no such order")
        return order

    def _ceiling(self, asker: Asker, order: Order) -> Decimal | None:
        if asker.person is None:
            return None
        return own_ceiling(asker.person, order.currency, self.policy_for(order.customer_id))

    async def _refund(
        self, order: Order, args: IssueRefund, doubts: Doubts, ceiling: Decimal | None, own_key: str | None = None
    ) -> RefundOfLine:
        try:
            asked = parse_amount(args.amount, order.currency)
        except BadAmount as e:
            raise WrongAmount(f"amount: {e.reason}") from None
        background = await self._facts.background(order.order_id, order.customer_id)
        return RefundOfLine(
            customer_id=order.customer_id,
            doubts=doubts,
            ceiling=ceiling,
            order_id=order.order_id,
            line_id=args.line_id,
            currency=order.currency,
            order=order,
            line=args.line_id,
            amount=asked,
            reason=args.reason,
            paid_back=background.money,
            fraud_score=background.fraud_score,
            own_key=own_key,
        )

    async def _cancellation(self, order: Order, reason: str, doubts: Doubts, ceiling: Decimal | None) -> Cancellation:
        return Cancellation(
            customer_id=order.customer_id,
            doubts=doubts,
            ceiling=ceiling,
            order_id=order.order_id,
            currency=order.currency,
            order=order,
            reason=reason,
            paid_back=await self._facts.money(order.order_id),
        )

    def _address(self, order: Order, address: dict[str, str], doubts: Doubts) -> AddressChange:
        return AddressChange(
            customer_id=order.customer_id, doubts=doubts, order_id=order.order_id, order=order, address=address
        )

    def _label(self, order: Order, line_ids: tuple[str, ...], reason: str, doubts: Doubts) -> ReturnLabel:
        return ReturnLabel(
            customer_id=order.customer_id,
            doubts=doubts,
            order_id=order.order_id,
            order=order,
            line_ids=line_ids,
            reason=reason,
            now=self._clock.now(),
        )


def _named(customer_id: str | None) -> str:
    if not customer_id:
        raise OrderMissing("no customer")
    return customer_id
