"""What a run is played with; built once in ``app.py``."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.adapters.customers import Customers
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import RunStore
from agent.adapters.sessions import Sessions
from agent.adapters.tokens import TokenCounter
from agent.adapters.toolgateway import Toolgateway
from agent.core.claims import Reader
from agent.core.hours import ALWAYS, StaffHours
from agent.core.limits import Limits
from agent.core.state import RunProgress
from agent.loop.catalogue import Catalogue
from common import db
from common.clock import Clock
from common.guard import Guard
from common.models import ModelGateway

Json = dict[str, Any]


@dataclass(frozen=True)
class Parts:
    """``help_passages(question, language)`` answers help-center searches; ``reader`` seconds the reply check."""

    pool: db.Database
    runs: RunStore
    tools: Toolgateway
    ledger: Ledger
    catalogue: Catalogue
    sessions: Sessions
    customers: Customers
    models: ModelGateway
    tokens: TokenCounter
    guard: Guard
    help_passages: Callable[[str, str], list[Json]]
    clock: Clock
    limits: Limits
    staff: StaffHours = ALWAYS
    reader: Reader | None = None

    def spent_s(self, progress: RunProgress) -> float:
        """Return the seconds since work on this message began, in whichever worker that was."""
        assert progress.started_at is not None
        return (self.clock.now() - datetime.fromisoformat(progress.started_at)).total_seconds()

    def left_s(self, progress: RunProgress) -> float:
        """Return the seconds that models and tools may still take for this message."""
        return self.limits.left_s(self.spent_s(progress))
