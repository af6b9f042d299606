"""Puts texts to the guard before anything is done on them."""

import asyncio
from collections.abc import Sequence

from agent.core.guarding import bound_unjudged, settle
from agent.core.state import Memory, RunProgress, Unjudged
from agent.loop.parts import Parts

# A remote guard answers a few at once as fast as one; a whole order list at once would be a burst.
_AT_ONCE = 8


async def judge_texts(parts: Parts, progress: RunProgress, memory: Memory, texts: Sequence[Unjudged]) -> list[str]:
    """Ask about each text on its own and book the answers; returns the reasons given.

    A title and a street in one breath read like nothing anybody writes. When nothing is answered the guard is away, and
    the others stay unjudged, since each would cost the customer its timeout; so do those the message has no time for.
    """
    reasons: list[str] = []
    for start in range(0, len(texts), _AT_ONCE):
        if parts.left_s(progress) <= 0:
            break
        some = texts[start : start + _AT_ONCE]
        verdicts = await asyncio.gather(*(parts.guard.check(one.text, one.where) for one in some))
        for one, verdict in zip(some, verdicts, strict=True):
            settle(memory, one, verdict.verdict)
            reasons += verdict.reasons
        if all(verdict.verdict == "down" for verdict in verdicts):
            break
    bound_unjudged(memory)
    return reasons
