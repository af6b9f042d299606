"""How a process of ours lives: one event loop, logs and traces set up, SIGTERM heard, a crash that ends it."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import uvloop

from common.crash import arm_from_environment
from common.stopping import GRACE_S
from common.telemetry import get_logger, setup_logging, setup_tracing

# The collector looks for rubbish every so many new objects; the stock 700 is a small fraction of one request's.
_NEW_OBJECTS = 20_000
_log = get_logger()


def run(name: str, main: Callable[[asyncio.Event], Awaitable[None]], *, profile: str = "prod") -> None:
    """Run ``main(stop)`` until it returns; SIGTERM and SIGINT set ``stop``. Ends the process with its exit status."""
    setup_logging(name)
    setup_tracing(name)
    arm_from_environment(profile)
    # What the imports made lives as long as the process: no collection needs to look at it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)
    raise SystemExit(uvloop.run(_live(main)))


async def _live(main: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    patience = asyncio.create_task(_end_a_stuck_stop(stop))
    try:
        await main(stop)
    except Exception as e:  # noqa: BLE001 - the last line of defence: say why, then end
        _log.error("the process ends on an error", error=type(e).__name__, exc_info=e)
        return 1
    finally:
        patience.cancel()
    return 0


async def _end_a_stuck_stop(stop: asyncio.Event) -> None:
    await stop.wait()
    await asyncio.sleep(GRACE_S)
    _log.error("stopping took too long; leaving")
    os._exit(143)


async def until_stopped(stop: asyncio.Event, *background: Coroutine[Any, Any, None]) -> None:
    """Run background work until ``stop``; the first part that ends or fails before that ends them all with an error."""
    tasks = [asyncio.create_task(work) for work in background]
    stopping = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        if stopping not in done:
            failed = done.pop()
            failed.result()
            raise RuntimeError("a part that should run for ever has ended")
    finally:
        for task in (stopping, *tasks):
            task.cancel()
        await asyncio.gather(stopping, *tasks, return_exceptions=True)
