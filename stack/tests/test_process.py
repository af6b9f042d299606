"""No process outlives whoever started it, however that one ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stack.process import Program, spawn, stop, tail

SLEEP = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
)


def wait_for(condition: Callable[[], object], within_s: float = 10.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_output_goes_to_the_log_and_a_stopped_process_is_gone(tmp_path: Path) -> None:
    process = spawn(Program("p", SLEEP, tmp_path / "p.log"))
    wait_for(lambda: tail(tmp_path / "p.log") == "up")
    stop(process)
    assert process.returncode == -signal.SIGTERM


def test_a_process_that_ignores_the_request_is_made_to_end(tmp_path: Path) -> None:
    process = spawn(Program("p", STUBBORN, tmp_path / "p.log"))
    wait_for(lambda: tail(tmp_path / "p.log") == "up")
    stop(process, grace_s=0.2)
    assert process.returncode == -signal.SIGKILL


def test_a_process_stopped_by_sigstop_still_ends_in_order(tmp_path: Path) -> None:
    process = spawn(Program("p", SLEEP, tmp_path / "p.log"))
    os.kill(process.pid, signal.SIGSTOP)
    stop(process)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
def test_a_child_dies_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    parent_code = (
        "import sys, time; from pathlib import Path; from stack.process import Program, spawn\n"
        f"child = spawn(Program('c', {SLEEP!r}, Path({str(log)!r})))\n"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_for(lambda: tail(log) == "up")
        assert is_running(child)
        parent.kill()
    wait_for(lambda: not is_running(child))


def test_a_whole_group_ends_with_its_leader(tmp_path: Path) -> None:
    code = f"import subprocess, time; print(subprocess.Popen({SLEEP!r}).pid, flush=True); time.sleep(60)"
    process = spawn(Program("p", (sys.executable, "-c", code), tmp_path / "p.log"))
    wait_for(lambda: "up" in tail(tmp_path / "p.log"))
    grandchild = int((tmp_path / "p.log").read_text().split()[0])
    stop(process)
    wait_for(lambda: not is_running(grandchild))
