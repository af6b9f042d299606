"""Is this text trying to steer the machine? A tripwire, not a wall: what it misses, the tool gateway stops.

The port is here; guards are built from `local`, `remote`, `model` and `layered`, so that a process which only
wants `masking` or `sensitive` loads neither numpy nor an HTTP client.
"""

from common.guard.verdict import CLEAN, Guard, GuardVerdict, Where

__all__ = ["CLEAN", "Guard", "GuardVerdict", "Where"]
