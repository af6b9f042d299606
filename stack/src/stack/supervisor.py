"""Keeps every process of the stack running: starts it, writes its pid file, starts it again when it dies."""

import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from stack.process import Program, spawn, stop
from stack.progress import say

TICK_S = 0.1
# A process that lived this long died of something new, so it comes back at once.
STEADY_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.3, 5.0
STOP_WITHIN_S = 12.0
# A service that keeps dying while the stack starts has something wrong with it that waiting won't mend.
HOPELESS_AFTER = 4


@dataclass
class Kept:
    """One supervised process. `restart_at` is monotonic time, None while it runs."""

    program: Program
    process: subprocess.Popen[bytes]
    started: float
    pause_s: float = 0.0
    restart_at: float | None = None
    quick_deaths: int = 0
    deaths: int = 0


@dataclass
class Supervisor:
    """Owns the processes of one stack; use it from the main thread, whose life theirs hang on."""

    pids: Path
    kept: dict[str, Kept] = field(default_factory=dict)

    def start(self, program: Program) -> None:
        process = self._spawn(program)
        self.kept[program.name] = Kept(program, process, time.monotonic())

    def look_after(self) -> None:
        """One round: notices who died and starts again whoever is due."""
        now = time.monotonic()
        for name, kept in self.kept.items():
            if kept.restart_at is None:
                status = kept.process.poll()
                if status is not None:
                    self._plan_restart(name, kept, status, now)
            if kept.restart_at is not None and now >= kept.restart_at:
                kept.process, kept.started, kept.restart_at = self._spawn(kept.program), now, None

    def hopeless(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that have died too often to wait for."""
        return [name for name in names if self.kept[name].deaths >= HOPELESS_AFTER]

    def stop_all(self, *, last: tuple[str, ...] = ()) -> None:
        """Stops the services side by side, then those named in `last` (what the services stand on)."""
        for names in ([n for n in self.kept if n not in last], [n for n in self.kept if n in last]):
            waiting = [threading.Thread(target=self._stop, args=(name,)) for name in names]
            for thread in waiting:
                thread.start()
            for thread in waiting:
                thread.join()

    def _stop(self, name: str) -> None:
        kept = self.kept[name]
        # PostgreSQL waits for its clients on SIGTERM; SIGINT has it send them away and close its files in order.
        first = signal.SIGINT if name == "postgres" else signal.SIGTERM
        stop(kept.process, STOP_WITHIN_S, first)
        (self.pids / f"{name}.pid").unlink(missing_ok=True)

    def _plan_restart(self, name: str, kept: Kept, status: int, now: float) -> None:
        lived = now - kept.started
        kept.deaths += 1
        kept.quick_deaths = 0 if lived > STEADY_S else kept.quick_deaths + 1
        kept.pause_s = min(FIRST_PAUSE_S * 2 ** max(0, kept.quick_deaths - 1), LONGEST_PAUSE_S)
        kept.restart_at = now + kept.pause_s
        say(f"{name} ended with {status} after {lived:.1f} s; starting it again in {kept.pause_s:.1f} s")

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        process = spawn(program)
        self.pids.mkdir(parents=True, exist_ok=True)
        part = self.pids / f".{program.name}.part"
        part.write_text(f"{process.pid}\n")
        part.rename(self.pids / f"{program.name}.pid")
        return process


def answers_ready(url: str) -> bool:
    """True when `url`/readyz says 200."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:  # noqa: S310 - our own http address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def alive_strays(marker: str) -> list[int]:
    """Pids of processes whose environment carries `marker` (NAME=value): what a crash could have left behind."""
    wanted = marker.encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
