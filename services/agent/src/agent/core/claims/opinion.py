"""A second reader's opinion of a segment: how each kind may be spoken of, and how far the facts bear that out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from agent.core.claims.facts import Claim, Kind
from agent.core.claims.manner import Manner
from agent.core.claims.reading import Reading
from agent.core.claims.segments import Segment

NOTHING = "none"
# What a reading this improbable says can no longer turn a verdict, and judging it costs time.
FAINT = 0.004


@dataclass(frozen=True)
class Opinion:
    """A group for each kind that may be spoken of: (topic, manner, probability); what a group lacks to 1 is silence.

    A sentence may speak of several kinds at once, so the groups are independent of each other.
    """

    groups: tuple[tuple[tuple[str, str, float], ...], ...]


Reader = Callable[[Sequence[Segment]], Sequence[Opinion]]
Judge = Callable[[Reading | None], tuple[bool, Claim | None]]


@dataclass(frozen=True)
class Weighed:
    """`holds` is the probability that nothing false is said; the claims are the likeliest true and false ones."""

    holds: float
    likeliest_true: Claim | None
    likeliest_false: Claim | None


def weigh(segment: Segment, opinion: Opinion, judge_one: Judge) -> Weighed:
    """Judge every probable reading; all is true when each kind spoken of is, and silence names nothing unreal."""
    holds = silence = 1.0
    best: dict[bool, tuple[float, Claim | None]] = {}
    for group in opinion.groups:
        false = 0.0
        for topic, manner, share in group:
            if share < FAINT:
                continue
            true, claim = judge_one(reading_of(topic, manner, segment.clause))
            false += 0.0 if true else share
            if share > best.get(true, (0.0, None))[0]:
                best[true] = (share, claim)
        silence *= 1 - sum(share for _, _, share in group)
        holds *= 1 - false
    quiet, _ = judge_one(None)
    if not quiet:
        holds *= 1 - silence
    if silence > best.get(quiet, (0.0, None))[0]:
        best[quiet] = (silence, None)
    return Weighed(max(holds, 0.0), best.get(True, (0.0, None))[1], best.get(False, (0.0, None))[1])


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
