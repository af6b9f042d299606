"""The controls of CONTRACT: what tests put into the store, break, and read back as the truth."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from common.http import Problem
from common.ids import new_id
from common.money import parse_amount, to_minor
from sandbox.adapters.faults import FaultPlan
from sandbox.adapters.shop import Shop
from sandbox.adapters.till import Ask, Till
from sandbox.core.payment import check_refund
from sandbox.routes.bodies import Customer, FaultBody, Order, OutsideRefund

Record = dict[str, Any]
Of = Annotated[str | None, Query()]
PathId = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[^\x00-\x20/?\x7f]+$")]


class Controls:
    """Handlers over the shop, the till and the fault plan; lists are bare arrays."""

    def __init__(self, shop: Shop, till: Till, faults: FaultPlan) -> None:
        self._shop = shop
        self._till = till
        self._faults = faults

    async def put_customer(self, customer_id: PathId, body: Customer) -> Record:
        """Create or replace a customer."""
        return self._shop.save_customer(customer_id, body.model_dump(mode="json", exclude_none=True))

    async def get_customer(self, customer_id: PathId) -> Record:
        """Return a customer as it stands now."""
        return _found(self._shop.load_customer(customer_id), "customer")

    async def put_order(self, order_id: PathId, body: Order) -> Record:
        """Create or replace an order; refunds already made of it stay made."""
        return self._shop.save_order(order_id, body.model_dump(mode="json"))

    async def get_order(self, order_id: PathId) -> Record:
        """Return an order as it stands now."""
        return _found(self._shop.load_order(order_id), "order")

    async def list_refunds(self, order_id: Of = None) -> list[Record]:
        """Return every refund that really moved money; ones the bank returned have status "failed"."""
        return self._till.moved(order_id)

    async def add_refund(self, body: OutsideRefund) -> Record:
        """Make a refund as somebody outside us would, at the provider's dashboard."""
        minor = to_minor(parse_amount(body.amount, body.currency), body.currency)
        if minor <= 0:
            raise Problem(422, "the amount must be above zero")
        payment = self._till.payment(body.order_id)
        if payment is None:
            raise Problem(404, "there is no such order")
        declined = check_refund(payment, minor, body.currency)
        if declined is not None:
            raise Problem(409, f"{declined.code}: {declined.message}")
        ask = Ask(body.order_id, body.line_id, minor, body.currency, new_id("dashboard"), {"kind": "dashboard"})
        refund_id = self._till.record(ask)["refund_id"]
        return next(refund for refund in self._till.moved(body.order_id) if refund["refund_id"] == refund_id)

    async def add_fault(self, body: FaultBody) -> Record:
        """Plan a fault."""
        planned = {"times": body.lasting(), "delay_ms": body.delay_ms, "order_id": body.order_id}
        self._faults.add(body.target, body.kind, times=body.lasting(), delay_ms=body.delay_ms, order_id=body.order_id)
        return {"target": body.target, "kind": body.kind, **planned}

    async def list_faults(self) -> list[Record]:
        """Return the faults still planned."""
        return self._faults.listed()

    async def clear_faults(self) -> Response:
        """Clear every planned fault."""
        self._faults.clear()
        return Response(status_code=204)

    async def list_labels(self, order_id: Of = None) -> list[Record]:
        """Return the return labels made."""
        return self._shop.list_labels(order_id)

    async def list_mail(self, to: Of = None) -> list[Record]:
        """Return the mails and messages sent out, oldest first."""
        return self._shop.list_mail(to)


def router(controls: Controls) -> APIRouter:
    """Return the routes under ``/_sandbox``."""
    routes = APIRouter(prefix="/_sandbox", tags=["controls"])
    routes.put("/customers/{customer_id}")(controls.put_customer)
    routes.get("/customers/{customer_id}")(controls.get_customer)
    routes.put("/orders/{order_id}")(controls.put_order)
    routes.get("/orders/{order_id}")(controls.get_order)
    routes.get("/refunds")(controls.list_refunds)
    routes.post("/refunds", status_code=201)(controls.add_refund)
    routes.post("/faults", status_code=201)(controls.add_fault)
    routes.get("/faults")(controls.list_faults)
    routes.delete("/faults", status_code=204, response_class=Response)(controls.clear_faults)
    routes.get("/labels")(controls.list_labels)
    routes.get("/mail")(controls.list_mail)
    return routes


def _found(record: Record | None, what: str) -> Record:
    if record is None:
        raise Problem(404, f"there is no such {what}")
    return record
