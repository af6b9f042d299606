"""The commerce port over plain HTTP: orders, customers, addresses and return labels of the store's own systems."""

from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from common.errors import Malformed
from toolgateway.adapters.calls import Caller, Missing
from toolgateway.core.orders import Customer, Order


def _id(text: str) -> str:
    return quote(text, safe="")


class Commerce:
    """One store. ``orders`` carries reads and cancellations, the others what their names say; they fail apart."""

    def __init__(self, orders: Caller, accounts: Caller, shipping: Caller, *, timeout_s: float) -> None:
        self._orders, self._accounts, self._shipping = orders, accounts, shipping
        self._timeout_s = timeout_s

    async def load_order(self, order_id: str) -> Order | None:
        """Return an order, whoever's it is, or None."""
        try:
            body = await self._orders.read("order", f"/orders/{_id(order_id)}")
        except Missing:
            return None
        order = _order(body)
        if order.order_id != order_id:
            raise Malformed("the order system answered with another order")
        return order

    async def list_orders(self, customer_id: str) -> tuple[Order, ...]:
        """Return a customer's orders; one that isn't theirs is left out, whatever the order system says."""
        try:
            body = await self._orders.read("orders", f"/customers/{_id(customer_id)}/orders")
        except Missing:
            return ()
        found = (_order(item) for item in body["items"])
        return tuple(order for order in found if order.customer_id == customer_id)

    async def load_customer(self, customer_id: str) -> Customer | None:
        """Return a customer's record, or None."""
        try:
            body = await self._accounts.read("customer", f"/customers/{_id(customer_id)}")
            return Customer.model_validate(body)
        except Missing:
            return None
        except ValidationError as e:
            raise Malformed("the account system's record can't be read") from e

    async def cancel(self, key: str, order_id: str) -> str:
        """Cancel an order under ``key``; returns the reference of the money's return, or of the cancellation."""
        body = await self._orders.effect(
            "cancel", "POST", f"/orders/{_id(order_id)}/cancel", json={}, **self._under(key)
        )
        return str(body.get("refund_reference") or f"cancelled:{order_id}")

    async def change_address(self, key: str, order_id: str, address: dict[str, str]) -> str:
        """Put an order's delivery address under ``key``; returns a reference."""
        await self._orders.effect(
            "change_address", "PUT", f"/orders/{_id(order_id)}/address", json=address, **self._under(key)
        )
        return f"address:{order_id}"

    async def create_label(self, key: str, order_id: str, line_ids: list[str]) -> str:
        """Make a return label under ``key``; returns its id."""
        body = await self._shipping.effect(
            "create_label", "POST", f"/orders/{_id(order_id)}/labels", json={"line_ids": line_ids},
            **self._under(key),
        )  # fmt: skip
        return str(body["label_id"])

    async def find_label(self, order_id: str, line_ids: list[str]) -> str | None:
        """Return the id of the label that covers exactly these lines, or None."""
        body = await self._shipping.read("labels", f"/orders/{_id(order_id)}/labels")
        items = body["items"] if isinstance(body, dict) else body
        return next((str(i["label_id"]) for i in items if sorted(i.get("line_ids", [])) == sorted(line_ids)), None)

    async def change_account(self, key: str, customer_id: str, field: str, value: str | dict[str, str]) -> str:
        """Set one field of a customer's record under ``key``; returns a reference."""
        await self._accounts.effect(
            "change_account", "PATCH", f"/customers/{_id(customer_id)}",
            json={"field": field, "value": value}, **self._under(key),
        )  # fmt: skip
        return f"account:{customer_id}:{field}"

    def _under(self, key: str) -> dict[str, Any]:
        return {"headers": {"Idempotency-Key": key}, "timeout_s": self._timeout_s}


def _order(body: Any) -> Order:
    try:
        return Order.model_validate(body)
    except ValidationError as e:
        raise Malformed("the order system's order can't be read") from e
