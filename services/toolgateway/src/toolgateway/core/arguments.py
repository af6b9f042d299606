"""The nine tools' arguments: strict, closed, and without a customer id, a key or a claim of anything verified."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from common.errors import Refused
from common.ids import OrderIds

# U+0000 can't be stored, and a control character in an id or an address is never what a customer wrote.
_PRINTABLE = r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]*$"
OrderId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_PRINTABLE)]
LineId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_PRINTABLE)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)]
# The exact number of decimals depends on the order's currency and is checked against it.
AmountText = Annotated[
    str, StringConstraints(min_length=1, max_length=20, pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,3})?$")
]


class Arguments(BaseModel):
    """The base of all: nothing is coerced, nothing unknown is let through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Address(Arguments):
    """A postal address as the store keeps it; ``country`` is the store's own spelling, usually two letters."""

    line1: Line
    line2: Annotated[str, StringConstraints(max_length=200, pattern=_PRINTABLE)] | None = None
    city: Line
    region: Annotated[str, StringConstraints(max_length=100, pattern=_PRINTABLE)] | None = None
    postal_code: Annotated[str, StringConstraints(min_length=1, max_length=20, pattern=_PRINTABLE)]
    country: Annotated[str, StringConstraints(min_length=2, max_length=60, pattern=_PRINTABLE)]

    def plain(self) -> dict[str, str]:
        """Return the address without its empty parts: one spelling for rows, comparisons and the wire."""
        return {name: value for name, value in self.model_dump().items() if value}


class GetOrder(Arguments):
    """Read one order of the signed-in customer."""

    order_id: OrderId


class ListOrders(Arguments):
    """Read the signed-in customer's orders."""


class IssueRefund(Arguments):
    """Return money for one line of an order."""

    order_id: OrderId
    line_id: LineId
    amount: AmountText
    reason: Reason


class CancelOrder(Arguments):
    """Cancel an order that hasn't been shipped."""

    order_id: OrderId
    reason: Reason


class ChangeAddress(Arguments):
    """Send an order that hasn't been shipped somewhere else."""

    order_id: OrderId
    address: Address


class CreateReturnLabel(Arguments):
    """Make a label for lines of a delivered order."""

    order_id: OrderId
    line_ids: Annotated[tuple[LineId, ...], Field(min_length=1, max_length=50)]
    reason: Reason

    @field_validator("line_ids", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        # JSON has no tuples, and strict mode would refuse the list it does have.
        return tuple(value) if isinstance(value, list) else value

    @field_validator("line_ids")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each line once")
        return tuple(sorted(value))


class UpdateAccountField(Arguments):
    """Change one field of the customer's own record."""

    field: Literal["email", "name", "phone", "address"]
    value: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)] | Address

    @field_validator("value")
    @classmethod
    def _fits_the_field(cls, value: str | Address, info: Any) -> str | Address:
        field = info.data.get("field")
        if (field == "address") != isinstance(value, Address):
            raise ValueError("an address is an object, every other field is text")
        if field == "email" and isinstance(value, str) and not _looks_like_email(value):
            raise ValueError("not an email address")
        return value

    def plain(self) -> str | dict[str, str]:
        """Return the new value as the store takes it."""
        return self.value.plain() if isinstance(self.value, Address) else self.value


class SearchHelpCenter(Arguments):
    """Search the help articles."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class HandToPerson(Arguments):
    """Fetch a person."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


Call: TypeAlias = (
    GetOrder
    | ListOrders
    | IssueRefund
    | CancelOrder
    | ChangeAddress
    | CreateReturnLabel
    | UpdateAccountField
    | SearchHelpCenter
    | HandToPerson
)
TOOLS: dict[str, type[Arguments]] = {
    "get_order": GetOrder,
    "list_orders": ListOrders,
    "issue_refund": IssueRefund,
    "cancel_order": CancelOrder,
    "change_address": ChangeAddress,
    "create_return_label": CreateReturnLabel,
    "update_account_field": UpdateAccountField,
    "search_help_center": SearchHelpCenter,
    "hand_to_person": HandToPerson,
}
WRITES: frozenset[str] = frozenset(
    {"issue_refund", "cancel_order", "change_address", "create_return_label", "update_account_field"}
)
_A = TypeVar("_A", bound=Arguments)


class BadArguments(Refused):
    """What a model sent doesn't fit the tool; the reason may be shown to the model."""


def read_arguments(tool: str, raw: object, order_ids: OrderIds) -> Arguments:
    """Return the typed arguments of ``tool`` or raise BadArguments; ``raw`` is whatever JSON value came."""
    try:
        args = TOOLS[tool].model_validate(raw)
    except ValidationError as e:
        raise BadArguments(_explain(e)) from None
    order_id = getattr(args, "order_id", None)
    if order_id is not None and not order_ids.matches(order_id):
        raise BadArguments("order_id: not an order number of this store")
    return args


def _explain(error: ValidationError) -> str:
    """Name the fields and what is wrong with them, never the values: those may be somebody's data."""
    problems = (
        f"{'.'.join(str(part) for part in e['loc']) or 'arguments'}: {e['msg']}"
        for e in error.errors(include_url=False, include_input=False, include_context=False)[:5]
    )
    return "; ".join(problems)


def _looks_like_email(text: str) -> bool:
    name, at, host = text.rpartition("@")
    # ASCII only: look-alike letters in an address are how a code ends up in another mailbox.
    return bool(name and at and "." in host.strip(".") and text.isascii() and not any(c in text for c in ' ,;<>()\\"'))
