"""Which kinds of deed a clause speaks of, and how surely."""

import re
from dataclasses import dataclass

from agent.core.claims.facts import Kind
from agent.core.claims.lexicon import Lexicon

Found = dict[Kind, re.Match[str]]
_ORDER: tuple[Kind, ...] = ("refund", "cancel", "address_change", "return_label", "account_change", "handoff")


@dataclass(frozen=True)
class Topic:
    """A kind (or several it may be) found in a clause; `strong` when a verb says it, `start` where it is said."""

    kinds: tuple[Kind, ...]
    strong: bool
    start: int
    status: str | None = None
    rest: str = ""


def find_topics(clause: str, lexicon: Lexicon, *, parcel_before: bool = False) -> tuple[Topic, ...]:
    """Topics of a normalised clause; verbs outrank bare nouns, and an order's whereabouts come after its deeds.

    `parcel_before` says that the sentence already spoke of an order, so that "it had left" has a subject.
    """
    found = _settle(clause, _matches(clause, lexicon.strong), lexicon)
    if found.keys() == {"handoff"} and _is_sent(clause, lexicon, found["handoff"]):
        found.clear()
    if "handoff" not in found and "cancel" not in found and "address_change" not in found:
        status = _status(clause, lexicon, parcel_before=parcel_before)
        if (
            status
            and not _is_paperwork(clause, status, lexicon)
            and not ({"return_label", "account_change"} & found.keys())
            and not _about_money(clause, found, lexicon)
        ):
            return (status,)
    strong = bool(found)
    named: Found = {k: m for k, m in _matches(clause, lexicon.weak).items() if k != "handoff"}
    if not found and not named and _names_people_only_aside(clause, lexicon):
        return ()
    if not found or (found.keys() == {"handoff"} and named and _on_approval(clause, lexicon)):
        # "my manager is studying your refund request" tells of the refund, not of a person taking over
        found = _settle(clause, named or _matches(clause, lexicon.weak), lexicon)
    return tuple(Topic(_alternatives(kind, clause, lexicon), strong, m.start()) for kind, m in found.items())


def _is_paperwork(clause: str, status: Topic, lexicon: Lexicon) -> bool:
    """ "The cancellation of your order is being processed" does not say that the order is."""
    nouns = ("cancel", "return_label", "address_change", "account_change")
    return status.status == "processing" and any(lexicon.weak[n].search(clause) for n in nouns)


def _is_sent(clause: str, lexicon: Lexicon, handed: re.Match[str] | None) -> bool:
    """ "We handed your order to the courier" ships a parcel; "we asked the courier" hands a question over."""
    shipped = lexicon.statuses["shipped"].search(clause)
    if shipped and handed and handed.start() == shipped.start() and handed.end() > shipped.end():
        # "the carrier has been asked" says more than "the carrier has"
        return False
    return shipped is not None and lexicon.has("carrier", shipped.group()) and lexicon.has("parcel", clause)


def _is_decided(clause: str, lexicon: Lexicon) -> bool:
    return any(lexicon.has(idea, clause) for idea in ("waiting", "approved", "declined"))


def _names_people_only_aside(clause: str, lexicon: Lexicon) -> bool:
    """ "once my manager agrees", "colleagues in the shop can show you": people, but nobody took the case."""
    return lexicon.has("able", clause) or lexicon.has("positive", clause) or _on_approval(clause, lexicon)


def _on_approval(clause: str, lexicon: Lexicon) -> bool:
    return lexicon.has("agreed_condition", clause) or _is_decided(clause, lexicon)


def _matches(clause: str, patterns: dict[str, re.Pattern[str]]) -> Found:
    return {kind: m for kind in _ORDER if kind in patterns and (m := patterns[kind].search(clause))}


def _settle(clause: str, found: Found, lexicon: Lexicon) -> Found:
    """Let one reading win where patterns of two kinds caught the same words."""
    kept = dict(found)
    if "handoff" in kept and len(kept) > 1:
        first = min(m.start() for m in kept.values())
        if kept["handoff"].start() == first and not lexicon.has("waiting", clause):
            return {"handoff": kept["handoff"]}
        del kept["handoff"]
    if "refund" in kept and lexicon.weak["return_label"].search(clause) and "amtx" not in clause:
        # "etiqueta de devolución": the return is the label's, not the money's
        kept["return_label"] = kept.pop("refund")
    if "return_label" in kept:
        for shadowed in ("refund", "address_change", "account_change"):
            kept.pop(shadowed, None)
    kept = _settle_data(clause, kept, lexicon)
    both = "refund" in kept and "cancel" in kept
    if both and _overlap(kept["refund"], kept["cancel"]) and _is_charge(clause, lexicon):
        del kept["cancel"]
    return kept


def _settle_data(clause: str, found: Found, lexicon: Lexicon) -> Found:
    """Tell the order's address, the account's data, and money sent to an account apart."""
    kept = dict(found)
    if "account_change" in kept and "address_change" in kept:
        del kept["address_change" if _is_account(clause, lexicon) else "account_change"]
    place = "account_change" in kept and _is_place(clause, lexicon)
    if "account_change" in kept and ("amtx" in clause or (place and not _is_denied_change(clause, lexicon))):
        del kept["account_change"]
    if "address_change" in kept or "account_change" in kept:
        kept.pop("refund", None)
    return kept


def _is_place(clause: str, lexicon: Lexicon) -> bool:
    """ "The label waits in your account": the account is where, not what."""
    rest = lexicon.one["at_account"].sub(" ", clause)
    return rest != clause and not any(p["account_change"].search(rest) for p in (lexicon.strong, lexicon.weak))


def _is_denied_change(clause: str, lexicon: Lexicon) -> bool:
    """ "Nothing in your profile was altered" is about the account itself, "I see no order in your account" is not."""
    return lexicon.has("negation", clause) and lexicon.strong["account_change"].search(clause) is not None


def _overlap(one: re.Match[str], other: re.Match[str]) -> bool:
    return one.start() < other.end() and other.start() < one.end()


def _is_charge(clause: str, lexicon: Lexicon) -> bool:
    """Whether "cancelled" in a clause about money means the charge, not an order."""
    if re.search(r"ordx\d", clause):
        return False
    return "amtx" in clause or not lexicon.has("parcel", clause)


def _is_account(clause: str, lexicon: Lexicon) -> bool:
    named = [f for f in ("email", "phone", "name") if lexicon.fields[f].search(clause)]
    return bool(named) or lexicon.has("account", clause)


def _alternatives(kind: Kind, clause: str, lexicon: Lexicon) -> tuple[Kind, ...]:
    """An address without order or account beside it may be either's."""
    if kind not in ("address_change", "account_change") or not lexicon.fields["address"].search(clause):
        return (kind,)
    if any(lexicon.fields[f].search(clause) for f in ("email", "phone", "name")):
        return (kind,)
    if re.search(r"ordx\d", clause):
        return ("address_change",)
    return (kind, "account_change" if kind == "address_change" else "address_change")


def _about_money(clause: str, found: Found, lexicon: Lexicon) -> bool:
    return "refund" in found or bool(lexicon.weak["refund"].search(clause))


def _status(clause: str, lexicon: Lexicon, *, parcel_before: bool) -> Topic | None:
    subject = parcel_before or lexicon.has("parcel", clause) or re.search(r"ordx\d", clause)
    if not subject:
        return None
    sent = lexicon.statuses["shipped"].search(clause) if _is_sent(clause, lexicon, None) else None
    for status in ("lost", "processing", "delivered", "moving", "shipped"):
        match = lexicon.statuses[status].search(clause)
        if match and sent and status == "delivered" and sent.start() <= match.start() and match.end() <= sent.end():
            # "handed over" means to the carrier here
            continue
        if match and status in ("shipped", "moving", "delivered") and lexicon.has("positive", clause):
            # "nothing will be sent any more" speaks of a cancellation
            return Topic(("cancel",), strong=True, start=match.start())
        if match:
            # "not left yet" is itself a way to say "still here"
            denies = status in ("processing", "lost") and lexicon.has("negation", match.group())
            rest = "" if denies else clause
            return Topic(("order_status",), strong=True, start=match.start(), status=status, rest=rest)
    return None
