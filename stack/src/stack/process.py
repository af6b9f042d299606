"""Starts and stops one operating-system process so that it can't outlive whoever started it."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Program:
    """How to run one process: `env` replaces the caller's environment when given; `user` needs root."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] | None = None
    user: tuple[int, int] | None = None
    death_signal: int = field(default=signal.SIGKILL)


def _die_with(parent: int, death_signal: int) -> Callable[[], None]:
    # Set after fork and after any change of user (which would clear it again). A parent that died
    # before the call sends no signal, hence the second look at who our parent is.
    def in_child() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, death_signal)
            if os.getppid() != parent:
                os._exit(1)

    return in_child


def spawn(program: Program) -> subprocess.Popen[bytes]:
    """Starts `program` in its own process group, output appended to its log.

    Call it from a thread that lives as long as the process should: the kernel watches the thread, not the process.
    """
    program.log.parent.mkdir(parents=True, exist_ok=True)
    uid, gid = program.user or (None, None)
    with program.log.open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - argv is ours
            program.argv,
            env=program.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=[] if program.user else None,
            preexec_fn=_die_with(os.getpid(), program.death_signal),  # noqa: PLW1509 - no threads hold locks the child needs
        )


def stop(process: subprocess.Popen[bytes], grace_s: float = 8.0, first: int = signal.SIGTERM) -> None:
    """Asks the process group to end, then makes it; a group stopped by SIGSTOP is woken to hear the request."""
    _signal_group(process.pid, first)
    _signal_group(process.pid, signal.SIGCONT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    # Also after a clean end: a member of the group may have outlived its leader.
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def tail(log: Path, lines: int = 8) -> str:
    """The last lines of a log, for an error message."""
    if not log.exists():
        return "(no log)"
    return "\n".join(line[:600] for line in log.read_text(errors="replace").splitlines()[-lines:])
