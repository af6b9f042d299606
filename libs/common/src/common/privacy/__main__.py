"""``python -m common.privacy find|check|export|erase CUSTOMER --known``: topics and dead letters.

What services found of the customer (``find``) comes on standard input: by the id alone only some records are known.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from common.privacy.broker import Broker
from common.privacy.command import main
from common.settings import BusSettings

PART = "common"


@asynccontextmanager
async def opened() -> AsyncIterator[Broker]:
    """Connect to the broker that the environment names."""
    broker = Broker(BusSettings())  # filled from the environment
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


if __name__ == "__main__":
    sys.exit(main(PART, opened, sys.argv[1:]))
