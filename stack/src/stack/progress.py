"""What a person waiting at the terminal sees. Standard error only: standard output belongs to results."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CannotStartError(Exception):
    """Something the stack needs is missing; the message names it and says what to install."""


def say(text: str) -> None:
    sys.stderr.write(f"· {text}\n")
    sys.stderr.flush()


@contextmanager
def slow_step(text: str) -> Iterator[None]:
    """Announces a step before it starts, since the wait is what needs explaining."""
    say(f"{text} …")
    started = time.monotonic()
    yield
    say(f"{text}: {time.monotonic() - started:.1f} s")
