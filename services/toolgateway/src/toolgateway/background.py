"""Work that outlives the request that began it: a caller who hangs up must not stop a payment half way (R10)."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from common.telemetry import get_logger

_T = TypeVar("_T")
_log = get_logger()


class Background:
    """Keeps tasks alive and waits for them when the process stops."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        """Run ``work`` on its own; a failure is logged, and its row stays for the reconciler."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def drain(self, timeout_s: float) -> None:
        """Wait for what runs and what it starts meanwhile; what doesn't end in time is left to the reconciler."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._tasks:
                    await asyncio.wait(self._tasks)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background work failed", error=type(error).__name__, exc_info=error)
