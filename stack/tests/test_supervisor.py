"""Whatever dies is started again, and its pid file says which process that is now."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stack import supervisor as module
from stack.process import Program
from stack.supervisor import Supervisor, alive_strays


def sleeper(tmp_path: Path, name: str = "one") -> Program:
    return Program(name, (sys.executable, "-c", "import time; time.sleep(60)"), tmp_path / f"{name}.log")


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "pids")
    yield made
    made.stop_all()


def look_after_until(supervisor: Supervisor, condition: Callable[[], object], within_s: float = 10.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        supervisor.look_after()
        time.sleep(0.02)


def pid_in(supervisor: Supervisor, name: str = "one") -> int:
    return int((supervisor.pids / f"{name}.pid").read_text())


def test_a_killed_process_comes_back_under_a_new_pid(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(sleeper(tmp_path))
    first = pid_in(supervisor)
    os.kill(first, signal.SIGKILL)
    look_after_until(supervisor, lambda: pid_in(supervisor) != first)
    assert supervisor.kept["one"].process.poll() is None


def test_a_process_that_keeps_dying_waits_longer_each_time_and_is_called_hopeless(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.05)
    supervisor.start(Program("one", (sys.executable, "-S", "-c", "raise SystemExit(3)"), tmp_path / "one.log"))
    pauses: list[float] = []

    def hopeless() -> bool:
        pauses.append(supervisor.kept["one"].pause_s)
        return bool(supervisor.hopeless(["one"]))

    look_after_until(supervisor, hopeless)
    assert sorted(set(pauses) - {0.0}) == pytest.approx([0.01, 0.02, 0.04, 0.05])
    assert pauses == sorted(pauses)


def test_stopping_leaves_neither_processes_nor_pid_files(supervisor: Supervisor, tmp_path: Path) -> None:
    for name in ("one", "two"):
        supervisor.start(sleeper(tmp_path, name))
    supervisor.stop_all(last=("two",))
    assert all(kept.process.returncode is not None for kept in supervisor.kept.values())
    assert list(supervisor.pids.iterdir()) == []


def test_a_stray_is_recognised_by_its_mark(supervisor: Supervisor, tmp_path: Path) -> None:
    mark = f"STACK_RUN={tmp_path}"
    assert alive_strays(mark) == []
    program = sleeper(tmp_path)
    marked = Program(program.name, program.argv, program.log, {**os.environ, "STACK_RUN": str(tmp_path)})
    supervisor.start(marked)
    assert alive_strays(mark) == [pid_in(supervisor)]
