"""The daily comparison is asked for with its period, and what waits for a person is shown."""

from types import SimpleNamespace
from typing import Any

from prometheus_client import REGISTRY

from reconciler.adapters.owners import Books
from reconciler.handlers import HANDLERS, Jobs
from reconciler.settings import Settings


async def test_the_toolgateway_is_asked_with_our_period_and_its_open_tasks_are_shown() -> None:
    asked: list[float] = []

    async def compare_books(not_within_s: float) -> Books:
        asked.append(not_within_s)
        return Books(begun=True, open_tasks=3, last_strays=1)

    nobody: Any = None
    owner: Any = SimpleNamespace(compare_books=compare_books)
    settings = Settings(
        kafka_bootstrap="-", profile="dev", database_url="-", toolgateway_url="-", agent_url="-", compare_every_s=3_600
    )
    assert await HANDLERS["books"](Jobs(settings, owner, nobody)) == 3
    assert asked == [3_600]
    assert REGISTRY.get_sample_value("ledger_open_tasks") == 3
