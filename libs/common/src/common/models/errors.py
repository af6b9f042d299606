"""How a model call can fail, sorted by what the caller should do about it."""

from common.errors import Refused, Transient


class ModelFault(Transient):
    """This provider failed in a way that may pass; ``retry_after_s`` is its own wish, if it had a sane one."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class ModelRefused(Refused):
    """The provider said no to the request itself (400, 401, 413 …): asking again can't help."""


class ModelsDown(Transient):
    """No provider could answer; SPEC §13 says what customers see then."""


class BudgetSpent(ModelsDown):
    """The turn's time ran out before any provider had answered."""


class TokensSpent(Refused):
    """Whoever asks has used up the tokens they may: no call was made."""
