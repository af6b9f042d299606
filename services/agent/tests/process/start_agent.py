"""What a forked agent process does first; imports nothing of ours, so that the tests' own process stays light."""

import os
import runpy
import sys


def run(part: str, environment: dict[str, str]) -> None:
    """Become ``python -m agent <part>`` with this environment and nothing else."""
    os.environ.clear()
    os.environ.update(environment)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.argv = ["agent", part]
    runpy.run_module("agent", run_name="__main__")
