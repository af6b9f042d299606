"""Named crash points before and after every commit and outward call of money and run code.

Compiled in and off by default: a test arms one through ``CRASH_POINT``, which only ``PROFILE=dev`` obeys.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

Action = Callable[[], Awaitable[None]]
_armed: dict[str, Action] = {}
_seen: list[str] | None = None


async def crash_point(name: str) -> None:
    """Do nothing, unless a test armed ``name`` or is listing the names on a path."""
    if _seen is not None:
        _seen.append(name)
    if _armed and (action := _armed.get(name)):
        await action()


def arm(name: str, action: Action) -> None:
    """Run ``action`` whenever ``name`` is reached, in this process."""
    _armed[name] = action


def disarm() -> None:
    """Forget every armed point and stop listing."""
    global _seen  # noqa: PLW0603 - one process-wide switch, like the points themselves
    _armed.clear()
    _seen = None


def record() -> list[str]:
    """Start listing the points that are reached; returns the list that grows."""
    global _seen  # noqa: PLW0603 - as above
    _seen = []
    return _seen


async def kill_process() -> None:
    """End this process as kill -9 does: nothing is cleaned up, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(60)


async def freeze_process() -> None:
    """Stand still, as SIGSTOP makes a process do, until SIGCONT; what it held may be another's by then."""
    os.kill(os.getpid(), signal.SIGSTOP)


_ACTIONS: dict[str, Action] = {"kill": kill_process, "freeze": freeze_process}


def arm_from_environment(profile: str) -> None:
    """Arm the points of ``CRASH_POINT=name[:nth][,…]``; refused outside development.

    ``nth`` counts how often this process reaches the point, from 1. ``CRASH_ACTION``: ``kill`` (default), ``freeze``.
    """
    names = os.environ.get("CRASH_POINT", "")
    if not names:
        return
    if profile != "dev":
        raise SystemExit("CRASH_POINT is a development power; this is not PROFILE=dev")
    action = _ACTIONS[os.environ.get("CRASH_ACTION", "kill")]
    for entry in names.split(","):
        name, _, nth = entry.strip().partition(":")
        arm(name, _on_the(int(nth or 1), action))


def _on_the(nth: int, action: Action) -> Action:
    reached = 0

    async def maybe() -> None:
        nonlocal reached
        reached += 1
        if reached == nth:
            await action()

    return maybe
