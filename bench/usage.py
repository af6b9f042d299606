"""CPU seconds and memory of processes, from the operating system's own books."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Usage:
    """CPU seconds since a process started, summed over ``pids`` and their children."""

    cpu_s: float

    def __sub__(self, other: "Usage") -> float:
        return self.cpu_s - other.cpu_s


def usage(pids: list[int]) -> Usage:
    """Return what the processes have used so far."""
    total = 0.0
    for pid in pids:
        process = psutil.Process(pid)
        for one in [process, *process.children(recursive=True)]:
            times = one.cpu_times()
            total += times.user + times.system
    return Usage(total)


def resident_mb(pid: int) -> float:
    """Return a process's resident memory in MB."""
    return float(psutil.Process(pid).memory_info().rss) / 1e6
