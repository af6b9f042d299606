"""The committed tripwire, loaded once."""

import pytest

from common.guard.tripwire import Tripwire, load


@pytest.fixture(scope="session")
def tripwire() -> Tripwire:
    return load()
