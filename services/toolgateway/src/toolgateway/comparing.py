"""Ledger and provider compared in both directions: what matches nothing becomes a person's task (SPEC §15)."""

from prometheus_client import Gauge

from common import db
from common.telemetry import get_logger
from toolgateway.adapters import operations, store
from toolgateway.adapters.payments import Payments, ProviderRefund
from toolgateway.core.books import Entry, Stray, find_strays

_STRAYS = Gauge("books_strays", "What the newest comparison with the provider found to match nothing")
_log = get_logger()


async def compare(pool: db.Database, payments: Payments) -> list[Stray]:
    """Compare both books, open a task for each stray and return them."""
    # The provider first: a refund made in between is then a row without news, never money without a row.
    entries = [_entry(refund) for refund in await payments.list_all_refunds()]
    strays = find_strays(entries, await store.list_all(pool))
    for stray in strays:
        await operations.open_task(pool, stray.about, stray.reason, stray.details)
    return strays


class Comparing:
    """Has the books compared once in a while, whoever asks how often: replicas and restarts ask more than once."""

    def __init__(self, pool: db.Database, payments: Payments) -> None:
        self._pool, self._payments = pool, payments

    async def begin(self, not_within_s: float) -> int | None:
        """Return the id of a comparison that is now the caller's to run; None when none is due."""
        return await db.in_transaction(self._pool, lambda conn: operations.begin_comparison(conn, not_within_s))

    async def run(self, comparison_id: int) -> int:
        """Compare and note how many strays there were; one that fails is begun anew by whoever asks later."""
        strays = await compare(self._pool, self._payments)
        await operations.end_comparison(self._pool, comparison_id, len(strays))
        _STRAYS.set(len(strays))
        _log.info("books compared", strays=len(strays))
        return len(strays)


def _entry(refund: ProviderRefund) -> Entry:
    return Entry(refund.refund_id, refund.order_id, refund.key, refund.amount_minor, refund.status != "failed")
