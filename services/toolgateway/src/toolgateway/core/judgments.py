"""What a policy answers, and the one order in which answers outrank each other."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Verdict = Literal["deny", "handoff", "approval", "auto", "staff"]
_SEVERITY: dict[Verdict, int] = {"staff": 0, "auto": 0, "approval": 1, "handoff": 2, "deny": 3}


@dataclass(frozen=True)
class Judgment:
    """A verdict and the rule that gave it; ``reason`` is a stable word for rows, metrics and people.

    ``staff`` means that a member of staff runs it on their own authority. ``leads_only`` narrows who may approve.
    """

    verdict: Verdict
    reason: str
    leads_only: bool = False


@dataclass(frozen=True)
class AutomaticMoney:
    """What has gone out without a person in one currency, all customers together, and how far that may go."""

    this_hour: Decimal
    this_day: Decimal
    hour_ceiling: Decimal | None
    day_ceiling: Decimal | None

    def would_pass(self, amount: Decimal) -> bool:
        """Say whether ``amount`` more would pass a ceiling; a currency without ceilings passes them with any amount."""
        if self.hour_ceiling is None or self.day_ceiling is None:
            return True
        return self.this_hour + amount > self.hour_ceiling or self.this_day + amount > self.day_ceiling


def stricter(one: Judgment, other: Judgment) -> Judgment:
    """Return the judgment that allows less; the first of two equals."""
    return other if _SEVERITY[other.verdict] > _SEVERITY[one.verdict] else one


def is_worse(now: Judgment, than: Verdict) -> bool:
    """Say whether a fresh judgment allows less than the verdict a row was written under."""
    return _SEVERITY[now.verdict] > _SEVERITY[than]


def tightened_by_switch(judged: Judgment, mode: str, money: AutomaticMoney | None, amount: Decimal | None) -> Judgment:
    """Apply the kill switch and the ceiling on automatic money to a judgment that would run by itself."""
    if judged.verdict != "auto" or amount is None or money is None:
        return judged
    if mode != "on":
        return Judgment("approval", "kill_switch")
    if money.would_pass(amount):
        return Judgment("approval", "automatic_money_ceiling")
    return judged
