"""Hold a reading against the facts: the rules of what makes a claim about money, orders and people true."""

import re
from collections.abc import Callable, Iterable

from agent.core.claims.facts import ROW_KINDS, Action, Claim, Facts, Kind, State
from agent.core.claims.lexicon import Lexicon
from agent.core.claims.manner import Manner, is_denied
from agent.core.claims.reading import Reading
from agent.core.claims.titles import is_of, named_beside
from agent.core.claims.values import Amount, Values, currency_fits, placeholders

_ALLOWED: dict[Manner, frozenset[str]] = {
    "done": frozenset({"succeeded"}),
    "pending": frozenset({"pending", "awaiting_approval"}),
    "started": frozenset({"pending", "awaiting_approval", "succeeded"}),
    "waiting": frozenset({"awaiting_approval"}),
    "agreed": frozenset({"awaiting_approval"}),
    "approved": frozenset({"succeeded"}),
    "declined": frozenset({"rejected"}),
    "failed": frozenset({"failed", "rejected"}),
    "future": frozenset({"pending", "succeeded"}),
    "unknowable": frozenset(),
    "negated": frozenset(),
    "absent": frozenset(),
}
_STATES: dict[Manner, State] = {
    "done": "done", "approved": "done", "declined": "done", "failed": "done", "unknowable": "done",
    "pending": "pending",
    "started": "pending", "waiting": "pending", "agreed": "conditional", "future": "future", "negated": "negated",
    "absent": "negated",
}  # fmt: skip
_LIST = re.compile(
    r"ordx\d+(?: ?(?:(?:and|y|e|et|und|sowie|plus|as well as|ainsi que|así como|als auch|wie auch|como|comme|[,&/+]) "
    r"?(?:[^\W\d]+ ){0,2}|(?:[^\W\d]+ )?)ordx\d+)+"
)
_ALSO = re.compile(
    r"ordx\d+ .*\bordx\d+\b.{0,40}?\b(?:too|also|as well|likewise|aussi|également|también|tambien|igual|ebenfalls|"
    r"auch|genauso)\b|"
    r"\band (?:did|has|have|is|are|was|were|does|do) .{0,12}\bordx\d+$|"
    r"\b(?:too|also|as well|aussi|également|también|ebenfalls|auch|comme)\b.{0,12}\bordx\d+(?<=\d)$|"
    r"^\W*(?:both|beide\w*|les deux|ambos|ambas|los dos|las dos)\b.*ordx"
)
_AS_WELL = re.compile(
    r"\b(?:too|also|as well|so (?:is|has|was)|both|likewise|aussi|également|de même|pareil|les deux|también|tambien|"
    r"igual(?:mente)?|ambas|ambos|las dos|auch|ebenfalls|ebenso|genauso|beide\w*)\b"
)
# A reason that rests on numbers alone, which no reader may overrule.
NOT_OF_ORDER = "no such row of order"
# "of the two, 30.00 is paid and 210.00 waits" speaks of each
_BOTH = re.compile(
    r"(?<!of\s)\bboth\b|(?<!von\s)\bbeiden?\b|\bles deux\b|\b(?:tous|toutes) deux\b|\b(?:ambos|ambas)\b|"
    r"(?<!de\s)\bl[oa]s dos\b"
)
_STATUS_FITS = {
    "shipped": frozenset({"shipped", "delivered", "lost"}),
    "moving": frozenset({"shipped"}),
    "delivered": frozenset({"delivered"}),
    "processing": frozenset({"processing"}),
    "lost": frozenset({"lost"}),
}


def judge(reading: Reading, values: Values, facts: Facts, sentence: str, lexicon: Lexicon) -> Claim:
    """One claim with its verdict; values named in the reading's own clause narrow the rows it may rest on."""
    said = _said(reading, values)
    holds, why = _verdict(reading, said, facts, sentence, lexicon)
    return Claim(
        sentence=sentence,
        kind=reading.kinds[0],
        state="negated" if reading.status and reading.negated else _STATES[reading.manner],
        amount=next((_plain(a) for a in said.amounts), None),
        currency=next(("USD" if a.currency == "$" else a.currency for a in said.amounts), None),
        order_id=next(iter(said.orders), None),
        line_id=next(iter(said.lines), None),
        reference=next(iter(said.references), None),
        holds=holds,
        why=why,
    )


def named_but_unreal(values: Values, facts: Facts) -> str | None:
    """The first order number, line or reference that exists nowhere in the facts, as a reason."""
    known = {_bare(o) for o in facts.order_ids()}
    for order in values.orders:
        if _bare(order) not in known:
            return f"order {order} is unknown"
    references = {a.reference.lower() for a in facts.actions if a.reference} | {a.key.lower() for a in facts.actions}
    for reference in values.references:
        if reference.lower() not in references and _bare(reference) not in known:
            return f"reference {reference} is unknown"
    return None


def amount_is_real(amount: Amount, facts: Facts) -> bool:
    """Whether some row carries the amount."""
    return _is_known(amount, facts) or any(_is_amount_of(amount, row) for row in facts.actions)


def only_prices(reading: Reading, values: Values, facts: Facts, lexicon: Lexicon) -> bool:
    """Whether a reading rests on nothing but amounts that are prices the order itself shows."""
    amounts = [values.amounts[i] for i in placeholders(reading.clause, "amtx")]
    rest = re.sub(r"amtx\d+", " ", reading.clause)
    bare = reading.assumed and reading.kinds == ("refund",) and not lexicon.weak["refund"].search(rest)
    return bare and bool(amounts) and all(_is_known(a, facts) for a in amounts)


def _is_known(amount: Amount, facts: Facts) -> bool:
    return not amount.values.isdisjoint(facts.known_amounts)


def _said(reading: Reading, values: Values) -> Values:
    clause = reading.clause
    return Values(
        clause,
        tuple(values.amounts[i] for i in placeholders(clause, "amtx")),
        tuple(values.orders[i] for i in placeholders(clause, "ordx")),
        tuple(values.references[i] for i in placeholders(clause, "refx")),
        tuple(values.lines[i] for i in placeholders(clause, "linx")),
    )


def _verdict(reading: Reading, said: Values, facts: Facts, sentence: str, lexicon: Lexicon) -> tuple[bool, str]:
    kind = reading.kinds[0]
    if kind == "unread":
        return False, "no ledger row can prove this"
    if reading.manner == "unknowable":
        return False, "nobody here can know this"
    if kind == "handoff":
        return _handoff(reading, facts, lexicon)
    if kind == "order_status":
        return _status(reading, said, facts, lexicon)
    if kind == "action" and reading.manner in ("done", "waiting", "pending", "started") and facts.handoff:
        return True, "handed over"
    return _rows(reading, said, facts, sentence, lexicon)


def _handoff(reading: Reading, facts: Facts, lexicon: Lexicon) -> tuple[bool, str]:
    denied = reading.manner in ("negated", "absent")
    if (
        not denied
        and lexicon.has("waiting", reading.clause)
        and any(a.status == "awaiting_approval" for a in facts.actions)
    ):
        return True, "a person has to approve a row"
    return facts.handoff != denied, "handed over" if facts.handoff else "no handoff"


def _status(reading: Reading, said: Values, facts: Facts, lexicon: Lexicon) -> tuple[bool, str]:
    named = {_bare(o) for o in said.orders}
    orders = [o for o in facts.orders if not named or _bare(o.order_id) in named]
    fits = _STATUS_FITS[reading.status or "processing"]
    if reading.manner == "future" and not reading.negated and reading.status in ("shipped", "moving", "delivered"):
        if lexicon.has("exact_time", reading.clause):
            return False, "nobody here can know when"
        ahead = {"processing"} if reading.status != "delivered" else {"processing", "shipped"}
        return any(o.status in ahead for o in orders), "still ahead"
    if reading.negated:
        return bool(orders) and any(o.status not in fits for o in orders), "status of the order"
    listed = {_bare(o) for o in _listed(reading.clause, said)}
    if any(o.status not in fits for o in orders if _bare(o.order_id) in listed):
        return False, "status of an order"
    if not named and lexicon.has("every_order", reading.clause):
        return all(o.status in fits for o in orders), "status of every order"
    return any(o.status in fits for o in orders), "status of the order"


def _rows(reading: Reading, said: Values, facts: Facts, sentence: str, lexicon: Lexicon) -> tuple[bool, str]:
    lines = named_beside(reading.clause, sentence, facts, lexicon) if "refund" in reading.kinds else ()
    rows = [r for r in facts.actions if _is_of_kind(r, reading.kinds) and _fits(r, said, reading, lexicon)]
    rows = [r for r in rows if not lines or is_of(r, lines)]
    if reading.manner in ("negated", "absent"):
        return _denial(reading, rows, said, facts)
    allowed = _ALLOWED[reading.manner]
    standing = [r for r in rows if r.status in allowed or (reading.manner == "approved" and r.approved_by)]
    if reading.manner == "done" and reading.kinds == ("cancel",) and not standing:
        each = all if not said.orders and lexicon.has("every_order", reading.clause) else any
        return _cancelled_in_orders(said, facts, each), "no succeeded cancellation"
    if not standing:
        return _unsupported(reading, rows, facts, lexicon)
    lacking = _lacking(reading, said, standing, facts, lexicon)
    if reading.manner == "done" and _BOTH.search(reading.clause) and len(standing) < min(len(rows), 2):
        lacking = "only one of both"
    if lacking:
        return False, lacking
    moved = all(any(is_of(r, [line]) for r in standing) for line in lines)
    unproven = _unproven(reading, said, standing, sentence, lexicon) if moved else "a line is named that no row moved"
    unproven = unproven or _amounts_unproven(said.amounts, standing, facts)
    return not unproven, unproven or "row " + ", ".join(r.key or r.kind for r in standing)


def _lacking(reading: Reading, said: Values, standing: list[Action], facts: Facts, lexicon: Lexicon) -> str:
    """What of the things named no row moved, though others did, as a reason."""
    every = reading.manner == "done" and not said.orders and lexicon.has("every_order", reading.clause)
    missing = _left_out(reading, standing, facts) if every else None
    missing = missing or next(
        (o for o in _listed(reading.clause, said) if not any(_is_of_order(r, o) for r in standing)), None
    )
    if missing:
        return f"{NOT_OF_ORDER} {missing}"
    unchanged = _field_without_row(reading, standing, lexicon) or _address_without_row(reading, said, facts, lexicon)
    return f"no such row of the {unchanged}" if unchanged else ""


def _unproven(reading: Reading, said: Values, standing: list[Action], sentence: str, lexicon: Lexicon) -> str:
    """What is said beyond the rows that stand for it, as a reason."""
    if (
        lexicon.has("whole", f"{reading.clause} {sentence.lower()}")
        and "refund" in reading.kinds
        and not _is_of_a_line(said, lexicon)
        and not any(_is_whole(r) for r in standing)
        and not (len(said.amounts) > 1 and _amounts_fit(said.amounts, standing))
    ):
        return "no row proves the whole order"
    return _of_another_order(reading.clause, said, standing)


def _amounts_unproven(amounts: tuple[Amount, ...], standing: list[Action], facts: Facts) -> str:
    if all(row.amount is None for row in standing):
        # "the label is made; as for the 31.00, it is under way": the amount belongs to the other deed
        return "" if all(amount_is_real(a, facts) for a in amounts) else "no such amount in any row"
    return "" if _amounts_fit(amounts, standing) else "no such amount in those rows"


def _of_another_order(clause: str, said: Values, standing: list[Action]) -> str:
    """ "4417028 got you 12.00 and 4417029 got you 90.00": orders and amounts in turn belong to each other in pairs."""
    turns = [found[:4] for found in re.findall(r"\b(?:ordx|amtx)\d+", clause)]
    pairs = len(said.orders)
    if pairs < 2 or pairs != len(said.amounts) or turns not in (["ordx", "amtx"] * pairs, ["amtx", "ordx"] * pairs):
        return ""
    for order, amount in zip(said.orders, said.amounts, strict=True):
        rows = [r for r in standing if _is_of_order(r, order)]
        if rows and not _amounts_fit((amount,), rows):
            return f"{NOT_OF_ORDER} {order} with {amount.text}"
    return ""


def _left_out(reading: Reading, standing: list[Action], facts: Facts) -> str | None:
    """ "All your orders are cancelled": the first order that no row, nor its own status, bears out."""
    done = {_bare(o.order_id) for o in facts.orders if o.status == "cancelled" and "cancel" in reading.kinds}
    done |= {_bare(row.order_id) for row in standing if row.order_id}
    return next((o for o in facts.order_ids() if _bare(o) not in done), None)


def _unsupported(reading: Reading, rows: list[Action], facts: Facts, lexicon: Lexicon) -> tuple[bool, str]:
    """No row stands for what is said; "it could not be done" is still true of what nobody did."""
    # "the error code is E404" fails nothing that is named
    unnamed = reading.kinds == ("action",)
    if reading.manner == "failed" and not rows and facts.complete and (unnamed or is_denied(reading.clause, lexicon)):
        return True, "nothing of the kind was done"
    found = ", ".join(sorted({r.status for r in rows})) or "no row"
    return False, f"{reading.manner} needs {' or '.join(sorted(_ALLOWED[reading.manner]))}: {found}"


def _denial(reading: Reading, rows: list[Action], said: Values, facts: Facts) -> tuple[bool, str]:
    done = [r for r in rows if r.status == "succeeded" and (not said.amounts or _amounts_fit(said.amounts, [r]))]
    if done or (reading.kinds == ("cancel",) and _cancelled_in_orders(said, facts)):
        return False, "it did happen"
    if not facts.complete:
        return False, "the ledger was not read"
    if reading.manner == "absent" and any(r.status in ("pending", "awaiting_approval") for r in rows):
        return False, "it was begun"
    return True, "nothing succeeded"


def _listed(clause: str, said: Values) -> tuple[str, ...]:
    """Orders named in one breath ("both 4417028 and 4417029"): what is said of one is said of each."""
    if _ALSO.search(clause):
        return said.orders
    listed = {int(n) for found in _LIST.finditer(clause) for n in re.findall(r"ordx(\d+)", found.group())}
    return tuple(said.orders[at] for at, n in enumerate(placeholders(clause, "ordx")) if n in listed)


def _is_of_order(row: Action, order: str) -> bool:
    return row.order_id is None or _bare(row.order_id) == _bare(order)


def _cancelled_in_orders(said: Values, facts: Facts, each: Callable[[Iterable[bool]], bool] = any) -> bool:
    named = {_bare(o) for o in said.orders}
    orders = [o for o in facts.orders if not named or _bare(o.order_id) in named]
    return bool(orders) and each(o.status == "cancelled" for o in orders)


def _is_of_kind(row: Action, kinds: tuple[Kind, ...]) -> bool:
    if kinds == ("action",):
        return row.kind in ROW_KINDS
    # a cancellation that names an amount is also the order system's refund of it
    return row.kind in kinds or ("refund" in kinds and row.kind == "cancel" and row.amount is not None)


def _fits(row: Action, said: Values, reading: Reading, lexicon: Lexicon) -> bool:
    if said.orders and row.order_id and _bare(row.order_id) not in {_bare(o) for o in said.orders}:
        return False
    if said.lines and row.line_id and row.line_id.lower() not in {i.lower() for i in said.lines}:
        return False
    named = {r.lower() for r in said.references}
    if named and (row.reference or "").lower() not in named and row.key.lower() not in named:
        return False
    return _field_fits(row, reading, lexicon)


def _field_fits(row: Action, reading: Reading, lexicon: Lexicon) -> bool:
    field = _field_of(row)
    named = _fields_named(reading, lexicon)
    return field not in lexicon.fields or not named or field in named


def _field_without_row(reading: Reading, standing: list[Action], lexicon: Lexicon) -> str | None:
    """ "Name and email are changed": one row does not prove both."""
    fields = {_field_of(row) for row in standing}
    if "account_change" not in reading.kinds or not fields <= set(lexicon.fields) or is_denied(reading.clause, lexicon):
        return None
    return next(iter(sorted(_fields_named(reading, lexicon) - fields)), None)


def _field_of(row: Action) -> str:
    """What an account change is of: its key reads `account_change:<customer>:<field>:…`; "" where it doesn't say."""
    parts = row.key.split(":")
    return parts[2] if row.kind == "account_change" and len(parts) > 2 else ""


def _fields_named(reading: Reading, lexicon: Lexicon) -> set[str]:
    named = {f for f, words in lexicon.fields.items() if words.search(reading.clause)}
    if "email" in named or (len(named) > 1 and "ordx" in reading.clause):
        # "phone number and delivery address of 4417028": the address is the order's
        named.discard("address")
    return named


def _address_without_row(reading: Reading, said: Values, facts: Facts, lexicon: Lexicon) -> str | None:
    """ "Your account's address is changed, and so is that of 4417028": the order's needs a row of its own."""
    both = "account_change" in reading.kinds and said.orders and lexicon.fields["address"].search(reading.clause)
    if not both or not _AS_WELL.search(reading.clause) or is_denied(reading.clause, lexicon):
        return None
    allowed = _ALLOWED[reading.manner]
    moved = {row.order_id for row in facts.actions if row.kind == "address_change" and row.status in allowed}
    changed = {_bare(order) for order in moved if order}
    return next((f"address of {o}" for o in said.orders if _bare(o) not in changed), None)


def _is_whole(row: Action) -> bool:
    return row.kind == "cancel" or not row.line_id


def _is_of_a_line(said: Values, lexicon: Lexicon) -> bool:
    """ "The cot on line L1 was refunded in full": the whole of the line, which its row proves."""
    return len(said.lines) == 1 and not said.orders and not lexicon.has("parcel", said.masked)


def _amounts_fit(amounts: tuple[Amount, ...], rows: list[Action]) -> bool:
    """Every said amount is some row's, or the sum of all of them in one currency."""
    total = sum((r.amount for r in rows if r.amount is not None), start=rows[0].amount * 0 if rows[0].amount else 0)
    one_currency = len({r.currency for r in rows}) == 1
    return all(
        any(_is_amount_of(a, r) for r in rows)
        or (len(rows) > 1 and one_currency and total in a.values and currency_fits(a.currency, rows[0].currency))
        for a in amounts
    )


def _is_amount_of(amount: Amount, row: Action) -> bool:
    return row.amount is not None and row.amount in amount.values and currency_fits(amount.currency, row.currency)


def _bare(order: str) -> str:
    return order.lstrip("#").lower()


def _plain(amount: Amount) -> str:
    return str(max(amount.values))
