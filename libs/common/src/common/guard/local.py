"""The guard that runs in every process: rules and the trained tripwire, no network."""

import asyncio

from common.guard.inspection import inspect
from common.guard.tripwire import Tripwire, load
from common.guard.verdict import GuardVerdict, Where

# Past this length a check takes long enough to be felt by other conversations on the same event loop.
_INLINE_UP_TO_CHARS = 16_000


class LocalGuard:
    """Needs no set-up and never answers "down"; build one a process (loading the model takes ≈ 20 ms)."""

    def __init__(self, tripwire: Tripwire | None = None) -> None:
        self._tripwire = tripwire or load()

    async def check(self, text: str, where: Where) -> GuardVerdict:
        if len(text) > _INLINE_UP_TO_CHARS:
            return await asyncio.to_thread(inspect, text, where, self._tripwire)
        return inspect(text, where, self._tripwire)
