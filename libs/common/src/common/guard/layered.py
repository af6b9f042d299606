"""Two guards asked about the same text: flagged by either is flagged, and what only one could judge is not clean."""

from common.guard.verdict import Guard, GuardVerdict, Where


class LayeredGuard:
    """The local guard's word first (it is free); the second is asked only about what the first let pass."""

    def __init__(self, first: Guard, second: Guard) -> None:
        self._first, self._second = first, second

    async def check(self, text: str, where: Where) -> GuardVerdict:
        verdict = await self._first.check(text, where)
        if verdict.verdict == "flagged":
            return verdict
        other = await self._second.check(text, where)
        return other if other.verdict != "clean" else verdict
