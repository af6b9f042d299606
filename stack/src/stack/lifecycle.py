"""`up` and `down`: a background supervisor with one lock, so that there is never a second one and none is left."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from stack.environment import MARK
from stack.paths import ROOT
from stack.progress import CannotStartError, say
from stack.servers import forget_data
from stack.supervisor import alive_strays

UP_WITHIN_S = 600.0  # the first start on a machine may fetch Kafka
DOWN_WITHIN_S = 45.0


class Lock:
    """Held by the supervisor for as long as it lives; the kernel lets go of it however the supervisor dies."""

    def __init__(self, run: Path) -> None:
        run.mkdir(parents=True, exist_ok=True)
        self._file = (run / "supervisor.lock").open("a")

    def take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        self._file.close()

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def up(run: Path) -> None:
    """Returns when every /readyz says 200 and `.run/stack.env` is written; raises CannotStartError when that fails."""
    with Lock(run) as lock:
        if not lock.take():
            say(f"the stack is up already; {run / 'stack.env'} names its addresses (make down stops it)")
            return
        sweep(run)
    log = run / "logs" / "supervisor.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    with log.open("ab") as out:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "stack", "supervise"],
            cwd=ROOT,
            env={**os.environ, MARK: str(run)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        _follow(supervisor, log, run / "stack.env")
    except BaseException:  # also Ctrl-C: half a stack is of no use to anybody
        _end(supervisor)
        raise


def _follow(supervisor: "subprocess.Popen[bytes]", log: Path, goal: Path) -> None:
    """Shows the supervisor's progress until it has written `goal`."""
    end = time.monotonic() + UP_WITHIN_S
    with log.open() as lines:
        while True:
            ended, there = supervisor.poll() is not None, goal.exists()
            sys.stderr.write(lines.read())
            sys.stderr.flush()
            if ended:
                raise CannotStartError(f"the supervisor ended with {supervisor.returncode}; its log is {log}")
            if there:
                supervisor.returncode = 0  # it lives on without us; spares a ResourceWarning
                return
            if time.monotonic() > end:
                raise CannotStartError(f"not ready within {UP_WITHIN_S:.0f} s; logs are in {log.parent}")
            time.sleep(0.1)


def _end(supervisor: "subprocess.Popen[bytes]") -> None:
    supervisor.terminate()
    try:
        supervisor.wait(DOWN_WITHIN_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def down(run: Path) -> None:
    """Stops everything, also what a crashed or killed supervisor may have left; harmless when nothing runs."""
    with Lock(run) as lock:
        _wait_for_its_end(run, lock)
        sweep(run)
    say("the stack is down")


def clean(run: Path) -> None:
    """Stops everything and forgets data, keys, ports and logs."""
    down(run)
    forget_data(run)


def _wait_for_its_end(run: Path, lock: Lock) -> None:
    """Asks the supervisor to stop, once; past its time it is ended, and its children with it."""
    pid_file, end, asked = run / "supervisor.pid", time.monotonic() + DOWN_WITHIN_S, False
    while not lock.take():
        pid = int(pid_file.read_text()) if pid_file.exists() else None
        if pid and not asked:
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
            asked = True
        if pid and time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)  # its children go with it: that is what their death signal is for
        time.sleep(0.1)


def sweep(run: Path) -> None:
    """Ends whatever still carries our mark and forgets its pid files. Only for the holder of the lock."""
    deadline = time.monotonic() + 10
    while strays := alive_strays(f"{MARK}={run}"):
        for pid in strays:
            _kill(pid)
        if time.monotonic() > deadline:
            raise CannotStartError(f"processes {strays} of an earlier start do not end")
        time.sleep(0.1)
    for file in (run / "pids").glob("*.pid"):
        file.unlink()
    (run / "stack.env").unlink(missing_ok=True)
    (run / "supervisor.pid").unlink(missing_ok=True)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
