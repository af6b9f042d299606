"""A second reader's opinion of a segment: probable readings, and how far the facts bear out each of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from agent.core.claims.facts import Claim, Kind
from agent.core.claims.manner import Manner
from agent.core.claims.reading import Reading
from agent.core.claims.segments import Segment

NOTHING = "none"
# What a reading this improbable says can no longer turn a verdict, and judging it costs time.
_FAINT = 0.01


@dataclass(frozen=True)
class Opinion:
    """Probabilities: what is spoken of (`none`, or kinds and status), and in which manner; likeliest first."""

    topics: tuple[tuple[str, float], ...]
    manners: tuple[tuple[str, float], ...]


Reader = Callable[[Sequence[Segment]], Sequence[Opinion]]
Judge = Callable[[Reading | None], tuple[bool, Claim | None]]


@dataclass(frozen=True)
class Weighed:
    """`holds` is the probability that nothing false is said; the claims are the likeliest true and false ones."""

    holds: float
    likeliest_true: Claim | None
    likeliest_false: Claim | None


def weigh(segment: Segment, opinion: Opinion, judge_one: Judge) -> Weighed:
    """Judge every probable reading and add up; the likeliest reading of a side may claim nothing and is None then."""
    total = good = 0.0
    best: dict[bool, tuple[float, Claim | None]] = {}
    for reading, share in _readings(segment, opinion):
        holds, claim = judge_one(reading)
        total += share
        good += share * holds
        if share > best.get(holds, (0.0, None))[0]:
            best[holds] = (share, claim)
    return Weighed(good / total if total else 0.5, best.get(True, (0.0, None))[1], best.get(False, (0.0, None))[1])


def reading_of(topic: str, manner: str, clause: str) -> Reading | None:
    """A label as a reading: `refund`, `address_change/account_change`, `order_status:lost`, `…:lost!` (denied)."""
    if topic == NOTHING:
        return None
    kinds, _, status = topic.partition(":")
    return Reading(
        tuple(cast(Kind, kind) for kind in kinds.split("/")),
        cast(Manner, manner),
        clause,
        status=status.rstrip("!") or None,
        negated=status.endswith("!"),
    )


def label_of(reading: Reading) -> tuple[str, str]:
    """The reverse of `reading_of`: topic and manner."""
    status = f":{reading.status}{'!' if reading.negated else ''}" if reading.status else ""
    return "/".join(reading.kinds) + status, reading.manner


def _readings(segment: Segment, opinion: Opinion) -> list[tuple[Reading | None, float]]:
    found: list[tuple[Reading | None, float]] = []
    for topic, probability in opinion.topics:
        if probability < _FAINT:
            continue
        if topic == NOTHING:
            found.append((None, probability))
            continue
        for manner, share in opinion.manners:
            if probability * share >= _FAINT / 2:
                found.append((reading_of(topic, manner, segment.clause), probability * share))
    return found
