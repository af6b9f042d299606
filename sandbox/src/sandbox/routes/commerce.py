"""The store's own systems: orders, accounts and shipping."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse

from common.ids import new_id
from common.money import format_amount, from_minor, parse_amount, to_minor
from sandbox.adapters.answers import Answer
from sandbox.adapters.shop import Shop
from sandbox.adapters.till import Ask, Till
from sandbox.core.faults import Target
from sandbox.routes.bodies import AccountChange, Json, LabelAsk
from sandbox.trouble import Trouble, Write, refusal, respond

Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=512)]
_NO_ORDER = refusal(404, "not_found", "there is no such order")
_NO_CUSTOMER = refusal(404, "not_found", "there is no such customer")


class Commerce:
    """Each handler: meet the fault plan, then read or change the shop."""

    def __init__(self, shop: Shop, till: Till, trouble: Trouble) -> None:
        self._shop = shop
        self._till = till
        self._trouble = trouble

    async def get_order(self, order_id: str) -> JSONResponse:
        """Return one order with its free-text note and version."""
        failed = await self._trouble.read("orders", frozenset({order_id}))
        order = self._shop.load_order(order_id)
        return respond(failed or (_NO_ORDER if order is None else Answer(200, order)))

    async def list_orders(self, customer_id: str) -> JSONResponse:
        """Return a customer's orders, newest first; an unknown customer has none."""
        orders = self._shop.list_orders(customer_id)
        failed = await self._trouble.read("orders", frozenset(order["order_id"] for order in orders))
        return respond(failed or Answer(200, {"items": orders}))

    async def cancel(self, order_id: str, key: Key) -> JSONResponse:
        """Cancel an order that hasn't shipped and give the money back, line by line."""
        return await self._write("orders", order_id, key, {"cancel": order_id}, lambda: self._cancel(order_id))

    async def change_address(self, order_id: str, body: dict[str, Any], key: Key) -> JSONResponse:
        """Change where an order that hasn't shipped goes to; the body is the address or {"address": …}."""
        address = body["address"] if isinstance(body.get("address"), dict) else body
        return await self._write("orders", order_id, key, address, lambda: self._readdress(order_id, address))

    async def create_label(self, order_id: str, body: LabelAsk, key: Key) -> JSONResponse:
        """Create a return label for lines of a delivered order."""
        asked = sorted(set(body.line_ids))
        return await self._write("shipping", order_id, key, asked, lambda: self._label(order_id, asked))

    async def list_labels(self, order_id: str) -> JSONResponse:
        """Return an order's labels."""
        failed = await self._trouble.read("shipping", frozenset({order_id}))
        return respond(failed or Answer(200, {"items": self._shop.list_labels(order_id)}))

    async def get_customer(self, customer_id: str) -> JSONResponse:
        """Return a customer's account."""
        failed = await self._trouble.read("accounts", self._orders_of(customer_id))
        customer = self._shop.load_customer(customer_id)
        return respond(failed or (_NO_CUSTOMER if customer is None else Answer(200, customer)))

    async def find_customers(
        self, phone: Annotated[str | None, Query()] = None, email: Annotated[str | None, Query()] = None
    ) -> JSONResponse:
        """Return the customers with this phone or this email."""
        if (phone is None) == (email is None):
            return respond(refusal(400, "invalid_request", "give either phone or email"))
        failed = await self._trouble.read("accounts")
        found = self._shop.find_customers("phone", phone) if phone else self._shop.find_customers("email", email or "")
        return respond(failed or Answer(200, {"items": found}))

    async def change_customer(self, customer_id: str, body: AccountChange, key: Key) -> JSONResponse:
        """Set one field of an account."""
        write = Write("accounts", "accounts", key, [customer_id, body.model_dump()], self._orders_of(customer_id))
        return respond(await self._trouble.write(write, lambda: self._change_customer(customer_id, body)))

    async def track(self, order_id: str) -> JSONResponse:
        """Return what the carrier's page would say."""
        failed = await self._trouble.read("shipping", frozenset({order_id}))
        order = self._shop.load_order(order_id)
        seen = ("order_id", "status", "shipped_at", "delivered_at")
        return respond(
            failed or (_NO_ORDER if order is None else Answer(200, {name: order.get(name) for name in seen}))
        )

    async def _write(self, target: Target, order_id: str, key: str, body: object, act: Any) -> JSONResponse:
        write = Write(target, target, key, [order_id, body], frozenset({order_id}))
        return respond(await self._trouble.write(write, act))

    def _cancel(self, order_id: str) -> Answer:
        order = self._shop.load_order(order_id)
        if order is None:
            return _NO_ORDER
        if order["status"] != "processing":
            return refusal(409, f"already_{order['status']}", f"the order is {order['status']}")
        currency = order["currency"]
        returned = sum(self._give_back(order_id, line, currency) for line in order["lines"])
        self._shop.change_order(order_id, status="cancelled")
        amount = format_amount(from_minor(returned, currency), currency)
        reference = new_id("rc") if returned else None
        return Answer(
            200, {"status": "cancelled", "refund_reference": reference, "amount": amount, "currency": currency}
        )

    def _give_back(self, order_id: str, line: Json, currency: str) -> int:
        payment = self._till.payment(order_id)
        already = self._till.refunded_by_line(order_id).get(line["line_id"], 0)
        left = to_minor(parse_amount(line["paid"], currency), currency) - already
        # A refund made for no line in particular, or a dispute, also leaves less to give back.
        amount = min(left, payment.refundable_minor if payment else 0)
        if amount <= 0:
            return 0
        self._till.record(Ask(order_id, line["line_id"], amount, currency, f"cancel:{order_id}", {"kind": "cancel"}))
        return amount

    def _readdress(self, order_id: str, address: Json) -> Answer:
        order = self._shop.load_order(order_id)
        if order is None:
            return _NO_ORDER
        if order["status"] != "processing":
            return refusal(409, f"already_{order['status']}", f"the order is {order['status']}")
        changed = self._shop.change_order(order_id, address=address)
        return Answer(200, {"order_id": order_id, "address": address, "version": changed["version"]})

    def _label(self, order_id: str, line_ids: list[str]) -> Answer:
        order = self._shop.load_order(order_id)
        if order is None:
            return _NO_ORDER
        unknown = set(line_ids) - {line["line_id"] for line in order["lines"]}
        if unknown:
            return refusal(422, "unknown_line", "the order has no such line")
        if order["status"] != "delivered":
            return refusal(409, "not_delivered", f"the order is {order['status']}")
        label = self._shop.save_label(order_id, {"line_ids": line_ids})
        self._shop.change_order(order_id)
        return Answer(200, {**label, "url": f"https://labels.sandbox.local/{label['label_id']}.pdf"})

    def _change_customer(self, customer_id: str, body: AccountChange) -> Answer:
        customer = self._shop.load_customer(customer_id)
        if customer is None:
            return _NO_CUSTOMER
        if (body.field == "address") != isinstance(body.value, dict):
            return refusal(422, "invalid_value", "an address is an object, anything else is text")
        changed = {name: value for name, value in customer.items() if name != "customer_id"} | {body.field: body.value}
        return Answer(200, self._shop.save_customer(customer_id, changed))

    def _orders_of(self, customer_id: str) -> frozenset[str]:
        return frozenset(order["order_id"] for order in self._shop.list_orders(customer_id))


def router(shop: Shop, till: Till, trouble: Trouble) -> APIRouter:
    """Return the routes under ``/commerce`` and the carrier's ``/tracking``."""
    commerce = Commerce(shop, till, trouble)
    routes = APIRouter(tags=["store"])
    routes.get("/commerce/orders/{order_id}")(commerce.get_order)
    routes.post("/commerce/orders/{order_id}/cancel")(commerce.cancel)
    routes.put("/commerce/orders/{order_id}/address")(commerce.change_address)
    routes.post("/commerce/orders/{order_id}/labels")(commerce.create_label)
    routes.get("/commerce/orders/{order_id}/labels")(commerce.list_labels)
    routes.get("/commerce/customers")(commerce.find_customers)
    routes.get("/commerce/customers/{customer_id}")(commerce.get_customer)
    routes.patch("/commerce/customers/{customer_id}")(commerce.change_customer)
    routes.get("/commerce/customers/{customer_id}/orders")(commerce.list_orders)
    routes.get("/tracking/{order_id}")(commerce.track)
    return routes
