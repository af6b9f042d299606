"""What the reply check holds words against, and what it answers: frozen values, no behaviour beyond look-up."""

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["en", "es", "fr", "de"]
Kind = Literal[
    "refund",
    "cancel",
    "address_change",
    "return_label",
    "account_change",
    "handoff",
    "order_status",
    "action",
    "unread",
]
State = Literal["done", "pending", "future", "conditional", "negated"]
ROW_KINDS: tuple[Kind, ...] = ("refund", "cancel", "address_change", "return_label", "account_change")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Action(_Frozen):
    """One ledger row as far as words can touch it; `amount` in major units."""

    key: str = ""
    kind: str
    status: str
    order_id: str | None = None
    line_id: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    reference: str | None = None
    approved_by: str | None = None


class Order(_Frozen):
    """An order the customer owns, with its status in the store's own words."""

    order_id: str
    status: str


class Line(_Frozen):
    """One line of an order by the title the store gives it."""

    order_id: str
    line_id: str
    title: str


class Facts(_Frozen):
    """Everything this conversation may truthfully speak of."""

    actions: tuple[Action, ...] = ()
    orders: tuple[Order, ...] = ()
    handoff: bool = False
    lines: tuple[Line, ...] = ()  # of the orders read; where none is known a title names no line
    complete: bool = True  # the rows are all there are; else none can be denied for being missing
    known_amounts: tuple[Decimal, ...] = ()  # prices this conversation has read from an order

    def order_ids(self) -> frozenset[str]:
        """Every order number that is real here, from orders and rows alike."""
        return frozenset({o.order_id for o in self.orders} | {a.order_id for a in self.actions if a.order_id})


class Claim(_Frozen):
    """One thing a sentence says happened, happens, will happen or did not happen, and whether the facts bear it out."""

    sentence: str
    kind: Kind
    state: State
    amount: str | None = None
    currency: str | None = None
    order_id: str | None = None
    line_id: str | None = None
    reference: str | None = None
    date: str | None = None
    holds: bool
    why: str = ""


class SentenceCheck(_Frozen):
    """The verdict on one sentence; `holds` is false when any of its claims is."""

    sentence: str
    holds: bool
    claims: tuple[Claim, ...] = ()
    why: str = ""


class ReplyCheck(_Frozen):
    """The verdict on a whole reply, with every claim found in it, in order."""

    holds: bool
    claims: tuple[Claim, ...] = ()
    sentences: tuple[SentenceCheck, ...] = Field(default=())
