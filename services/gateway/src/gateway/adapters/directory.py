"""Who a phone number or an address belongs to, by the store's accounts (commerce port)."""

from typing import Any, Protocol
from urllib.parse import quote

from common.errors import OutcomeUnknown, Transient
from common.http import ServiceClient
from gateway.core.identities import email_address, phone_number, same_address, same_phone


class Directory(Protocol):
    """Looks customers up. Transient where the store doesn't answer."""

    async def customer_with_phone(self, phone: str) -> str | None:
        """Return the one customer with this number."""
        ...

    async def customer_with_email(self, email: str) -> str | None:
        """Return the one customer with this address."""
        ...

    async def email_on_file(self, customer_id: str) -> str | None:
        """Return where a customer's one-time code goes."""
        ...


class CommerceDirectory:
    """The directory over the commerce port's HTTP."""

    def __init__(self, base_url: str) -> None:
        self._client = ServiceClient(base_url, timeout_s=3.0)

    async def customer_with_phone(self, phone: str) -> str | None:
        number = phone_number(phone)
        if number is None:
            return None
        found: set[str] = set()
        for spelling in dict.fromkeys((phone.strip(), number)):
            items = await self._items({"phone": spelling})
            found |= {c["customer_id"] for c in items if same_phone(phone, c.get("phone")) and c.get("customer_id")}
        return _only(found)

    async def customer_with_email(self, email: str) -> str | None:
        address = email_address(email)
        if address is None:
            return None
        found: set[str] = set()
        for spelling in dict.fromkeys((address, address.lower())):
            items = await self._items({"email": spelling})
            found |= {c["customer_id"] for c in items if same_address(address, c.get("email")) and c.get("customer_id")}
        return _only(found)

    async def email_on_file(self, customer_id: str) -> str | None:
        reply = await self._get(f"/customers/{_quoted(customer_id)}", {})
        value = reply.get("email") if isinstance(reply, dict) else None
        return value if isinstance(value, str) and value else None

    async def addresses_on_file(self, customer_id: str) -> frozenset[str]:
        """Return where a customer is reached; nothing for one the store doesn't know (any more)."""
        reply = await self._get(f"/customers/{_quoted(customer_id)}", {})
        found = [reply.get(field) for field in ("email", "phone")] if isinstance(reply, dict) else []
        return frozenset(value for value in found if isinstance(value, str) and value)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _items(self, query: dict[str, str]) -> list[dict[str, Any]]:
        reply = await self._get("/customers", query)
        items = reply.get("items", []) if isinstance(reply, dict) else []
        return [_named(item) for item in items if isinstance(item, dict)]

    async def _get(self, path: str, query: dict[str, str]) -> Any:
        try:
            reply = await self._client.call("GET", path, params=query)
        except OutcomeUnknown as e:
            raise Transient(e.reason) from e
        if reply.status == 404:
            return None
        if reply.status != 200:
            raise Transient(f"the store's accounts answered {reply.status}")
        return reply.body


def _named(item: dict[str, Any]) -> dict[str, Any]:
    return item if "customer_id" in item else {**item, "customer_id": item.get("id")}


def _only(found: set[str]) -> str | None:
    """Two customers with one number are nobody: a guess would open somebody's orders."""
    return next(iter(found)) if len(found) == 1 else None


def _quoted(customer_id: str) -> str:
    return quote(customer_id, safe="")
