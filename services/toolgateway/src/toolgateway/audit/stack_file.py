"""The addresses of a running system, as ``make up`` writes them."""

import shlex
from pathlib import Path


def read_stack(path: Path) -> dict[str, str]:
    """Return the names and values of a ``stack.env`` file in shell syntax."""
    words = (shlex.split(line) for line in path.read_text().splitlines() if line.strip())
    return {name: value for word in words if word for name, _, value in [word[-1].partition("=")]}
